"""`show`: the state, or a saved plan, for people or as JSON."""

from __future__ import annotations

from planner.cli.finish import finish
from planner.cli.flags import Arguments, Flag, UsageError
from planner.cli.options import JSON, SHOW_SENSITIVE, VARIABLES, options
from planner.cli.terminal import Terminal
from planner.vocabulary.diagnostic import has_errors

USAGE = "[options] [FILE]"
HELP = "Shows the state of the selected workspace, or a plan file or state file that is named."
FLAGS = (
    JSON,
    Flag("plan", "string", "Show this plan file.", value="FILE"),
    Flag("state", "bool", "Show the state of the selected workspace (as without a file)."),
    SHOW_SENSITIVE,
    *VARIABLES,
)


def run(arguments: Arguments, terminal: Terminal) -> int:
    """0, or 1 when there is nothing to read."""
    if len(arguments.words) > 1:
        raise UsageError("Too many words", "show takes at most one file.")
    path = arguments["plan"] or (arguments.words[0] if arguments.words else None)
    if arguments["plan"] and (arguments.words or arguments["state"]):
        raise UsageError("Conflicting options", "Either a plan or a state is shown, not both.")
    settings = options(arguments)
    from planner import pipeline

    shown = pipeline.show(settings, path)
    if has_errors(shown.diagnostics):
        return finish(shown.diagnostics, terminal)
    if arguments["json"]:
        from planner.vocabulary.exact_json import dumps

        document = pipeline.plan_json(shown) if shown.plan is not None else pipeline.state_json(shown)
        terminal.out(dumps(document).decode("utf-8"))
        return 0
    from planner.cli.schema_lookup import SchemaLookup

    lookup = SchemaLookup(shown.session.schemas)
    if shown.plan is not None:
        from planner.cli.render_plan import PlanText

        PlanText(shown.plan, lookup.resource_schema, terminal, arguments["show-sensitive"]).show()
    elif shown.state is None:
        terminal.out("No state.")
    else:
        from planner.cli.render_state import StateText

        text = StateText(lookup.resource_schema, lookup.decode, terminal, arguments["show-sensitive"])
        text.show(shown.state)
    return finish(shown.diagnostics, terminal)
