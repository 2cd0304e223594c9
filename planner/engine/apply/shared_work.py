"""What the work of an apply walk shares: the plan, what was asked, and the record that takes what is done."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from threading import Event
from typing import Protocol

from planner.engine.apply.record import ApplyRecord
from planner.engine.evaluation.configuration_walk import ConfigurationWalk, provider_configurations, relation
from planner.engine.evaluation.context import ModuleInstance
from planner.engine.evaluation.driver import WalkOptions
from planner.engine.evaluation.instance import Instance
from planner.engine.evaluation.objects import StateObjects
from planner.engine.evaluation.schemas import Schemas
from planner.engine.walk.hooks import Hooks
from planner.foundation.values.value import Value
from planner.foundation.vocabulary.address import ResourceAddress
from planner.foundation.vocabulary.diagnostic import Diagnostic
from planner.foundation.vocabulary.records import frozen
from planner.foundation.vocabulary.walks import walk_of
from planner.language.config.model import Config, ResourceDecl
from planner.language.config.variables import RootVariable
from planner.logic.model.graph import Graph
from planner.logic.model.plan import Plan, ResourceChange
from planner.logic.programs.actions import does
from planner.world.state.journal import Journal
from planner.world.state.model import InstanceKey, State
from planner.world.state.snapshots import Snapshots
from planner.world.state.value_record import Digester


class Guard(Protocol):
    """Has the last word on an object, or on a provider configuration, when its values are known."""

    def decide(self, address: str, value: Value) -> list[Diagnostic]:
        """Why an object must not become this: asked before anything is done to it."""

    def done(self, address: str, value: Value) -> None:
        """What has become of the object; Null when there is none."""


@frozen(eq=False, kw_only=True)
class ApplyOptions(WalkOptions):
    """`journal`: where every change is written down at once. `snapshots`: write the state as it is, now and then.
    `suppress_forget_errors`: it is no error when a plan that destroys everything leaves forgotten objects behind."""

    suppress_forget_errors: bool = False
    journal: Journal | None = None
    snapshots: Snapshots | None = None
    digester: Digester | None = None
    guard: Guard | None = None
    """policies that wait for values"""


class ApplyWork(ConfigurationWalk):
    """What the work on an instance may ask and tell; it gives what it found wrong, and writes to `record` alone."""

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
        self.deposed_keys = {row[0]: row[1] for row in relation(graph, "new_deposed")}
        self.asking_configured = {row[0] for row in relation(graph, "asks_configured")}
        self.replacement_first = {row[0] for row in relation(graph, "replacement_first")}

    def depose(self, it: Instance) -> str:
        """Set the current object aside under the key that the graph expects; that key, "" without an object."""
        return self.record.state.depose(it.resource_address, it.key, self.deposed_keys.get(it.address, ""))


class RemainingObjects(StateObjects):
    """The objects of the state before the apply, without those that are going to be destroyed: when the walk is over
    they are gone, so nothing may be made of them. What the walk changes it sets itself."""

    def __init__(self, state: State, schemas: Schemas, leaving: Collection[ResourceChange]) -> None:
        super().__init__(state, schemas)
        self._leaving: dict[str, set[InstanceKey]] = {}
        for change in leaving:
            self._leaving.setdefault(change.resource_address, set()).add(change.key)

    def keys(self, module: ModuleInstance, resource: ResourceDecl) -> Collection[InstanceKey] | None:
        found = super().keys(module, resource)
        leaving = self._leaving.get(str(ResourceAddress(module.address, resource.mode, resource.type, resource.name)))
        return found if found is None or leaving is None else [key for key in found if key not in leaving]
