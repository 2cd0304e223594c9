"""`stacks output`: the outputs of deployments."""

from __future__ import annotations

from planner.cli.flags import Arguments, Flag
from planner.cli.options import JSON, SHOW_SENSITIVE
from planner.cli.stack_options import AROUND, check_words, surroundings
from planner.foundation.support.exact_json import dumps
from planner.foundation.values.json_codec import simple_json
from planner.foundation.values.value import SENSITIVE, unmark_deep
from planner.render.terminal import Terminal
from planner.workflows.stacks.opened_stack import deployment_outputs, opened

USAGE = "[options]"
HELP = "Shows the outputs of deployments, as of the last apply."
FLAGS = (
    Flag("deployment", "list", "Only these deployments; patterns are allowed. May be repeated.", value="NAME"),
    *AROUND,
    SHOW_SENSITIVE,
    JSON,
)


def run(arguments: Arguments, terminal: Terminal) -> int:
    """0. Raises Failure."""
    from planner.workflows.stacks.report import outputs_text

    check_words(arguments)
    session, _ = opened(surroundings(arguments))
    table = {d.name: deployment_outputs(session.backend, d.name) or {} for d in session.chosen(arguments["deployment"])}
    if arguments["json"]:
        whole = {
            name: {
                key: {"sensitive": SENSITIVE in unmark_deep(value)[1], "value": simple_json(unmark_deep(value)[0])}
                for key, value in sorted(outputs.items())
            }
            for name, outputs in table.items()
        }
        terminal.data(dumps(whole, indent=True).decode())
        return 0
    for name, outputs in table.items():
        terminal.out(f"{name}:\n{outputs_text(outputs, arguments['show-sensitive'])}" if outputs else f"{name}: none")
    return 0
