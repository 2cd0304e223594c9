"""What the plan decided, to facts: the predicates of rules/inputs/changes.dl.

The source of each is what the decision is about: the resource block where there is one, else the entry in the state.
"""

from __future__ import annotations

from collections.abc import Iterable

from planner.foundation.support.digests import sha256_of
from planner.foundation.values.value import Null
from planner.foundation.vocabulary.span import Span
from planner.language.config.model import Config
from planner.logic.datalog.engine.fact_base import FactBuilder
from planner.logic.facts.from_state import add_instance, module_path
from planner.logic.model.plan import ResourceChange
from planner.logic.model.sources import StateEntry
from planner.world.state.model import State


def from_changes(facts: FactBuilder, changes: Iterable[ResourceChange], state: State, config: Config) -> None:
    """Add the planned action of every object, and the deposed keys that replacements may need."""
    for change in changes:
        source = declaration(config, change) or StateEntry(change.address)
        address = add_instance(facts, change.module, change.mode, change.type, change.name, change.key, source)
        facts.add("provider_of_change", address, change.provider, source=source)
        if change.deposed:
            facts.add("deposed", address, change.deposed, change.action, source=StateEntry(change.address))
            continue
        facts.add("action", address, change.action, source=source)
        if change.action != "no-op" and change.before.__class__ is not Null:
            resource = state.resources.get(change.resource_address)
            instance = resource.instances.get(change.key) if resource else None
            key = deposed_key(address, instance.deposed if instance else ())
            facts.add("free_deposed_key", address, key, source=StateEntry(change.address))


def declaration(config: Config, change: ResourceChange) -> Span | None:
    """The resource block of a changed object, None when the configuration has none."""
    path = tuple(name for name in module_path(change.module).removeprefix("module.").split(".module.") if name)
    module = config.root.descendant(path)
    prefix = "" if change.mode == "managed" else f"{change.mode}."
    resource = module.resources.get(f"{prefix}{change.type}.{change.name}") if module else None
    return resource.span if resource else None


def deposed_key(address: str, taken: Iterable[str]) -> str:
    """A free deposed key, 8 hex digits. It is derived from the address, so that the same plan gives the same graph."""
    # decided in Python: the key of an object that is set aside -- a digest
    used, attempt = set(taken), 0
    while True:
        key = sha256_of(f"{address}#{attempt}".encode("utf-8", "surrogateescape"))[:8]
        if key not in used:
            return key
        attempt += 1
