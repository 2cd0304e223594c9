"""`stacks state rm`: forget objects of a component, without destroying them."""

from __future__ import annotations

from planner.cli.flags import Arguments, Flag, UsageError
from planner.cli.options import JSON_LINES, LOCK, state_options
from planner.cli.stack_options import DEPLOYMENTS
from planner.cli.views import open_plain_view
from planner.foundation.vocabulary.diagnostic import Diagnostics, has_errors
from planner.render.terminal import Terminal

USAGE = "[options] ADDRESS..."
HELP = """Removes resource instances, resources or modules from the states of components of a deployment:
component.web["eu"].aws_instance.server. The real objects continue to exist, unmanaged. A whole component is forgotten
by a removed block with `lifecycle { destroy = false }`."""
FLAGS = (DEPLOYMENTS, Flag("dry-run", "bool", "List what would be removed, and remove nothing."), *LOCK, *JSON_LINES)


def run(arguments: Arguments, terminal: Terminal) -> int:
    """0, or 1 when an address names nothing."""
    from planner.operations.state_edit import edit_in, removal
    from planner.workflows.stacks.deployment_state import stack_addresses

    if not arguments.words:
        raise UsageError("At least one address is needed")
    view = open_plain_view(arguments, terminal)
    options, dry = state_options(arguments), arguments["dry-run"]
    told = Diagnostics()
    count = 0
    with told.until_an_error():
        result = stack_addresses(arguments["deployment"], arguments.words, told)
        wanted: dict[str, list[str]] = {}
        names = {str(name): name for name, _ in result.parts}
        for name, address in result.parts:
            wanted.setdefault(str(name), []).append(address)
        for component, addresses in sorted(wanted.items()):
            store = result.states.store(names[component])
            gone = edit_in(store, options, "state-rm", removal(addresses), told, dry)
            for address in gone:
                view.say(f"{'Would remove' if dry else 'Removed'} {component}.{address}")
            count += len(gone)
    if not has_errors(told):
        view.say(f"{'Would have removed' if dry else 'Successfully removed'} {count} resource instance(s).")
    return view.finish(told)
