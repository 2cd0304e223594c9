"""`state show`: the attributes of one resource instance in the state."""

from __future__ import annotations

from planner.api.states import ShownState, States, document_of
from planner.cli.commands.state_list import instances, no_state
from planner.cli.flags import Arguments, Flag
from planner.cli.options import JSON_LINES, SHOW_SENSITIVE, VARIABLES, state_calls
from planner.cli.views import open_plain_view
from planner.foundation.vocabulary.address import format_key
from planner.foundation.vocabulary.diagnostic import Diagnostic, error
from planner.foundation.vocabulary.records import evolve
from planner.render.diff_block import SchemaLookup
from planner.render.terminal import Terminal
from planner.render.view import View
from planner.world.state.model import InstanceState, ResourceState, State

USAGE = "[options] ADDRESS"
HELP = "Shows the attributes of one resource instance. `planner state list` lists the addresses."
FLAGS = (
    Flag("state", "string", "Read the state from this file.", value="FILE"),
    SHOW_SENSITIVE,
    *VARIABLES,
    *JSON_LINES,
)


def only(resource: ResourceState, instance: InstanceState) -> State:
    """A state of one instance, without its deposed objects."""
    alone = evolve(resource, instances={instance.key: evolve(instance, deposed={})})
    return State(resources={resource.address: alone})


def run(arguments: Arguments, terminal: Terminal) -> int:
    """0, or 1 when the instance does not exist."""
    address = arguments.only_word("One address is needed", "Write the address of a resource instance.")
    view = open_plain_view(arguments, terminal)
    shown, problems = state_calls(States, arguments).stored_state()
    if shown.state is None:
        return view.finish([no_state()])
    return tell(shown, address, problems, view, arguments["show-sensitive"], terminal)


def tell(
    shown: ShownState, wanted: str, problems: list[Diagnostic], view: View, show_sensitive: bool, terminal: Terminal
) -> int:
    """Show one instance of a state that there is. Raises Failure for one that is not an address of the state."""
    from planner.render.state import StateText

    assert shown.state is not None
    result = instances(shown.state, [wanted])
    if result != [wanted]:
        detail = f"{wanted} matches several instances: {', '.join(result)}."
        return view.finish([error("state.not_an_instance", "Not a single instance", detail)])
    lookup = SchemaLookup(shown.schemas)
    text = StateText(lookup.resource_schema, lookup.decode, terminal, show_sensitive)
    for resource, instance in shown.state.instances():
        if resource.address + format_key(instance.key) == result[0] and instance.current is not None:
            alone = ShownState(only(resource, instance), shown.schemas)
            view.document(text.object(resource, instance, "", instance.current), document_of(alone))
            return view.finish(problems)
    detail = f"{result[0]} has only deposed objects."
    return view.finish([error("state.no_current_object", "No current object", detail)])
