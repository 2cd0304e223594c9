"""Implements the graph verbs: dependencies and dependents of a vertex, paths between two vertices, and the vertices
that a change affects. If rules derived the verbs, the relations would have quadratic size, while the answer to one
query has linear size. Therefore the verbs are searches over derived edges. Their docstrings define them by rules, with
which tests compare them on small graphs."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from heapq import heapify, heappop, heappush
from typing import Any

from planner.foundation.vocabulary.diagnostic import Diagnostic, Failure, error, warning
from planner.language.syntax.node_sets import Combination, NodeSet, SetCall, SetName
from planner.logic.datalog.engine.native import closure
from planner.logic.graph.build import Names, substitution_note

Adjacency = dict[str, list[str]]


class Waiting:
    """The edges of a graph in both directions. For each edge(a, b), `dependencies[a]` contains b, and `dependents[b]`
    contains a."""

    __slots__ = ("_dependencies", "_dependents", "edges", "nodes")

    def __init__(self, nodes: Iterable[str], edges: Collection[tuple[str, str]]) -> None:
        self.nodes, self.edges = frozenset(nodes), edges
        self._dependencies: Adjacency | None = None
        self._dependents: Adjacency | None = None

    @classmethod
    def of(cls, database: Mapping[str, Collection[Any]]) -> Waiting:
        return cls((row[0] for row in database["vertex"]), database["edge"])

    @property
    def dependencies(self) -> Adjacency:
        if self._dependencies is None:
            self._dependencies = {}
            for dependent, dependency in self.edges:
                self._dependencies.setdefault(dependent, []).append(dependency)
        return self._dependencies

    @property
    def dependents(self) -> Adjacency:
        if self._dependents is None:
            self._dependents = {}
            for dependent, dependency in self.edges:
                self._dependents.setdefault(dependency, []).append(dependent)
        return self._dependents


def distances(adjacency: Adjacency, starts: Iterable[str], most: int | None = None) -> dict[str, int]:
    """{vertex: length of the shortest path from `starts`} for the vertices that can be reached by paths of at most
    `most` edges (None: any length).

    reached(A) :- start(A).
    reached(B) :- reached(A), edge(A, B)."""
    result = dict.fromkeys(starts, 0)
    layer, depth = list(result), 0
    while layer and depth != most:
        depth += 1
        following = []
        for node in layer:
            for other in adjacency.get(node, ()):
                if other not in result:
                    result[other] = depth
                    following.append(other)
        layer = following
    return result


def deps(waiting: Waiting, starts: Iterable[str], most: int | None = None) -> set[str]:
    """The start vertices and all vertices for which they wait, by paths of at most `most` edges (None: any length).

    deps(A) :- start(A).
    deps(B) :- deps(A), edge(A, B)."""
    return set(distances(waiting.dependencies, starts, most))


def rdeps(waiting: Waiting, starts: Iterable[str], most: int | None = None) -> set[str]:
    """The start vertices and all vertices that wait for them, by paths of at most `most` edges (None: any length).

    rdeps(B) :- start(B).
    rdeps(A) :- rdeps(B), edge(A, B)."""
    return set(distances(waiting.dependents, starts, most))


def blast(waiting: Waiting, starts: Iterable[str]) -> dict[str, int]:
    """{vertex: length of the shortest path} for the vertices that a change of `starts` affects (`rdeps` with
    depths)."""
    return distances(waiting.dependents, starts)


def between(waiting: Waiting, starts: Iterable[str], ends: Iterable[str]) -> set[str]:
    """The vertices on paths from `starts` to `ends`.

    between(N) :- deps(N), rdeps(N)."""
    return deps(waiting, starts) & rdeps(waiting, ends)


def shortest_path(waiting: Waiting, starts: Iterable[str], ends: Iterable[str]) -> list[str]:
    """The vertices of a shortest path from one of `starts` to one of `ends`. If there are several shortest paths, it is
    the first in the order of names. [] if there is no path."""
    return next(paths(waiting, starts, ends), [])


def paths(waiting: Waiting, starts: Iterable[str], ends: Iterable[str]) -> Iterator[list[str]]:
    """The paths without repeated vertices from one of `starts` to one of `ends`, sorted by length, then by names. They
    are found by an A* search, with the length of a path and the remaining distance to `ends`. The remaining distance is
    exact, so in an acyclic graph the search makes no unnecessary steps."""
    goals = set(ends)
    left = distances(waiting.dependents, goals)
    dependencies = waiting.dependencies
    queue: list[tuple[int, list[str], bool]] = [(left[n], [n], False) for n in set(starts) if n in left]
    heapify(queue)
    while queue:
        _length, path, is_whole = heappop(queue)
        if is_whole:
            yield path
            continue
        last = path[-1]
        if last in goals:
            heappush(queue, (len(path) - 1, path, True))
        for node in dependencies.get(last, ()):
            if node in left and node not in path:
                heappush(queue, (len(path) + left[node], [*path, node], False))


def count_paths(waiting: Waiting, starts: Iterable[str], ends: Iterable[str]) -> int | None:
    """The number of paths from `starts` to `ends`; None if there is a cycle among the vertices on these paths."""
    starts, goals = set(starts), set(ends)
    inside = between(waiting, starts, goals)
    below = {n: sum(d in inside for d in waiting.dependencies.get(n, ())) for n in inside}
    ready = [n for n, number in below.items() if not number]
    counts: dict[str, int] = {}
    while ready:
        node = ready.pop()
        counts[node] = (node in goals) + sum(counts.get(d, 0) for d in waiting.dependencies.get(node, ()))
        for dependent in waiting.dependents.get(node, ()):
            if dependent in below:
                below[dependent] -= 1
                if not below[dependent]:
                    ready.append(dependent)
    return sum(counts[n] for n in starts & inside) if len(counts) == len(inside) else None


def waits_for(waiting: Waiting, ends: Iterable[tuple[str | None, str | None]]) -> set[tuple[str, str]]:
    """(dependent, dependency) for each pair of vertices that are connected by one or more edges and match one of the
    pairs in `ends`, in which None means any vertex.

    waits_for(A, B) :- edge(A, B).
    waits_for(A, C) :- edge(A, B), waits_for(B, C).
    """
    result: set[tuple[str, str]] = set()
    for dependent, dependency in set(ends):
        if dependency is not None:
            reached = distances(waiting.dependents, waiting.dependents.get(dependency, ()))
            result.update((node, dependency) for node in reached if dependent in (None, node))
        elif dependent is not None:
            reached = distances(waiting.dependencies, waiting.dependencies.get(dependent, ()))
            result.update((dependent, node) for node in reached)
        else:
            return set(closure(waiting.edges, {}))
    return result


# ---------------------------------------------------------------- sets


class SetEvaluation:
    """Evaluates set expressions over one graph. `problems`: warnings about names without a match."""

    def __init__(self, waiting: Waiting, names: Names) -> None:
        self.waiting, self.names = waiting, names
        self.problems: list[Diagnostic] = []

    def of(self, wanted: NodeSet) -> set[str]:
        """The vertices in the value of an expression. Raises Failure for an unknown name."""
        if isinstance(wanted, SetName):
            return self.named(wanted)
        if isinstance(wanted, SetCall):
            return self.called(wanted)
        return self.combined(wanted)

    def combined(self, wanted: Combination) -> set[str]:
        result = set(self.of(wanted.first))
        for operator, other in wanted.others:
            if operator == "+":
                result |= self.of(other)
            elif operator == "&":
                result &= self.of(other)
            else:
                result -= self.of(other)
        return result

    def called(self, wanted: SetCall) -> set[str]:
        sets = [self.of(argument) for argument in wanted.arguments]
        if wanted.verb == "deps":
            return deps(self.waiting, sets[0], wanted.depth)
        if wanted.verb in ("rdeps", "blast"):
            return rdeps(self.waiting, sets[0], wanted.depth)
        if wanted.verb == "somepath":
            return set(shortest_path(self.waiting, *sets))
        return between(self.waiting, *sets)

    def named(self, wanted: SetName) -> set[str]:
        meant = self.names.meant.get(wanted.text)
        if meant is not None:
            return {meant}
        whole = self.names.stand_in(wanted.text)
        if whole is not None:
            detail = substitution_note(wanted.text, whole)
            self.problems.append(
                warning("query.stands_for", "Answer about all instances together", detail, wanted.span)
            )
            return {whole}
        pattern = glob(wanted.text)
        if pattern is None:
            detail = f'{self.names.unknown(wanted.text)} "planner graph -json" lists all of them.'
            raise Failure(error("graph.unknown_node", "No such vertex", detail, wanted.span))
        result = {node for text, node in self.names.texts if pattern.fullmatch(text)}
        if not result:
            detail = f"No vertex of the graph matches {wanted.text}: this set is empty."
            self.problems.append(warning("query.no_match", "Nothing matches", detail, wanted.span))
        return result


_GLOB = re.compile(r'(\[(?:"(?:[^"\\]|\\.)*"|[^\]"])*\])|(\*+)|(\?)')


def glob(text: str) -> re.Pattern[str] | None:
    """The regular expression for a pattern with * or ? outside brackets; None for any other text."""
    parts, at, has_wildcard = [], 0, False
    for match in _GLOB.finditer(text):
        parts.append(re.escape(text[at : match.start()]))
        if match[1]:
            parts.append(re.escape(match[1]))
        else:
            parts.append(".*" if match[2] else ".")
            has_wildcard = True
        at = match.end()
    parts.append(re.escape(text[at:]))
    return re.compile("".join(parts), re.DOTALL) if has_wildcard else None
