"""Native operators: Python functions that compute relations which rules would compute too slowly. A program declares
such a relation with, for example, `.native reduced_edge(dependent: node, dependency: node) = reduction(edge)`.

The arguments of an operator are complete relations, and its result is a relation. The docstring of an operator defines
its result by rules. Tests compare the operator with these rules on small graphs."""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable, Iterator
from typing import Any

from planner.logic.datalog.engine.components import Behind, Relation, Shared, condense
from planner.logic.datalog.language.values import Row, sorted_rows

# Operators that parse JSON strings.


def json_values(texts: Iterable[Row], shared: Any) -> list[Row]:
    """json_values(texts)(a, b, inner, value): for each row (a, b, text) whose text is a JSON object or array, the
    strings, numbers and bools in it, each with its path `inner` (`Statement[0].Effect`). Null has no row. If a name
    occurs several times in an object, all values of the name are included, because JSON readers differ in which of the
    values they use."""
    from planner.logic.datalog.language.documents import json_rows

    return [(*key, *row) for key, text in _objects(texts) for row in json_rows(text) or ()]


def json_parts(texts: Iterable[Row], shared: Any) -> list[Row]:
    """json_parts(texts)(a, b, inner, key, part): like json_values, for the elements of the object or array at `inner`,
    which is "" for the whole document."""
    from planner.logic.datalog.language.documents import json_elements

    return [(*key, *row) for key, text in _objects(texts) for row in json_elements(text) or ()]


_OPEN = ("{", "[")


def _objects(texts: Iterable[Row]) -> Iterator[tuple[Row, str]]:
    for row in texts:
        text = row[-1]
        if type(text) is str and (text[:1] in _OPEN or (text[:1].isspace() and text.lstrip()[:1] in _OPEN)):
            yield row[:-1], text


