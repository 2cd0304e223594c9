"""The state of one component of one deployment, for those who look into it and edit it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from planner.cli.flags import Arguments
from planner.foundation.vocabulary.diagnostic import Failure, error
from planner.foundation.vocabulary.records import frozen
from planner.workflows.stacks.deployments import ServiceStandIns
from planner.workflows.stacks.opened_stack import opened
from planner.workflows.stacks.selection import split
from planner.workflows.stacks.states import States

if TYPE_CHECKING:
    from planner.foundation.vocabulary.diagnostic_list import Diagnostics
    from planner.workflows.stacks.names import PromiseName
    from planner.workflows.stacks.opened_stack import OpenedStack


@frozen(eq=False)
class Meant:
    """Addresses in the states of a deployment: each as a component and the address of something in it."""

    session: OpenedStack
    states: States
    parts: tuple[tuple[PromiseName, str], ...]


def meant(arguments: Arguments, addresses: list[str], told: Diagnostics) -> Meant:
    """What addresses mean, each of which begins with a component that has a state. Raises Failure."""
    session, said = opened(ServiceStandIns())
    told += said
    deployments = session.chosen(arguments["deployment"])
    if len(deployments) > 1:
        names = ", ".join(deployment.name for deployment in deployments)
        raise Failure(error("stack.which", "Which deployment?", f"Name one of {names} with -deployment."))
    states = States(session.backend, deployments[0].name)
    recorded = states.recorded()
    parts = tuple(split(recorded, address, deployments[0].name) for address in addresses)
    whole = [str(name) for name, rest in parts if not rest]
    if whole:
        detail = f"{whole[0]} is a component: write the address of something in it after that, {whole[0]}.TYPE.NAME."
        raise Failure(error("stack.whole_component", "Not a resource", detail))
    return Meant(session, states, parts)
