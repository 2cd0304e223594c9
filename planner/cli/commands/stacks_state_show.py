"""`stacks state show`: the attributes of one resource instance of a component."""

from __future__ import annotations

from planner.api.states import ShownState
from planner.cli.flags import Arguments
from planner.cli.options import JSON_LINES, SHOW_SENSITIVE
from planner.cli.stack_options import DEPLOYMENTS
from planner.cli.views import open_plain_view
from planner.foundation.vocabulary.diagnostic import Diagnostics
from planner.render.terminal import Terminal

USAGE = "[options] ADDRESS"
HELP = """Shows the attributes of one resource instance of a deployment. `planner stacks state list` lists the
addresses: component.web["eu"].aws_instance.server."""
FLAGS = (DEPLOYMENTS, SHOW_SENSITIVE, *JSON_LINES)


def run(arguments: Arguments, terminal: Terminal) -> int:
    """0, or 1 when the instance does not exist."""
    from planner.cli.commands.state_list import no_state
    from planner.cli.commands.state_show import tell
    from planner.workflows.stacks.deployment_state import schemas_of, stack_addresses

    arguments.only_word("One address is needed", "Write the address of a resource instance.")
    view = open_plain_view(arguments, terminal)
    told = Diagnostics()
    result = stack_addresses(arguments["deployment"], arguments.words, told)
    ((name, address),) = result.parts
    state = result.states.read(name)
    if state is None:
        return view.finish([*told, no_state()])
    schemas = schemas_of(result.session)
    try:
        return tell(ShownState(state, schemas), address, told, view, arguments["show-sensitive"], terminal)
    finally:
        schemas.close()
