"""The operator `behind`: which labels lie behind each node, along any path. A relation that makes its rows when read.

    behind(A, L) :- path(A, B), label(B, L), not label(A, L).

There may be as many pairs as nodes times labels, and most readers want those of single nodes: they are kept as one
integer bitset a node (bit n: the n-th label), worked out when somebody asks for the first time.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from typing import Any

from planner.logic.datalog.engine.components import condensed
from planner.logic.datalog.language.values import Row, sorted_rows


class Behind(Mapping[Row, None]):
    """The rows, as a mapping like those of other relations. Nobody changes what it was made from."""

    __slots__ = ("_bits", "_edges", "_labels", "_places", "names")

    def __init__(self, edges: Collection[Row], labels: Collection[Row]) -> None:
        self._edges, self._labels = edges, labels
        self._bits: dict[Any, int] | None = None
        self.names: list[Any] = [name for (name,) in sorted_rows({(label,) for _, label in labels})]
        """the labels; the bits of a node count them"""
        self._places = {name: place for place, name in enumerate(self.names)}

    def bits(self, node: Any) -> int:
        """The labels that lie behind a node."""
        if self._bits is None:
            self._bits = self._worked_out()
        return self._bits.get(node, 0)

    def _worked_out(self) -> dict[Any, int]:
        graph = condensed(self._edges, {})
        own: dict[Any, int] = {}
        for node, label in self._labels:
            own[node] = own.get(node, 0) | 1 << self._places[label]
        reached: dict[Any, int] = {}
        behind: list[int] = []  # of each component, what lies behind it and in it
        for members, targets in zip(graph.members, graph.successors, strict=True):
            bits = 0
            for target in targets:
                bits |= behind[target]
            inside = 0
            for node in members:
                inside |= own.get(node, 0)
            if len(members) > 1:  # a cycle: every member is behind every other
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

    def __iter__(self) -> Iterator[Row]:
        for node, bits in self._nodes().items():
            while bits:
                lowest = bits & -bits
                yield node, self.names[lowest.bit_length() - 1]
                bits ^= lowest

    def __len__(self) -> int:
        return sum(bits.bit_count() for bits in self._nodes().values())

    def __bool__(self) -> bool:
        return any(self._nodes().values())
