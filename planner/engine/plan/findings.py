"""What a plan walk finds out, gathered from all its nodes: changes, the states before and after refreshing, drift."""

from __future__ import annotations

from threading import Lock
from typing import Any

from planner.engine.evaluation.instance import Instance
from planner.engine.plan.action import Facts, derive, rows
from planner.engine.plan.moves import MoveResults
from planner.foundation.values.identity import identical
from planner.foundation.values.types import ObjectType
from planner.foundation.values.value import Null, Value
from planner.foundation.vocabulary.address import parse_resource_instance, sort_key
from planner.foundation.vocabulary.records import frozen
from planner.logic.model.plan import Action, OutputChange, ResourceChange
from planner.logic.programs.actions import does
from planner.world.state.build import StateBuilder
from planner.world.state.model import InstanceKey, State


@frozen(eq=False)
class Seen:
    """A managed object of the state as the walk saw it: before refreshing, and after (Null when it is gone)."""

    before: Value
    after: Value
    object_type: ObjectType
    provider: str
    provider_key: InstanceKey
    identities: tuple[Value, Value] = (None, None)


class PlanRecord:
    """Results of a walk. Nodes may add to it from several threads."""

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
        self._seen: dict[str, tuple[Seen, Facts, Action]] = {}
        self._decided: list[tuple[tuple[str, ...], ...]] = []

    def add(self, change: ResourceChange) -> None:
        """A planned change of one object."""
        resource = change.resource_address
        with self._lock:
            self._changes[change.address, change.deposed] = change
            self._by_resource.setdefault(resource, []).append(change)
            if not change.deposed:
                self._by_config.setdefault(_without_keys(resource), set()).add((change.action, change.module))

    def decided(self, facts: tuple[tuple[str, ...], ...]) -> None:
        """The facts of a decision about something of which there is no change."""
        with self._lock:
            self._decided.append(facts)

    def facts(self) -> tuple[tuple[str, ...], ...]:
        """The facts of decisions about what has no change, those about one object together."""
        return tuple(row for facts in sorted(self._decided) for row in facts)

    def changes(self) -> tuple[ResourceChange, ...]:
        """All changes, by address; deposed objects after the current one."""
        order = sorted(self._changes, key=lambda key: (sort_key(key[0]), key[1]))
        return tuple(self._changes[key] for key in order)

    def change(self, address: str) -> ResourceChange | None:
        """The change of the current object of an instance."""
        return self._changes.get((address, ""))

    def change_of(
        self, it: Instance, action: Action, reason: str, before: Value, after: Value, **others: Any
    ) -> ResourceChange:
        """A planned change of an instance; `others` are further fields of ResourceChange."""
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
        """The changes of a resource's instances in one module instance."""
        return self._by_resource.get(address, [])

    def pending(self, config_address: str) -> set[tuple[str, str]]:
        """What is planned for current objects of a resource (its address without keys): (action, module instance)."""
        with self._lock:
            return {found for found in self._by_config.get(config_address, ()) if does(found[0], "changes")}

    def saw(self, address: str, seen: Seen) -> None:
        """What refreshing did to an object that was in the state."""
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
        """What has changed outside of any plan, and what only moved: managed objects, by address."""
        return tuple(self._drift(address, *self._seen[address]) for address in sorted(self._seen, key=sort_key))

    def _drift(self, address: str, seen: Seen, facts: Facts, action: Action) -> ResourceChange:
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
