"""Native operators: relations that rules could state but not compute fast enough. A program asks for one by
`.native reduced_edge(dependent: node, dependency: node) = reduction(edge)`.

Each operator takes whole relations and gives a relation. What each means is written as rules in its docstring; the
tests evaluate those on small graphs and compare.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from planner.datalog.values import Row, sorted_rows

Relation = set[Row]


Shared = dict[int, "Condensed"]
"""what operators worked out of a relation (by its identity), for others that take the same one in one evaluation"""


class Operator(NamedTuple):
    """`inputs` are the arities of the relations it takes, `columns` the arity of its result. The function takes the
    relations and what operators share."""

    inputs: tuple[int, ...]
    columns: int
    function: Callable[..., Relation]


Condensed = tuple[dict[Any, int], list[list[Any]], list[set[int]]]


def _condensed(edges: Relation, shared: Shared) -> Condensed:
    """The acyclic graph of the components: component of each node, members of each, successors of each. Components are
    numbered so that successors have smaller numbers."""
    known = shared.get(id(edges))
    if known is not None:
        return known
    from planner.datalog.strata import numbered_components

    numbers: dict[Any, int] = {}
    graph: list[list[int]] = []
    for a, b in edges:
        i = numbers.get(a)
        if i is None:
            i = numbers[a] = len(graph)
            graph.append([])
        j = numbers.get(b)
        if j is None:
            j = numbers[b] = len(graph)
            graph.append([])
        graph[i].append(j)
    nodes = list(numbers)
    numbered = numbered_components(graph)
    component_of = [0] * len(graph)
    for number, group in enumerate(numbered):
        for i in group:
            component_of[i] = number
    successors: list[set[int]] = []
    for number, group in enumerate(numbered):
        found = {component_of[j] for i in group for j in graph[i]}
        found.discard(number)
        successors.append(found)
    members = [[nodes[i] for i in group] for group in numbered]
    component = dict(zip(nodes, component_of, strict=True))
    shared[id(edges)] = component, members, successors
    return component, members, successors


def reduction(edges: Relation, shared: Shared) -> Relation:
    """The edges that no longer path implies, and every edge within a cycle.

        implied(A, C) :- edge(A, B), path(B, C), edge(A, C), not path(B, A), not path(C, B).
        reduced(A, B) :- edge(A, B), not implied(A, B).

    On an acyclic graph this is the transitive reduction (Aho, Garey, Ullman 1972). Reach is kept as integer bitsets: an
    edge is implied when a successor taken before, in topological order, reaches its end. A bitset is let go when the
    last predecessor has read it, so that as many are alive as the graph is wide."""
    component, _members, successors = _condensed(edges, shared)
    readers = [0] * len(successors)
    for targets in successors:
        for target in targets:
            readers[target] += 1
    reach: list[int] = []
    kept: list[set[int]] = []
    for targets in successors:
        seen, direct, highest = 0, set(), set[int]()
        for target in sorted(targets, reverse=True):
            # most implied edges are implied by two steps, which costs less to see than a bit
            if target not in highest and not seen >> target & 1:
                direct.add(target)
                seen |= reach[target]
                highest = highest or successors[target]
            readers[target] -= 1
            if not readers[target]:
                reach[target] = 0
        reach.append(seen | 1 << len(reach))  # each reaches itself
        kept.append(direct)
    return {(a, b) for a, b in edges if (x := component[a]) == (y := component[b]) or y in kept[x]}


def closure(edges: Relation, shared: Shared) -> Relation:
    """The pairs joined by a path of one or more edges.

    path(A, B) :- edge(A, B).
    path(A, C) :- edge(A, B), path(B, C)."""
    component, members, successors = _condensed(edges, shared)
    loops = {component[a] for a, b in edges if a == b}
    reach: list[set[Any]] = []
    pairs: Relation = set()
    for number, targets in enumerate(successors):
        found: set[Any] = set()
        for target in targets:
            found.update(members[target])
            found |= reach[target]
        if len(members[number]) > 1 or number in loops:
            found.update(members[number])
        reach.append(found)
        pairs.update((a, b) for a in members[number] for b in found)
    return pairs


def reachable(edges: Relation, starts: Relation, _shared: Shared) -> Relation:
    """The starting nodes and every node that a path leads to from one of them.

    reachable(A) :- start(A).
    reachable(B) :- reachable(A), edge(A, B)."""
    graph: dict[Any, list[Any]] = {}
    for a, b in edges:
        graph.setdefault(a, []).append(b)
    stack = [a for (a,) in starts]
    found = set(stack)
    while stack:
        for b in graph.get(stack.pop(), ()):
            if b not in found:
                found.add(b)
                stack.append(b)
    return {(a,) for a in found}


def levels(edges: Relation, shared: Shared) -> Relation:
    """Each node with the number of edges on the longest path that begins there; nodes of a cycle count as one.

    On an acyclic graph: level(A, 0) where A has no edge, else one more than the highest level that A has an edge to."""
    component, _members, successors = _condensed(edges, shared)
    level: list[int] = []
    for targets in successors:
        level.append(1 + max((level[t] for t in targets), default=-1))
    return {(node, level[number]) for node, number in component.items()}


def scc(edges: Relation, shared: Shared) -> Relation:
    """Each node of a cycle with the representative of its strongly connected component: the smallest member.

    together(A, B) :- path(A, B), path(B, A).
    scc(A, R) :- together(A, A), R = min B : { together(A, B) }."""
    _component, members, _successors = _condensed(edges, shared)
    loops = {a for a, b in edges if a == b}
    found: Relation = set()
    for nodes in members:
        if len(nodes) > 1 or nodes[0] in loops:
            ((representative,), *_rest) = sorted_rows((n,) for n in nodes)
            found.update((node, representative) for node in nodes)
    return found


OPERATORS: dict[str, Operator] = {
    "closure": Operator((2,), 2, closure),
    "levels": Operator((2,), 2, levels),
    "reachable": Operator((2, 1), 1, reachable),
    "reduction": Operator((2,), 2, reduction),
    "scc": Operator((2,), 2, scc),
}
