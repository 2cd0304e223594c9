"""`stacks state rm`: forget objects of a component, without destroying them."""

from __future__ import annotations

from planner.api.states import States
from planner.cli.flags import Arguments, Flag, UsageError
from planner.cli.options import JSON_LINES, LOCK, state_calls
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
    from planner.workflows.stacks.deployment_state import stack_addresses

    if not arguments.words:
        raise UsageError("At least one address is needed")
    view = open_plain_view(arguments, terminal)
    calls, dry = state_calls(States, arguments), arguments["dry-run"]
    told = Diagnostics()
    count = 0
    with told.until_an_error():
        result = stack_addresses(arguments["deployment"], arguments.words, told)
        for address in result.remove(calls.options, told, dry):
            view.say(f"{'Would remove' if dry else 'Removed'} {address}")
            count += 1
    if not has_errors(told):
        view.say(f"{'Would have removed' if dry else 'Successfully removed'} {count} resource instance(s).")
    return view.finish(told)
