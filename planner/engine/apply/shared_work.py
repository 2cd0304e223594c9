"""Data that all vertices of an apply walk share: the plan, the options, and the record of results."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from threading import Event, Lock
from typing import Protocol

from planner.engine.evaluation.configuration_walk import (
    ConfigurationWalk,
    WalkOptions,
    provider_configurations,
    relation,
)
from planner.engine.evaluation.context import ModuleInstance
from planner.engine.evaluation.instance import Instance
from planner.engine.evaluation.objects import StateObjects
from planner.engine.evaluation.schemas import Schemas
from planner.engine.walk.hooks import Hooks
from planner.foundation.values.value import Value
from planner.foundation.vocabulary.address import ResourceAddress, parse_resource_instance
from planner.foundation.vocabulary.diagnostic import Diagnostic
from planner.foundation.vocabulary.limits import walk_of
from planner.foundation.vocabulary.records import frozen
from planner.language.config.model import Config, ResourceDecl
from planner.language.config.variables import RootVariable
from planner.logic.model.graph import Graph
from planner.logic.model.plan import Invocation, Plan, ResourceChange
from planner.logic.programs.actions import does, event_place
from planner.world.state.build import StateBuilder
from planner.world.state.journal import Journal
from planner.world.state.model import InstanceKey, InstanceState, ObjectState, ResourceState, State
from planner.world.state.snapshots import Snapshots
from planner.world.state.taint_record import TaintOrigin


class Guard(Protocol):
    """Decides whether policies allow an object or a provider configuration, once its values are known."""

    def decide(self, address: str, value: Value) -> list[Diagnostic]:
        """Errors if policies do not allow the object or provider configuration `address` to have this value. Called
        before the value is used."""

    def note_value(self, address: str, value: Value) -> None:
        """Record the new value of an object (Null if it no longer exists)."""


@frozen(eq=False, kw_only=True)
class ApplyOptions(WalkOptions):
    """The options of an apply walk. `journal`: records every change immediately. `snapshots`: writes the current state
    periodically. `suppress_forget_errors`: whether objects that a destroy plan only forgets cause no error. `guard`:
    checks policies whose verdicts depend on values that the plan did not know."""

    suppress_forget_errors: bool = False
    journal: Journal | None = None
    snapshots: Snapshots | None = None
    guard: Guard | None = None


class ApplyWork(ConfigurationWalk):
    """The methods and shared data of an apply walk that functions use to apply one instance. These functions return
    problems, and change no shared data except `record`."""

    def __init__(
        self,
        graph: Graph,
        plan: Plan,
        config: Config,
        variables: Mapping[str, RootVariable],
        schemas: Schemas,
        options: ApplyOptions,
        hooks: Hooks,
    ) -> None:
        self.plan, self.options = plan, options
        self.destroys = plan.mode == "destroy"
        self.changes = {(change.address, change.deposed): change for change in plan.changes}
        leaving = [] if self.destroys else [c for c in plan.changes if not c.deposed and does(c.action, "removes")]
        objects = RemainingObjects(plan.prior_state, schemas, leaving)
        walk = walk_of("apply", plan.mode)
        super().__init__(graph, config, walk, variables, schemas, objects, options, plan.timestamp, hooks)
        if options.guard is not None:
            self.providers.judge = options.guard.decide
        self.record = ApplyRecord(plan.prior_state, options.journal, options.snapshots)
        self.planned_outputs = {output.name: output for output in plan.outputs}
        self.stopping = Event()
        self.configurations = provider_configurations(graph)
        self.invocations: dict[tuple[str, str, str], list[Invocation]] = {}
        """the planned invocations, by (object that invokes them, step of its change, position: before or after the
        step)"""
        self.requested: dict[str, list[Invocation]] = {}
        """the invocations that the command line requests, by the address of the action without keys"""
        for one in plan.invocations:
            if one.event:
                place = event_place(one.event)
                self.invocations.setdefault((one.caller, place.step, place.position), []).append(one)
            else:
                self.requested.setdefault(str(parse_resource_instance(one.address).config), []).append(one)
        self.deposed_keys = {row[0]: row[1] for row in relation(graph, "new_deposed")}
        self.asking_configured = {row[0] for row in relation(graph, "needs_configured_provider")}
        self.replacement_first = {row[0] for row in relation(graph, "replacement_first")}

    def depose(self, it: Instance) -> str:
        """Make the current object deposed. Returns the deposed key: the key in the graph if the graph has one,
        otherwise a new key; "" if there is no current object."""
        return self.record.state.depose(it.resource_address, it.key, self.deposed_keys.get(it.address, ""))


class RemainingObjects(StateObjects):
    """The objects of the state before the apply, without the objects that will be destroyed, because values must not
    depend on those. The walk replaces objects that it changes by their new values."""

    def __init__(self, state: State, schemas: Schemas, leaving: Collection[ResourceChange]) -> None:
        super().__init__(state, schemas)
        self._leaving: dict[str, set[InstanceKey]] = {}
        for change in leaving:
            self._leaving.setdefault(change.resource_address, set()).add(change.key)

    def keys(self, module: ModuleInstance, resource: ResourceDecl) -> Collection[InstanceKey] | None:
        result = super().keys(module, resource)
        leaving = self._leaving.get(str(ResourceAddress(module.address, resource.mode, resource.type, resource.name)))
        return result if result is None or leaving is None else [key for key in result if key not in leaving]


# The progress of an apply: the current state, its journal, and the number of changed objects.


class ApplyRecord:
    """The current state, and the numbers of operations. Several threads may use an object of this class. Every change
    of the state is also written to the journal, if there is one, and reported to `snapshots`."""

    def __init__(self, prior: State, journal: Journal | None = None, snapshots: Snapshots | None = None) -> None:
        self.journal = journal
        self._begun = begun = Event()

        def report(resource: ResourceState, key: InstanceKey, instance: InstanceState | None) -> None:
            begun.set()
            if journal is not None:
                journal.instance(resource, key, instance)
            if snapshots is not None:
                snapshots.note_change()

        # a function rather than a method of this object, because a method would create a reference cycle
        self.state = StateBuilder(prior, report)
        if snapshots is not None:
            snapshots.begin(self.state.snapshot)
        self._lock = Lock()
        self.counts = {"create": 0, "update": 0, "delete": 0, "invoke": 0, "failed": 0}
        self.taints: dict[str, TaintOrigin] = {}
        """the origins of taints, by the address of the object"""
        self.ends: dict[str, Sequence[Diagnostic]] = {}
        """the diagnostics of each vertex that attempted a step of a planned change"""
        self.operated: set[str] = set()
        """the vertices whose operation succeeded, including those whose postconditions then failed"""

    def write(self, it: Instance, record: ObjectState | None, deposed: str = "") -> None:
        if record is None:
            self.state.remove_object(it.resource_address, it.key, deposed)
        else:
            it.store(self.state, record, deposed)

    @property
    def has_begun(self) -> bool:
        return self._begun.is_set()

    def start(self, it: Instance, action: str, durable: bool) -> int:
        """Record the start of an operation on an object, and return the number of the record. `durable`: whether the
        record is flushed to disk before this method returns. Raises Failure."""
        self._begun.set()
        return self.journal.start(it.address, it.deposed, action, durable) if self.journal is not None else 0

    def begin(self, address: str, action: str) -> int:
        """Record the start of work that is not an operation on an object, such as an action, and return the number of
        the record. Raises Failure."""
        self._begun.set()
        return self.journal.start(address, "", action, True) if self.journal is not None else 0

    def end(self, number: int, durable: bool) -> None:
        if self.journal is not None:
            self.journal.end(number, durable)

    def flush(self) -> None:
        if self.journal is not None:
            self.journal.flush()

    def count(self, action: str) -> None:
        with self._lock:
            self.counts[action] += 1
