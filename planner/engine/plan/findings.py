"""The results of a plan walk, which all vertices add to one record: planned changes, drift, and the states before and
after refreshing."""

from __future__ import annotations

from collections.abc import Iterable
from threading import Lock
from typing import Any

from planner.engine.evaluation.context import EvaluationContext
from planner.engine.evaluation.instance import Instance
from planner.engine.evaluation.schemas import Schemas
from planner.engine.plan.action import Facts, derive, rows
from planner.engine.plan.moves import MoveResults
from planner.foundation.values.schema import BlockSchema
from planner.foundation.values.types import ObjectType
from planner.foundation.values.value import Null, Value, identical, is_null
from planner.foundation.vocabulary.address import parse_resource_instance, sort_key
from planner.foundation.vocabulary.records import frozen
from planner.language.config.model import Config, ModuleConfig, ResourceDecl
from planner.logic.datalog.engine.evaluate import evaluate
from planner.logic.facts.relevance import BlockOf, Path, RelevanceFacts
from planner.logic.model.plan import Action, DeferredChange, Invocation, OutputChange, ResourceChange
from planner.logic.programs.actions import does
from planner.logic.programs.rule_programs import product_program
from planner.world.state.build import StateBuilder
from planner.world.state.model import InstanceKey, State


@frozen(eq=False)
class RefreshedObject:
    """A managed object of the state. `before` and `after` are its values before and after refreshing (Null if it no
    longer exists)."""

    before: Value
    after: Value
    object_type: ObjectType
    provider: str
    provider_key: InstanceKey
    identities: tuple[Value, Value] = (None, None)


class PlanRecord:
    """The results of a plan walk. Several threads may add results."""

    def __init__(self, moves: MoveResults) -> None:
        self.moves = moves
        self.previous = StateBuilder(moves.state)
        self.refreshed = StateBuilder(moves.state)
        self.outputs: dict[str, OutputChange] = {}
        self.module_outputs: dict[str, Value] = {}
        self._lock = Lock()
        self._changes: dict[tuple[str, str], ResourceChange] = {}
        self._by_resource: dict[str, list[ResourceChange]] = {}
        self._by_config: dict[str, set[tuple[str, str]]] = {}
        self._seen: dict[str, tuple[RefreshedObject, Facts, Action]] = {}
        self._invocations: list[Invocation] = []
        self._deferred: dict[str, DeferredChange] = {}
        self._decided: list[tuple[tuple[str, ...], ...]] = []

    def add(self, change: ResourceChange) -> None:
        resource = change.resource_address
        with self._lock:
            self._changes[change.address, change.deposed] = change
            self._by_resource.setdefault(resource, []).append(change)
            if not change.deposed:
                self._by_config.setdefault(_without_keys(resource), set()).add((change.action, change.module))

    def add_invocation(self, invocation: Invocation) -> None:
        """Add a planned invocation of an action. Invocations by the same object must be added in the order in which the
        apply makes them."""
        with self._lock:
            self._invocations.append(invocation)

    def invocations(self) -> tuple[Invocation, ...]:
        """The planned invocations of actions, sorted by the address of the invoking object (or of the action, if there
        is no such object). Invocations by the same object are in the order in which they were added."""
        return tuple(sorted(self._invocations, key=lambda one: sort_key(one.caller or one.address)))

    def defer(self, deferred: DeferredChange) -> None:
        with self._lock:
            self._deferred[deferred.change.address] = deferred

    def deferrals(self) -> tuple[DeferredChange, ...]:
        """The changes that providers deferred, sorted by address."""
        return tuple(self._deferred[address] for address in sorted(self._deferred, key=sort_key))

    def add_decision(self, facts: tuple[tuple[str, ...], ...]) -> None:
        """Add the facts of a decision about an object that has no change."""
        with self._lock:
            self._decided.append(facts)

    def facts(self) -> tuple[tuple[str, ...], ...]:
        """The facts of decisions about objects without a change, grouped by object."""
        return tuple(row for facts in sorted(self._decided) for row in facts)

    def changes(self) -> tuple[ResourceChange, ...]:
        """The planned changes, sorted by address; changes of deposed objects follow the change of the current
        object."""
        order = sorted(self._changes, key=lambda key: (sort_key(key[0]), key[1]))
        return tuple(self._changes[key] for key in order)

    def change(self, address: str) -> ResourceChange | None:
        return self._changes.get((address, ""))

    def change_of(
        self, it: Instance, action: Action, reason: str, before: Value, after: Value, **others: Any
    ) -> ResourceChange:
        """The planned change of an instance. `others`: further fields of ResourceChange."""
        return ResourceChange(
            it.address,
            self.moves.previous_address(it.address),
            it.module_text,
            it.mode,
            it.type,
            it.name,
            it.key,
            it.deposed,
            it.configuration,
            action,
            reason,
            before,
            after,
            provider_key=it.provider_key,
            **others,
        )

    def of_resource(self, address: str) -> list[ResourceChange]:
        return self._by_resource.get(address, [])

    def pending(self, config_address: str) -> set[tuple[str, str]]:
        """(action, module instance) for the planned changes of the current objects of a resource. `config_address`: the
        address of the resource without keys."""
        with self._lock:
            return {item for item in self._by_config.get(config_address, ()) if does(item[0], "changes")}

    def add_refreshed(self, address: str, seen: RefreshedObject) -> None:
        """Record how refreshing changed an object of the state."""
        facts: Facts = {"looked_at": ()}
        if seen.after.__class__ is Null:
            facts["vanished"] = ()
        elif not identical(seen.before, seen.after):
            facts["found_different"] = ()
        if address in self.moves.moves:
            facts["moved_here"] = ()
        for (action,) in derive(facts, "drift"):
            self._seen[address] = seen, facts, action

    def drift(self) -> tuple[ResourceChange, ...]:
        """The changes of managed objects that refreshing found, and moves of objects that did not change otherwise,
        sorted by address."""
        return tuple(self._drift(address, *self._seen[address]) for address in sorted(self._seen, key=sort_key))

    def _drift(self, address: str, seen: RefreshedObject, facts: Facts, action: Action) -> ResourceChange:
        instance = parse_resource_instance(address)
        return ResourceChange(
            address,
            self.moves.previous_address(address),
            str(instance.module),
            instance.mode,
            instance.type,
            instance.name,
            instance.key,
            "",
            seen.provider,
            action,
            "",
            seen.before,
            seen.after,
            provider_key=seen.provider_key,
            facts=rows(address, facts),
            before_identity=seen.identities[0],
            after_identity=seen.identities[1],
        )

    @property
    def previous_state(self) -> State:
        return self.previous.snapshot()

    @property
    def prior_state(self) -> State:
        return self.refreshed.snapshot()


