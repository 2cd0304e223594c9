"""Explains in a few sentences why a vertex does not wait for another vertex. The sentences name what comes closest to
the missing edge: paths through other vertices, opposite or dropped orders, omitted vertices, and existing mentions.
planner.logic.graph.why.why_not returns the reasons of all rules."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import pairwise
from typing import Any

from planner.foundation.vocabulary.records import field, frozen
from planner.logic.datalog.explain.render import reason_text
from planner.logic.datalog.explain.search import Proof, Prover
from planner.logic.graph.cycles import ORDER, REFERENCES, place
from planner.logic.graph.verbs import Waiting, shortest_path
from planner.logic.model.graph import Graph, source_json

_FEW = 6  # maximum number of listed mentions
_LONG = 6  # maximum number of listed vertices on a path


@frozen
class NearMiss:
    """A remark of one sentence. `kind`: through-others, other-way, given-up, left-out, itself, instance, destroyer,
    mentions or nothing-refers. `lines`: are printed below the sentence. `sources`: positions in the proof format."""

    kind: str
    text: str
    lines: tuple[str, ...] = ()
    sources: tuple[dict[str, Any], ...] = field(factory=tuple)

    @property
    def json(self) -> dict[str, Any]:
        more = {"lines": list(self.lines)} if self.lines else {}
        return {"kind": self.kind, "text": self.text, **more, "sources": list(self.sources)}


def nearest_misses(graph: Graph, dependent: str, dependency: str) -> list[NearMiss]:
    """Remarks about two vertices without an edge between them, the most informative first. The vertices may be vertices
    that were left out of the graph."""
    return list(_MissSearch(graph, dependent, dependency).all())


def left_out(graph: Graph, node: str) -> str:
    """The reason why pruning or the command line left a vertex out of the graph; "" if the vertex is in the graph."""
    return near_miss_text(_MissSearch(graph, node, node).left_out(node))


class _MissSearch:
    def __init__(self, graph: Graph, dependent: str, dependency: str) -> None:
        self.graph, self.a, self.b = graph, dependent, dependency
        self.database = graph.database
        self.waiting = Waiting(graph.nodes, graph.database["edge"])
        self.prover = Prover(graph.program, graph.database)

    def all(self) -> Iterator[NearMiss]:
        if self.a == self.b:
            yield NearMiss("itself", f"Both are the vertex {self.a}, and no vertex waits for itself.")
            return
        gone = [near for node in (self.a, self.b) for near in self.left_out(node)]
        yield from gone
        if gone:
            return
        way = self.way(self.a, self.b)
        if way:
            yield NearMiss("through-others", f"{self.a} waits for {self.b} through other vertices:", _shown_edges(way))
            yield from self.mentions()
            return
        if (self.a, self.b) in self.database["given_up"]:
            yield NearMiss(
                "given-up",
                f"{self.b} should be done before {self.a}, but that order was dropped because it would close a cycle.",
            )
        yield from self.apart()
        yield from self.mentions()
        yield from self.other_way()

    def way(self, start: str, end: str) -> list[str]:
        return shortest_path(self.waiting, [start], [end])

    def left_out(self, node: str) -> Iterator[NearMiss]:
        """A remark that a vertex is not in the graph, with the reason if pruning or the command line left it out. Empty
        if the vertex is in the graph."""
        if node in self.graph.nodes:
            return
        proof = self.prover.why("excluded", (node,)) or self.prover.why("dropped", (node,))
        if proof is None or proof.rule is None:
            yield NearMiss("left-out", f"{node} is not a vertex of this graph.")
            return
        reason = reason_text(proof.rule, proof.assignment)
        given = sorted(
            {f"-{name}={row[0]}" for name in ("target", "exclude") for row in self.database.facts.relation(name)}
        )
        because = f" ({', '.join(given)})" if given else ""
        yield NearMiss("left-out", f"{node} is left out of this graph: {reason}{because}.", (), self.sources(proof))

    def apart(self) -> Iterator[NearMiss]:
        """A remark about a reference that does not result in an edge."""
        if not self.is_mentioned():
            return
        destroyers = {row[0] for row in self.database["destroyer"]}
        if self.b in destroyers:
            text = (
                f"{self.a} refers to {self.b}, but a reference does not make an object wait until another one is "
                "destroyed."
            )
            yield NearMiss("destroyer", text)
            return
        modules = {row[0]: row[2] for row in self.database["module_instance_of"]}
        mine, other = modules.get(self.a), modules.get(self.b)
        if mine is not None and other is not None and mine != other:
            text = f"{self.a} refers to an object in its own module instance, {mine}, not to {self.b}."
            yield NearMiss("instance", text)

    def is_mentioned(self) -> bool:
        """Whether the target of a reference in the dependent is the dependency or its resource, in any module
        instance."""
        targets = {row[1] for row in self.database["mentions"] if row[0] == self.a}
        return any((self.b, target) in self.database["target_node"] for target in targets)

    def mentions(self) -> Iterator[NearMiss]:
        """The references in the dependent. If none of them leads to the dependency, a remark about this comes first."""
        rows = sorted(row for row in self.database["mentions"] if row[0] == self.a)
        if not self.is_mentioned():
            yield NearMiss("nothing-refers", f"Nothing in {self.a} refers to {self.b}.")
        if not rows:
            return
        lines, sources = [], []
        for row in rows[:_FEW]:
            proof = self.prover.why("mentions", row)
            result = next(iter(self.sources(proof)), None) if proof is not None else None
            sources += [result] if result else []
            how = "one of your rules" if row[2] == ORDER else row[2]
            at = place(result)
            lines.append(f"{row[1]} ({how}{f', {at}' if at else ''})")
        if len(rows) > _FEW:
            lines.append(f"and {len(rows) - _FEW} more")
        yield NearMiss("mentions", f"{self.a} refers to:", tuple(lines), tuple(sources))

    def other_way(self) -> Iterator[NearMiss]:
        """A remark that the two vertices are ordered in the opposite direction, if they are."""
        way = self.way(self.b, self.a)
        if len(way) == 2:
            proof = self.prover.why("edge", (self.b, self.a))
            result = self.sources(proof)[:1] if proof else ()
            at = "".join(f" ({place(source)})" for source in result)
            yield NearMiss("other-way", f"{self.b} waits for {self.a}{at}, not the other way round.", (), result)
        elif way:
            yield NearMiss(
                "other-way",
                f"There is a path in the opposite direction: {self.b} waits for {self.a}:",
                _shown_edges(way),
            )

    # -------- places

    def sources(self, proof: Proof) -> tuple[dict[str, Any], ...]:
        table: dict[str, dict[str, Any]] = {}
        for leaf in proof.leaves():
            source = self.database.facts.source(leaf.predicate, leaf.row)
            if source is not None and leaf.predicate in _WRITTEN:
                written = source_json(source)
                table.setdefault(place(written), written)
        return tuple(table.values())


_WRITTEN = (*REFERENCES, "state_depends_on", "target", "exclude")


def _shown_edges(way: list[str]) -> tuple[str, ...]:
    """The edges of a path as text. The middle of a long path is left out."""
    edges = [f"{a} -> {b}" for a, b in pairwise(way)]
    hidden = len(edges) - _LONG
    return tuple(edges) if hidden <= 0 else (*edges[: _LONG - 1], f"... {hidden} more ...", edges[-1])


def near_miss_text(found: Iterable[NearMiss]) -> str:
    lines: list[str] = []
    for near in found:
        lines.append(near.text)
        lines += [f"  {line}" for line in near.lines]
    return "\n".join(lines)
