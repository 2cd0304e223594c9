"""What deployments have: the states of their components, and their outputs."""

from __future__ import annotations

from typing import TYPE_CHECKING

from planner.operations.loading import new_schemas
from planner.stacks.chosen import chosen
from planner.stacks.loading import requirements
from planner.stacks.states import States
from planner.vocabulary.records import frozen

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping

    from planner.evaluation.schemas import Schemas
    from planner.stacks.names import Name
    from planner.stacks.session import Session
    from planner.state.model import OutputState, State


@frozen(eq=False)
class Deployed:
    """A deployment: the instances of components that have a state, by name; and its outputs, None before it was applied
    for the first time."""

    deployment: str
    components: Mapping[Name, State]
    outputs: Mapping[str, OutputState] | None


def schemas_of(session: Session) -> Schemas:
    """What the states of a stack are shown by; to be closed."""
    return new_schemas(session.directory, requirements(session.stack.root), encryption=session.encryption)


def deployed(session: Session, names: Iterable[str], components: Collection[str] = ()) -> list[Deployed]:
    """The chosen deployments, with all that they have, or some components alone. Raises Failure."""
    found = []
    for deployment in session.chosen(names):
        states = States(session.backend, deployment.name)
        there = {name: state for name in states.recorded() if (state := states.read(name)) is not None}
        wanted = chosen(there, components, deployment.name) if components else list(there)
        whole = states.read()
        outputs = whole.outputs if whole is not None and whole.lineage else None
        found.append(Deployed(deployment.name, {name: there[name] for name in wanted}, outputs))
    return found
