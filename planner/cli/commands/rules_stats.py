"""`rules stats`: the derivations of the rules from a configuration, and their cost."""

from __future__ import annotations

from planner.api.questions import Questions
from planner.cli.finish import finish
from planner.cli.flags import Arguments, Flag, UsageError
from planner.cli.options import DESTROY, JSON, OPERATION, STATE, VARIABLES, plan_calls
from planner.foundation.vocabulary.diagnostic import has_errors
from planner.render.terminal import Terminal

USAGE = "[options] [DIRECTORY]"
HELP = """Evaluates the graph rules of the configuration in the working directory and shows for each predicate the
number of tuples, the number of rounds of a recursive one, and the time of its rules, the slowest first."""
KINDS = ("plan", "plan-refresh-only", "plan-destroy", "apply")
FLAGS = (
    Flag("type", "string", f"The operation: {', '.join(KINDS)}.", "plan", "TYPE"),
    JSON,
    DESTROY,
    *OPERATION,
    *STATE,
    *VARIABLES,
)


def run(arguments: Arguments, terminal: Terminal) -> int:
    """0, or 1 when the configuration cannot be loaded."""
    from planner.render import rules as render_rules

    directory = arguments.at_most_one_word("Name one directory, or none.", ".")
    if arguments["type"] not in KINDS:
        raise UsageError(f"There is no graph of type {arguments['type']}", f"The types are: {', '.join(KINDS)}.")
    built = plan_calls(Questions, arguments, directory=directory).built_graph(arguments["type"])
    database, diagnostics = built.database, built.diagnostics
    if database is None or has_errors(diagnostics):
        return finish(diagnostics, terminal) or 1
    terminal.data(render_rules.costs_json(database) if arguments["json"] else render_rules.costs_text(database))
    return finish([] if arguments["json"] else diagnostics, terminal)
