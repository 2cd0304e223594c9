"""`state show`: the attributes of one resource instance in the state."""

from __future__ import annotations

from planner.cli.commands.state_list import instances, no_state
from planner.cli.finish import finish
from planner.cli.flags import Arguments, Flag, UsageError
from planner.cli.options import SHOW_SENSITIVE, VARIABLES, options
from planner.cli.terminal import Terminal
from planner.vocabulary.address import format_key
from planner.vocabulary.diagnostic import error, has_errors

USAGE = "[options] ADDRESS"
HELP = "Shows the attributes of one resource instance. `planner state list` lists the addresses."
FLAGS = (Flag("state", "string", "Read the state from this file.", value="FILE"), SHOW_SENSITIVE, *VARIABLES)


def run(arguments: Arguments, terminal: Terminal) -> int:
    """0, or 1 when the instance does not exist."""
    if len(arguments.words) != 1:
        raise UsageError("One address is needed", "Write the address of a resource instance.")
    from planner import pipeline
    from planner.cli.render_state import StateText
    from planner.cli.schema_lookup import SchemaLookup

    shown = pipeline.show(options(arguments), None)
    if has_errors(shown.diagnostics):
        return finish(shown.diagnostics, terminal)
    if shown.state is None:
        return finish([no_state()], terminal)
    found = instances(shown.state, arguments.words)
    if found != arguments.words:
        detail = f"{arguments.words[0]} stands for several instances: {', '.join(found)}."
        return finish([error("state.not_an_instance", "Not a single instance", detail)], terminal)
    lookup = SchemaLookup(shown.session.schemas)
    text = StateText(lookup.resource_schema, lookup.decode, terminal, arguments["show-sensitive"])
    for resource, instance in shown.state.instances():
        if resource.address + format_key(instance.key) == found[0] and instance.current is not None:
            terminal.out(text.object(resource, instance, "", instance.current))
            return finish(shown.diagnostics, terminal)
    detail = f"{found[0]} has only deposed objects."
    return finish([error("state.no_current_object", "No current object", detail)], terminal)
