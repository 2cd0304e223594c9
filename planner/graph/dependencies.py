"""Which resources does each vertex depend on, directly or through others? What the state records of each instance."""

from __future__ import annotations

from planner.datalog.engine.evaluate import Database
from planner.vocabulary.address_set import Addresses, AddressSet


class ResourceDependencies:
    """Answers for every vertex of the graph, computed once with one integer bitset a vertex (bit n: resource n)."""

    def __init__(self, database: Database) -> None:
        self._objects: dict[str, str] = {row[0]: row[1] for row in database["resource_of"]}
        self._successors: dict[str, list[str]] = {}
        for dependent, dependency in database["link_base"]:
            self._successors.setdefault(dependent, []).append(dependency)
        self._shared = Addresses(self._objects.values())
        self._bits = {name: 1 << place for name, place in self._shared.places.items()}
        self._reach: dict[str, int] = {}

    def of(self, node: str) -> AddressSet:
        """The resources that the vertex depends on, without its own, sorted by address."""
        bits = self._closure(node) & ~self._bits.get(self._objects.get(node, ""), 0)
        return AddressSet(self._shared, bits)

    def _closure(self, start: str) -> int:
        reach, stack, open_nodes = self._reach, [start], set()
        while stack:
            node = stack[-1]
            if node in reach:
                stack.pop()
                continue
            successors = self._successors.get(node, ())
            waiting = [s for s in successors if s not in reach and s not in open_nodes]
            if waiting and node not in open_nodes:
                open_nodes.add(node)
                stack.extend(waiting)
                continue
            bits = 0
            for successor in successors:
                bits |= reach.get(successor, 0) | self._bits.get(self._objects.get(successor, ""), 0)
            reach[node] = bits
            stack.pop()
        return reach[start]
