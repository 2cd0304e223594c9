"""Slots: how many nodes of a group may run at the same time, when a group has a bound of its own."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from heapq import heappop, heappush

from planner.foundation.vocabulary.records import field, frozen


@frozen(eq=False)
class SlotLimits:
    """`bounds` by group, each at least 1; `group_of` tells the group of a node, and groups without a bound have none
    but the walk's own."""

    bounds: Mapping[str, int] = field(factory=dict)
    group_of: Callable[[str], str] = lambda node: ""


class Slots:
    """Who runs and who waits, by group. A node waits here only while its group is full: then some node of the group
    runs, and gives its slot to the first that waits. So nobody waits for ever."""

    def __init__(self, limits: SlotLimits) -> None:
        self.bounds, self._group_of = limits.bounds, limits.group_of
        self._held: dict[str, str] = {}
        self._running: dict[str, int] = {}
        self._waiting: dict[str, list[str]] = {}

    def take(self, node: str) -> bool:
        """Whether the node may run now; if not, it waits here."""
        group = self._group_of(node) if self.bounds else ""
        bound = self.bounds.get(group)
        if bound is None:
            return True
        running = self._running.get(group, 0)
        if running >= max(1, bound):
            heappush(self._waiting.setdefault(group, []), node)
            return False
        self._running[group] = running + 1
        self._held[node] = group
        return True

    def give_back(self, node: str) -> str | None:
        """The node has run; the one that need not wait here any longer, the first by name."""
        group = self._held.pop(node, None)
        if group is None:
            return None
        self._running[group] -= 1
        waiting = self._waiting.get(group)
        return heappop(waiting) if waiting else None

    def withdraw(self) -> list[str]:
        """All nodes that wait; they do so no longer."""
        withdrawn = sorted(node for waiting in self._waiting.values() for node in waiting)
        self._waiting.clear()
        return withdrawn
