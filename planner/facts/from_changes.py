"""What the plan decided, to facts: the predicates of rules/inputs/changes.dl."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable

from attrs import frozen

from planner.datalog.fact_base import FactBuilder
from planner.facts.from_state import add_instance
from planner.plan.model import ResourceChange
from planner.state.model import State


@frozen
class PlannedChange:
    """A place in the plan: the change of this address."""

    address: str


def from_changes(facts: FactBuilder, changes: Iterable[ResourceChange], state: State) -> None:
    """Add the planned action of every object, and the deposed keys that replacements will need."""
    for change in changes:
        entry = PlannedChange(change.address)
        address = add_instance(facts, change.module, change.mode, change.type, change.name, change.key, entry)
        facts.add("provider_of_change", address, change.provider, source=entry)
        if change.deposed:
            facts.add("planned_deposed", address, change.deposed, change.action, source=entry)
            continue
        facts.add("planned", address, change.action, source=entry)
        if change.action == "create-then-delete":
            resource = state.resources.get(change.resource_address)
            instance = resource.instances.get(change.key) if resource else None
            facts.add("new_deposed", address, deposed_key(address, instance.deposed if instance else ()), source=entry)


def deposed_key(address: str, taken: Iterable[str]) -> str:
    """A free deposed key, 8 hex digits. It is derived from the address, so that the same plan gives the same graph."""
    used, attempt = set(taken), 0
    while True:
        key = hashlib.sha256(f"{address}#{attempt}".encode()).hexdigest()[:8]
        if key not in used:
            return key
        attempt += 1
