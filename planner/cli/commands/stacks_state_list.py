"""`stacks state list`: the objects in the states of deployments."""

from __future__ import annotations

from typing import TYPE_CHECKING

from planner.cli.commands.state_list import instances
from planner.cli.flags import Arguments
from planner.cli.options import JSON_LINES
from planner.cli.stack_options import DEPLOYMENTS
from planner.cli.views import open_plain_view
from planner.foundation.vocabulary.diagnostic import Failure
from planner.render.terminal import Terminal
from planner.workflows.stacks.deployments import ServiceStandIns
from planner.workflows.stacks.opened_stack import opened
from planner.workflows.stacks.selection import select_names, split

if TYPE_CHECKING:
    from planner.workflows.stacks.deployment_state import Deployed

USAGE = "[options] [ADDRESS...]"
HELP = """Lists the resource instances in the states of deployments, each after its component:
component.web["eu"].aws_instance.server. With addresses, only those of these components, child stacks, modules and
resources. With several deployments each line begins with its deployment."""
FLAGS = (DEPLOYMENTS, *JSON_LINES)


def run(arguments: Arguments, terminal: Terminal) -> int:
    """0, or 1 when an address is in no state."""
    from planner.workflows.stacks.deployment_state import deployed

    view = open_plain_view(arguments, terminal)
    session, told = opened(ServiceStandIns())
    result = deployed(session, arguments["deployment"])
    for one in result:
        before = f"{one.deployment}: " if len(result) > 1 else ""
        for component, address in _component_addresses(one, arguments.words):
            more = {"deployment": one.deployment, "component": component}
            view.say(f"{before}{component}.{address}", address, type="resource_address", **more)
    return view.finish(told)


def _component_addresses(found: Deployed, words: list[str]) -> list[tuple[str, str]]:
    """Components and addresses in them. Raises Failure for a word that means nothing."""
    if not words:
        return [(str(name), address) for name, state in found.components.items() for address in instances(state, [])]
    listed: dict[tuple[str, str], None] = {}
    for word in words:
        try:
            wanted = [(name, "") for name in select_names(found.components, [word], found.deployment)]
        except Failure:  # then it is something in a component
            wanted = [split(found.components, word, found.deployment)]
        for name, rest in wanted:
            inside = instances(found.components[name], [rest] if rest else [])
            listed |= dict.fromkeys((str(name), address) for address in inside)
    return sorted(listed)