def _without_keys(address: str) -> str:
    return str(parse_resource_instance(address).config) if "[" in address else address


# Relevant attributes: attributes of resources that contributed to a plan's changes, as rules/plan/relevant.dl derives
# them from the facts of planner.logic.facts.relevance.


def relevant_attributes(
    config: Config,
    block_of: BlockOf,
    changes: Iterable[ResourceChange],
    outputs: Iterable[tuple[str, str]],
) -> tuple[tuple[str, Path], ...]:
    """The relevant attributes, as sorted pairs (resource instance address, path of steps ("attr", name) and ("index",
    key)). `changes`: the planned changes; changes with the action no-op are ignored. `outputs`: (module instance
    address, name) of output values that change, including outputs of child modules."""
    facts = RelevanceFacts(config, block_of, changes, outputs)
    derived = evaluate(product_program("relevance"), facts.build(), ["relevant"])
    items = {facts.resources[place] for (place,) in derived["relevant"]}
    return tuple(sorted(items, key=lambda item: (item[0], [(kind, str(key)) for kind, key in item[1]])))


def changed_outputs(outputs: Iterable[OutputChange], context: EvaluationContext) -> list[tuple[str, str]]:
    """The root outputs that change, and all outputs of child modules, as (module instance address, name)."""
    changed = [("", name) for name in sorted(output.name for output in outputs if output.action != "no-op")]
    for module in context.all_instances():
        if module.text:
            changed += [(module.text, name) for name, value in sorted(module.outputs.items()) if not is_null(value)]
    return changed


def block_lookup(schemas: Schemas) -> BlockOf:
    def block_of(module: ModuleConfig, decl: ResourceDecl) -> BlockSchema | None:
        result = schemas.resource(module.provider_source(decl.provider_name), decl.mode, decl.type)
        return result.block if result else None

    return block_of
