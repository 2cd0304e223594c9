"""The record of the origins of taints: written when they happen, read by explanations."""

from __future__ import annotations

from collections.abc import Mapping

from planner.foundation.vocabulary.address import format_key
from planner.foundation.vocabulary.diagnostic import Diagnostic
from planner.world.state.backend import TAINTS, Store
from planner.world.state.model import State
from planner.world.state.taint_record import TaintOrigin, read_taints, taints_bytes


def taints_of(store: Store, state: State) -> dict[str, TaintOrigin]:
    """The origins of taints on record for a state, by address; objects may have been mended or moved since."""
    data = store.beside(TAINTS)
    return read_taints(data, state.lineage) if data is not None else {}


def keep_taints(store: Store, state: State, taints: Mapping[str, TaintOrigin]) -> list[Diagnostic]:
    """Record the origins of taints in a state that was just written."""
    if not taints:
        return []
    known = {**taints_of(store, state), **taints}
    tainted = {
        resource.address + format_key(instance.key)
        for resource, instance in state.instances()
        if instance.current is not None and instance.current.tainted
    }
    document = taints_bytes(state.lineage, {name: origin for name, origin in known.items() if name in tainted})
    return store.put_beside(TAINTS, document)