def reduction(edges: Relation, shared: Shared) -> Relation:
    """The edges that are not implied by a path of two or more edges. All edges within a cycle are kept.

        implied(A, C) :- edge(A, B), path(B, C), edge(A, C), not path(B, A), not path(C, B).
        reduced(A, B) :- edge(A, B), not implied(A, B).

    On an acyclic graph, the result is the transitive reduction (Aho, Garey, Ullman 1972)."""
    components = condense(edges, shared)
    successors = components.successors
    highest = [
        targets[0] if targets else -1 for targets in successors
    ]  # no successor with a higher number can lead to this node
    kept: dict[int, list[int]] = {}  # kept successors of each node, without the highest one
    doubtful = _without_two_steps(successors)
    hubs = _large_nodes(doubtful) if len(doubtful) > _BLOCK else []
    readers: dict[int, int] = {}
    for node, targets in enumerate(doubtful):
        if len(targets) > 1 and node not in hubs:
            for target in targets[1:]:
                readers[target // _BLOCK] = node
    for low in range(0, len(successors), _BLOCK):
        if low // _BLOCK in readers:
            _keep_within(low, low + _BLOCK, readers[low // _BLOCK], doubtful, kept)
    for hub in hubs:
        kept[hub] = _direct_successors(hub, successors)
    direct = {node: set(targets) if len(targets) > _FEW else targets for node, targets in kept.items()}
    return [
        row
        for row, a, b in zip(edges, *components.ends, strict=True)
        if b == highest[a] or a == b or (a in direct and b in direct[a])
    ]


_BLOCK = 16384  # nodes per bitset, so that the bitsets of a large graph fit into the processor's cache
_FEW = 8  # up to this number of elements, searching a list is faster than building a set
_MANY, _MOST_HUBS = 1000, 8
"""a node with more than `_MANY` undecided edges is a hub; there are at most `_MOST_HUBS` hubs, because each requires a
search of the graph"""


def _without_two_steps(successors: list[list[int]]) -> list[list[int]]:
    """The successors of each node, except those that are also successors of its highest successor. This removes most
    implied edges."""
    doubtful: list[list[int]] = []
    large: dict[int, set[int]] = {}
    for targets in successors:
        if len(targets) > 1:
            first = targets[0]
            below: Container[int] = successors[first]
            if len(successors[first]) > _FEW:
                below = large.get(first) or large.setdefault(first, set(successors[first]))
            targets = [target for target in targets if target not in below]
        doubtful.append(targets)
    return doubtful


def _large_nodes(doubtful: list[list[int]]) -> list[int]:
    """The nodes with more than _MANY undecided edges, such as the root. They are treated separately, because otherwise
    every block of nodes would have to be processed completely."""
    many = [node for node, targets in enumerate(doubtful) if len(targets) > _MANY]
    return sorted(many, key=lambda node: -len(doubtful[node]))[:_MOST_HUBS]


def _direct_successors(node: int, successors: list[list[int]]) -> list[int]:
    """The successors of a node that cannot be reached through another node."""
    implied, met = bytearray(node), bytearray(node)
    stack = list(successors[node])
    for target in stack:
        met[target] = 1
    while stack:
        for target in successors[stack.pop()]:
            implied[target] = 1
            if not met[target]:
                met[target] = 1
                stack.append(target)
    return [target for target in successors[node] if not implied[target]]


def _keep_within(low: int, high: int, last: int, doubtful: list[list[int]], kept: dict[int, list[int]]) -> None:
    """Decide which edges to the nodes from `low` to below `high` are kept, and add them to `kept`. `last`: the highest
    node at which such an edge begins. Integers, as bitsets of these nodes, represent the nodes that can be reached. The
    successors of a node are visited from the highest number down. An edge is implied if its end can be reached from a
    successor that was visited before."""
    reach: list[int] = []
    for node in range(low, last + 1):
        targets = doubtful[node]
        seen = reach[targets[0] - low] if targets and targets[0] >= low else 0
        for target in targets[1:]:
            if target < low:
                break
            if target < high:
                if seen >> target - low & 1:
                    continue
                kept.setdefault(node, []).append(target)
            seen |= reach[target - low]
        reach.append(seen | 1 << node - low if node < high else seen)  # each node reaches itself


def closure(edges: Relation, shared: Shared) -> Relation:
    """The pairs of nodes that are connected by a path of one or more edges.

    path(A, B) :- edge(A, B).
    path(A, C) :- edge(A, B), path(B, C)."""
    components = condense(edges, shared)
    component, members, successors = components.component, components.members, components.successors
    loops = {component[a] for a, b in edges if a == b}
    reach: list[set[Any]] = []
    pairs: set[Row] = set()
    for number, targets in enumerate(successors):
        behind: set[Any] = set()
        for target in targets:
            behind.update(members[target])
            behind |= reach[target]
        if len(members[number]) > 1 or number in loops:
            behind.update(members[number])
        reach.append(behind)
        pairs.update((a, b) for a in members[number] for b in behind)
    return pairs


def reachable(edges: Relation, starts: Relation, _shared: Shared) -> Relation:
    """The nodes in `starts`, and all nodes that can be reached from them.

    reachable(A) :- start(A).
    reachable(B) :- reachable(A), edge(A, B)."""
    graph: dict[Any, list[Any]] = {}
    for a, b in edges:
        graph.setdefault(a, []).append(b)
    stack = [a for (a,) in starts]
    visited = set(stack)
    while stack:
        for b in graph.get(stack.pop(), ()):
            if b not in visited:
                visited.add(b)
                stack.append(b)
    return {(a,) for a in visited}


def reachable_labels(edges: Relation, labels: Relation, _shared: Shared) -> Relation:
    """For each node, the labels of the nodes that it reaches over one or more edges, except its own labels.

    reachable_labels(A, L) :- path(A, B), label(B, L), not label(A, L)."""
    return Behind(edges, labels)


def labels_behind(edges: Relation, labels: Relation, starts: Relation, _shared: Shared) -> Relation:
    """The rows of `reachable_labels` for the nodes in `starts`.

    labels_behind(A, L) :- start(A), path(A, B), label(B, L), not label(A, L)."""
    if not starts:
        return []
    nodes = reachable(edges, starts, _shared)
    below = Behind([edge for edge in edges if edge[:1] in nodes], [row for row in labels if row[:1] in nodes])
    return {(start, label) for (start,) in starts for label in below.labels(start)}


def levels(edges: Relation, shared: Shared) -> Relation:
    """Each node with the number of edges on the longest path that begins at the node. All nodes of a cycle are treated
    as one node.

    On an acyclic graph: level(A, 0) if no edge starts at A; otherwise the level of A is one more than the highest level
    of its dependencies."""
    components = condense(edges, shared)
    component, successors = components.component, components.successors
    level: list[int] = []
    for targets in successors:
        level.append(1 + max((level[t] for t in targets), default=-1))
    return {(node, level[number]) for node, number in component.items()}


def scc(edges: Relation, shared: Shared) -> Relation:
    """Each node of a cycle with the representative of its strongly connected component: the smallest node in it.

    together(A, B) :- path(A, B), path(B, A).
    scc(A, R) :- together(A, A), R = min B : { together(A, B) }."""
    components = condense(edges, shared)
    loops = {a for a, b in edges if a == b}
    pairs: set[Row] = set()
    for group in components.groups:
        if len(group) > 1 or (loops and components.nodes[group[0]] in loops):
            members = [components.nodes[i] for i in group]
            ((representative,), *_rest) = sorted_rows((n,) for n in members)
            pairs.update((node, representative) for node in members)
    return pairs


def closing(edges: Relation, wished: Relation, _shared: Shared) -> Relation:
    """The desired edges (`wished`) that would close a cycle. The desired edges are tried in sorted order. Each is tried
    together with all edges and with the earlier desired edges that did not close a cycle.

    closing(A, B) :- wished(A, B), path(B, A), where path uses edges and those rows of `wished` that come before (A, B)
    and are not closing. No stratified program can express this; the tests add one row at a time.
    """
    if not wished:
        return []
    both = list(dict.fromkeys([*edges, *wished]))
    components = condense(both, {})
    component = components.component
    inside: dict[Any, list[Any]] = {}  # edges within components; only these can be part of a cycle
    for a, b in edges:
        if component[a] == component[b]:
            inside.setdefault(a, []).append(b)
    kept = []
    for a, b in sorted_rows(wished):
        if a == b or (component[a] == component[b] and _has_path(inside, b, a)):
            kept.append((a, b))
        elif component[a] == component[b]:
            inside.setdefault(a, []).append(b)
    return kept


def _has_path(graph: dict[Any, list[Any]], start: Any, end: Any) -> bool:
    stack, met = [start], {start}
    while stack:
        for node in graph.get(stack.pop(), ()):
            if node == end:
                return True
            if node not in met:
                met.add(node)
                stack.append(node)
    return False


OPERATORS: dict[str, Callable[..., Relation]] = {
    "labels_behind": labels_behind,
    "reachable_labels": reachable_labels,
    "closing": closing,
    "closure": closure,
    "json_parts": json_parts,
    "json_values": json_values,
    "levels": levels,
    "reachable": reachable,
    "reduction": reduction,
    "scc": scc,
}
"""{name: operator}; planner.logic.datalog.language.link declares the numbers of their inputs. The arguments of an
operator are its input relations and the shared data. If the result is a mapping, it creates its rows when they are
read"""
