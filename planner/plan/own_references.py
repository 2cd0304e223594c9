"""References of a resource to itself: instances that wait for other instances of the same resource."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from planner.evaluation.instance import Instance
from planner.vocabulary.address import format_key


def waiting_instances(instances: Iterable[Instance], references: Iterable[str]) -> dict[str, set[str]]:
    """Which instances each one waits for. `references` are the keys that the resource's block names, as written
    (such as "[0]"); "" or a key that no instance has means all of them. Nobody waits for itself."""
    by_module: dict[str, dict[str, str]] = {}
    for it in instances:
        by_module.setdefault(it.module_text, {})[format_key(it.key)] = it.address
    waits: dict[str, set[str]] = {}
    for addresses in by_module.values():
        named: set[str] = set()
        for key in references:
            named |= {addresses[key]} if key in addresses and key else set(addresses.values())
        for address in addresses.values():
            waits[address] = named - {address}
    return waits


def in_order(waits: Mapping[str, set[str]]) -> dict[str, int] | None:
    """A place for each, after those that it waits for; None when some wait for one another."""
    order: dict[str, int] = {}
    left = dict(waits)
    while left:
        ready = [address for address, others in left.items() if not any(other in left for other in others)]
        if not ready:
            return None
        for address in ready:
            order[address] = len(order)
            del left[address]
    return order
