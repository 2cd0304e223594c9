"""The record of the origins of taints: written when they happen, read by explanations."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from typing import TYPE_CHECKING

from planner.foundation.vocabulary.address import format_key
from planner.foundation.vocabulary.diagnostic import Failure
from planner.world.state.taint_record import NAME, TaintOrigin, read_taints, taints_bytes

if TYPE_CHECKING:
    from planner.world.state.backend import Store
    from planner.world.state.model import State


def taints_of(store: Store, state: State) -> dict[str, TaintOrigin]:
    """The origins of taints on record for a state, by address; objects may have been mended or moved since."""
    data = store.beside(NAME)
    if data is None:
        return {}
    try:
        return read_taints(store.seal.unseal_document(NAME, data).data, state.lineage)
    except Failure:
        return {}


def keep_taints(store: Store, state: State, taints: Mapping[str, TaintOrigin]) -> None:
    """Record the origins of taints in a state that was just written."""
    if not taints:
        return
    known = {**taints_of(store, state), **taints}
    tainted = {
        resource.address + format_key(instance.key)
        for resource, instance in state.instances()
        if instance.current is not None and instance.current.tainted
    }
    document = taints_bytes(state.lineage, {name: origin for name, origin in known.items() if name in tainted})
    with suppress(Failure):
        store.put_beside(NAME, store.seal.seal_document(NAME, document))
