"""What to take away so that a graph has no cycles any more: a smallest set of references that people wrote.

This is the minimum feedback edge set, where edges that stand on the same statement go together and only edges that
somebody owns (rules/graph/cut.dl) may go. Small knots are solved exactly, by a search that branches over the owned
statements of one short cycle after the other and deepens by one statement at a time; large ones greedily.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Collection, Mapping
from typing import TypeAlias

from planner.foundation.vocabulary.records import field, frozen
from planner.logic.datalog.engine.evaluate import evaluate
from planner.logic.model.graph import Graph

MOST_STEPS = 20_000
"""steps of the exact search before it gives up"""
LARGE = 400
"""vertices of a knot from which on any cycle will do where a shortest one is not needed"""

Edge: TypeAlias = tuple[str, str]
Statement: TypeAlias = tuple[str, tuple[str, ...]]
"""an object, and the targets that it mentions: what is taken away together"""
Edges: TypeAlias = Mapping[str, Collection[str]]


@frozen
class Cut:
    """`statements` to take away, sorted; `is_exact`: no smaller set would do. `stuck` is a cycle on which nothing is
    owned: then there is no set at all, and the statements are empty."""

    statements: tuple[Statement, ...] = ()
    is_exact: bool = True
    stuck: tuple[str, ...] = ()


@frozen(eq=False)
class Owned:
    """The owned edges of a graph: the statement of each, and where each statement mentions what: (object, target,
    path)."""

    statements: dict[Edge, Statement] = field(factory=dict)
    mentions: dict[Statement, tuple[tuple[str, str, str], ...]] = field(factory=dict)


def owned_edges(graph: Graph) -> Owned:
    """What the rules say about the edges of the graph's cycles."""
    rows = sorted(evaluate(graph.program, graph.database.facts, ["owned_edge"])["owned_edge"])
    targets: dict[Edge, tuple[str, set[str]]] = {}
    places: dict[str, list[tuple[str, str, str]]] = {}
    for dependent, dependency, object, target, path in rows:
        targets.setdefault((dependent, dependency), (object, set()))[1].add(target)
        places.setdefault(object, []).append((object, target, path))
    statements = {edge: (object, tuple(sorted(found))) for edge, (object, found) in targets.items()}
    mentions = {
        s: tuple(sorted({place for place in places[s[0]] if place[1] in s[1]})) for s in set(statements.values())
    }
    return Owned(statements, mentions)


def smallest_cut(edges: Edges, knot: Collection[str], owned: Mapping[Edge, Statement]) -> Cut:
    """What to take away from a knot: vertices that wait for each other. `edges[a]` is what a waits for."""
    # decided in Python: a smallest set of references to remove from cycles -- a search among all sets
    inside = set(knot)
    within = {a: sorted(b for b in edges[a] if b in inside) for a in sorted(inside)}
    stuck = shortest_cycle({a: [b for b in bs if (a, b) not in owned] for a, bs in within.items()})
    if stuck:
        return Cut(stuck=tuple(stuck))
    search = _CycleSearch(within, owned)
    found = search.exact()
    return Cut(tuple(sorted(found)), True) if found is not None else Cut(tuple(sorted(search.greedy())), False)


def shortest_cycle(edges: Edges) -> list[str]:
    """A cycle with the fewest vertices, beginning at its first name; empty when there is none."""
    best: list[str] = []
    for start in sorted(edges):
        path = _way_back(edges, start, len(best) - 1 if best else len(edges))
        if path:
            best = path
        if len(best) in (1, 2):
            break
    at = best.index(min(best)) if best else 0
    return best[at:] + best[:at]


def _way_back(edges: Edges, start: str, limit: int) -> list[str]:
    """A shortest way from a vertex to itself over at most `limit` vertices."""
    before: dict[str, str] = {}
    waiting = deque([(start, 1)])
    while waiting:
        node, length = waiting.popleft()
        if length > limit:
            return []
        for successor in edges[node]:
            if successor == start:
                path = [node]
                while path[-1] != start:
                    path.append(before[path[-1]])
                return path[::-1]
            if successor not in before and successor in edges:
                before[successor] = node
                waiting.append((successor, length + 1))
    return []


class _CycleSearch:
    def __init__(self, edges: dict[str, list[str]], owned: Mapping[Edge, Statement]) -> None:
        self.edges, self.owned = edges, owned
        self.steps = 0

    def cycle(self, removed: Collection[Statement]) -> list[str]:
        """A short cycle that is left when statements are gone."""
        left = {a: [b for b in bs if self.owned.get((a, b)) not in removed] for a, bs in self.edges.items()}
        left = _core(left)
        if len(left) <= LARGE:
            return shortest_cycle(left)
        return next((path for path in (_way_back(left, start, len(left)) for start in sorted(left)) if path), [])

    def statements(self, cycle: list[str]) -> list[Statement]:
        pairs = zip(cycle, cycle[1:] + cycle[:1], strict=True)
        return sorted({self.owned[pair] for pair in pairs if pair in self.owned})

    def exact(self) -> set[Statement] | None:
        """A smallest set; None when the search takes too long."""
        size = len(self._apart())
        while True:
            found = self._within(size, frozenset(), frozenset())
            if found is not None or self.steps > MOST_STEPS:
                return found
            size += 1

    def _apart(self) -> list[Statement]:
        """One statement for each of some cycles that share none: a lower bound of the size."""
        removed: set[Statement] = set()
        first = []
        while cycle := self.cycle(removed):
            here = self.statements(cycle)
            first.append(here[0])
            removed |= set(here)
        return first

    def _within(self, size: int, removed: frozenset[Statement], kept: frozenset[Statement]) -> set[Statement] | None:
        self.steps += len(self.edges) // 10 + 1
        if self.steps > MOST_STEPS:
            return None
        cycle = self.cycle(removed)
        if not cycle:
            return set(removed)
        if len(removed) == size:
            return None
        for statement in self.statements(cycle):
            if statement in kept:
                continue
            found = self._within(size, removed | {statement}, kept)
            if found is not None:
                return found
            kept |= {statement}  # every set with it has been tried
        return None

    def greedy(self) -> set[Statement]:
        """A set without superfluous statements: from each cycle the statement with the most traffic around it."""
        waited_for: dict[str, int] = {}
        for targets in self.edges.values():
            for target in targets:
                waited_for[target] = waited_for.get(target, 0) + 1
        traffic: dict[Statement, int] = {}
        for (a, b), statement in self.owned.items():
            if a in self.edges and b in self.edges:
                traffic[statement] = traffic.get(statement, 0) + waited_for.get(a, 0) * len(self.edges[b])
        removed: set[Statement] = set()
        while cycle := self.cycle(removed):
            removed.add(max(self.statements(cycle), key=lambda s: (traffic[s], s)))
        for statement in sorted(removed):
            if not self.cycle(removed - {statement}):
                removed.discard(statement)
        return removed


def _core(edges: dict[str, list[str]]) -> dict[str, list[str]]:
    """What is left when vertices that wait for nothing are taken away, one after the other."""
    dependents: dict[str, list[str]] = {}
    count = {a: len(bs) for a, bs in edges.items()}
    for a, bs in edges.items():
        for b in bs:
            dependents.setdefault(b, []).append(a)
    gone = [a for a, n in count.items() if n == 0]
    done = set(gone)
    while gone:
        for a in dependents.get(gone.pop(), ()):
            count[a] -= 1
            if count[a] == 0 and a not in done:
                done.add(a)
                gone.append(a)
    return {a: [b for b in bs if b not in done] for a, bs in edges.items() if a not in done}
