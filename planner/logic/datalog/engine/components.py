"""Strongly connected components of a relation, and the acyclic graph of the components, which most operators use."""

from __future__ import annotations

from array import array
from collections.abc import Collection, Iterator, Mapping
from itertools import chain
from typing import Any

from planner.logic.datalog.language.values import Row, sorted_rows

Relation = Collection[Row]
Ends = tuple["array[int]", "array[int]"]
Shared = dict[int, "Condensed"]
"""{id of a relation: condensed graph}, shared by the operators of one evaluation"""


class Condensed:
    """The acyclic graph of the strongly connected components of a relation. The successors of a component have smaller
    numbers. `nodes`: the nodes of the relation. `groups`: for each component, the indexes of its nodes. `successors`:
    for each component, the numbers of its successors, the largest first."""

    __slots__ = ("_component_of", "_left", "_right", "groups", "nodes", "successors")

    def __init__(self, nodes: list[Any], groups: list[list[int]], graph: list[list[int]], ends: Ends) -> None:
        self.nodes, self.groups = nodes, groups
        self._left, self._right = ends
        component_of = self._component_of = [0] * len(nodes)
        for number, group in enumerate(groups):
            for i in group:
                component_of[i] = number
        has_cycles = len(groups) < len(nodes)
        self.successors: list[list[int]] = []
        for number, group in enumerate(groups):
            result = graph[group[0]]
            if has_cycles:
                result = list({component_of[j] for i in group for j in graph[i]} - {number})
            else:  # each successor only once; the lists of the graph are used again
                result[:] = [component_of[j] for j in result if j != group[0]]
            if len(result) > 1:
                result.sort(reverse=True)
            self.successors.append(result)

    @property
    def component(self) -> dict[Any, int]:
        return dict(zip(self.nodes, self._component_of, strict=True))

    @property
    def members(self) -> list[list[Any]]:
        return [[self.nodes[i] for i in group] for group in self.groups]

    @property
    def ends(self) -> tuple[Iterator[int], Iterator[int]]:
        """(components of the left ends, components of the right ends) of the rows, in the order of the rows."""
        of = self._component_of.__getitem__
        return map(of, self._left), map(of, self._right)


def condense(edges: Relation, shared: Shared) -> Condensed:
    """The condensed graph of a relation, computed once for each relation."""
    known = shared.get(id(edges))
    if known is not None:
        return known
    return _condense(edges, shared)


def _condense(edges: Relation, shared: Shared) -> Condensed:
    from planner.logic.datalog.language.strata import numbered_components

    ends = list(chain.from_iterable(edges))
    nodes = list(dict.fromkeys(ends))
    numbers = array("i", map(dict(zip(nodes, range(len(nodes)), strict=True)).__getitem__, ends))
    left, right = numbers[::2], numbers[1::2]
    graph: list[list[int]] = [[] for _ in nodes]
    for i, j in zip(left, right, strict=True):
        graph[i].append(j)
    pointed_to = set(right)
    groups = numbered_components(graph, [i for i in range(len(graph)) if i not in pointed_to])
    made = shared[id(edges)] = Condensed(nodes, groups, graph, (left, right))
    return made


# The operator `reachable_labels`: the labels that each node reaches. The result creates its rows when it is read.
#
#     reachable_labels(A, L) :- path(A, B), label(B, L), not label(A, L).
#
# The number of pairs may reach the number of nodes times the number of labels, and most readers need only the labels of
# single nodes. So each node has one integer as a bitset (bit n represents the n-th label). All bitsets are computed on
# first use.


class Behind(Mapping[Row, None]):
    """The rows of `reachable_labels`, as a mapping like other relations. The relations from which it is computed must
    not be changed."""

    __slots__ = ("_bits", "_edges", "_labels", "_places", "names")

    def __init__(self, edges: Collection[Row], labels: Collection[Row]) -> None:
        self._edges, self._labels = edges, labels
        self._bits: dict[Any, int] | None = None
        self.names: list[Any] = [name for (name,) in sorted_rows({(label,) for _, label in labels})]
        """the labels, in the order of the bits"""
        self._places = {name: place for place, name in enumerate(self.names)}

    def bits(self, node: Any) -> int:
        """The labels that a node reaches, as a bitset."""
        if self._bits is None:
            self._bits = self._worked_out()
        return self._bits.get(node, 0)

    def _worked_out(self) -> dict[Any, int]:
        graph = condense(self._edges, {})
        own: dict[Any, int] = {}
        for node, label in self._labels:
            own[node] = own.get(node, 0) | 1 << self._places[label]
        reached: dict[Any, int] = {}
        behind: list[int] = []  # the labels that each component reaches, including its own
        for members, targets in zip(graph.members, graph.successors, strict=True):
            bits = 0
            for target in targets:
                bits |= behind[target]
            inside = 0
            for node in members:
                inside |= own.get(node, 0)
            if len(members) > 1:  # in a cycle, every member reaches all others
                bits |= inside
            for node in members:
                reached[node] = bits & ~own.get(node, 0)
            behind.append(bits | inside)
        return reached

    def _nodes(self) -> dict[Any, int]:
        self.bits(None)
        assert self._bits is not None
        return self._bits

    def __contains__(self, row: object) -> bool:
        if not isinstance(row, tuple) or len(row) != 2:
            return False
        place = self._places.get(row[1])
        return place is not None and bool(self.bits(row[0]) >> place & 1)

    def __getitem__(self, row: Row) -> None:
        if row not in self:
            raise KeyError(row)

    def labels(self, node: Any) -> Iterator[Any]:
        """The labels that a node reaches."""
        bits = self.bits(node)
        while bits:
            lowest = bits & -bits
            yield self.names[lowest.bit_length() - 1]
            bits ^= lowest

    def __iter__(self) -> Iterator[Row]:
        for node in self._nodes():
            for label in self.labels(node):
                yield node, label

    def __len__(self) -> int:
        return sum(bits.bit_count() for bits in self._nodes().values())

    def __bool__(self) -> bool:
        return any(self._nodes().values())
