"""Reads and edits the recorded data of deployments: the states of their components, and their outputs."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from typing import TYPE_CHECKING

from planner.foundation.vocabulary.diagnostic import Diagnostics, Failure, error
from planner.foundation.vocabulary.records import frozen
from planner.operations.load import new_schemas
from planner.operations.options import StateOptions
from planner.operations.state_edit import edit_in, parse, removal
from planner.operations.state_mv import Moved, movement
from planner.workflows.stacks.decisions import select_names, split
from planner.workflows.stacks.deployments import ServiceStandIns
from planner.workflows.stacks.loading import requirements
from planner.workflows.stacks.names import PromiseName
from planner.workflows.stacks.opened_stack import OpenedStack, opened
from planner.workflows.stacks.states import States
from planner.world.state.model import OutputState, State

if TYPE_CHECKING:
    from planner.engine.evaluation.schemas import Schemas


@frozen(eq=False)
class Deployed:
    """The recorded state of a deployment. `components`: {instance: state}, for the instances that have a state.
    `outputs`: None before the first apply."""

    deployment: str
    components: Mapping[PromiseName, State]
    outputs: Mapping[str, OutputState] | None


def schemas_of(session: OpenedStack) -> Schemas:
    """The schemas that are needed to show the states of a stack. The caller must close them."""
    return new_schemas(session.directory, requirements(session.stack.root), encryption=session.encryption)


def deployed(session: OpenedStack, names: Iterable[str], components: Collection[str] = ()) -> list[Deployed]:
    """The recorded deployments with these names. `components`: names of the components to include; empty for all.
    Raises Failure."""
    result = []
    for deployment in session.chosen(names):
        states = States(session.backend, deployment.name)
        there = {name: state for name in states.recorded() if (state := states.read(name)) is not None}
        wanted = select_names(there, components, deployment.name) if components else list(there)
        whole = states.read()
        outputs = whole.outputs if whole is not None and whole.lineage else None
        result.append(Deployed(deployment.name, {name: there[name] for name in wanted}, outputs))
    return result


@frozen(eq=False)
class StackAddresses:
    """Addresses in the states of a deployment: (component, address in the component's state)."""

    session: OpenedStack
    states: States
    parts: tuple[tuple[PromiseName, str], ...]

    def move(self, options: StateOptions, diagnostics: Diagnostics, dry_run: bool) -> list[Moved]:
        """Move objects from the first address to the second address, in the state of the component in the first
        address. Returns (former address, new address) of each moved resource instance. Raises Failure."""
        moved, moves = list[Moved](), dict[str, str]()
        (name, old), (_, new) = self.parts
        change = movement(parse(old), parse(new), moved, moves)
        edit_in(self.states.store(name), options, "state-mv", change, diagnostics, dry_run, moves=moves)
        return moved

    def remove(self, options: StateOptions, diagnostics: Diagnostics, dry_run: bool) -> Iterator[str]:
        """Remove the resource instances at the addresses from the states, one component after the other, and yield
        their addresses. Raises Failure."""
        wanted: dict[str, list[str]] = {}
        names = {str(name): name for name, _ in self.parts}
        for name, address in self.parts:
            wanted.setdefault(str(name), []).append(address)
        for component, addresses in sorted(wanted.items()):
            store = self.states.store(names[component])
            for gone in edit_in(store, options, "state-rm", removal(addresses), diagnostics, dry_run):
                yield f"{component}.{gone}"


def stack_addresses(names: Iterable[str], addresses: Iterable[str], diagnostics: Diagnostics) -> StackAddresses:
    """Parse addresses of objects in the named deployment. Each must begin with a component instance that has a state.
    Raises Failure."""
    session, problems = opened(ServiceStandIns())
    diagnostics += problems
    deployment = session.only(names).name
    states = States(session.backend, deployment)
    recorded = states.recorded()
    parts = tuple(split(recorded, address, deployment) for address in addresses)
    whole = [str(name) for name, rest in parts if not rest]
    if whole:
        detail = f"{whole[0]} is a component: append the address of an object in the component, {whole[0]}.TYPE.NAME."
        raise Failure(error("stack.whole_component", "Not a resource", detail))
    return StackAddresses(session, states, parts)
