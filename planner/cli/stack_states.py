"""The state of one component of one deployment, for those who look into it and edit it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from planner.cli.flags import Arguments
from planner.stacks.chosen import split
from planner.stacks.deployments import Surroundings
from planner.stacks.session import opened
from planner.stacks.states import States
from planner.vocabulary.diagnostic import Failure, error
from planner.vocabulary.records import frozen

if TYPE_CHECKING:
    from planner.stacks.names import Name
    from planner.stacks.session import Session
    from planner.vocabulary.told import Told


@frozen(eq=False)
class Meant:
    """Addresses in the states of a deployment: each as a component and the address of something in it."""

    session: Session
    states: States
    parts: tuple[tuple[Name, str], ...]


def meant(arguments: Arguments, addresses: list[str], told: Told) -> Meant:
    """What addresses mean, each of which begins with a component that has a state. Raises Failure."""
    session, said = opened(Surroundings())
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
