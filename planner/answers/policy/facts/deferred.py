"""Resources that a plan leaves for a later one (-allow-deferral)."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import TypeAlias

from planner.foundation.vocabulary.records import frozen

Deferred: TypeAlias = tuple[tuple[str, str, str], ...]
"""(block, argument, place), as in Plan.deferred"""


@frozen
class DeferredResource:
    """A resource that is left: its mode and type, and the block and argument that it waits for."""

    address: str
    mode: str
    type: str
    block: str
    argument: str


def deferred_resources(
    deferred: Deferred, resources: Iterable[tuple[str, str, str]], dependents: Callable[[], Mapping[str, list[str]]]
) -> Iterator[DeferredResource]:
    """The objects in the deferred blocks, and those that depend on them. `resources` have the address, mode and
    type."""
    declared = {address: (mode, type) for address, mode, type in resources}
    seen: set[str] = set()
    for block, argument, _ in deferred:
        waiting = [address for address in declared if address == block or address.startswith(f"{block}.")]
        while waiting:
            address = waiting.pop(0)
            if address in declared and address not in seen:
                seen.add(address)
                yield DeferredResource(address, *declared[address], block, argument)
                waiting += dependents().get(address, ())
