"""Computes the strata of a program: an order in which its predicates can be derived, or an error that explains why
there is none. The strongly connected components are computed with an iterative form of Tarjan's algorithm (Depth-first
search and linear graph algorithms, 1972)."""

from __future__ import annotations

from collections import deque
from collections.abc import Hashable, Iterable, Mapping
from itertools import chain, pairwise
from typing import TypeVar

from planner.foundation.vocabulary.diagnostic import Diagnostic, error
from planner.foundation.vocabulary.span import Span
from planner.logic.datalog.language.model import Predicate, Rule, Stratum, atoms

N = TypeVar("N", bound=Hashable)


def components(graph: Mapping[N, Iterable[N]]) -> list[list[N]]:
    """The strongly connected components of a graph. A component comes after all components to which its edges lead.
    Apart from this rule, the components are in the order of the mapping."""
    nodes = list(graph)
    number = {node: i for i, node in enumerate(nodes)}
    numbered = numbered_components([[number[other] for other in graph[node]] for node in nodes])
    return [[nodes[i] for i in component] for component in numbered]


def numbered_components(successors: list[list[int]], first: Iterable[int] = ()) -> list[list[int]]:
    """The strongly connected components of a graph of numbers, in which edges lead from n to the nodes `successors[n]`.
    The search begins with the nodes in `first`. If these are the nodes to which no edge leads, connected nodes are near
    each other in the result."""
    index = [0] * len(successors)  # 0: not visited yet
    low = [0] * len(successors)
    stack: list[int] = []
    finished = bytearray(len(successors))
    components: list[list[int]] = []
    met = 0
    for root in chain(first, range(len(successors))):
        if index[root]:
            continue
        met += 1
        index[root] = low[root] = met
        stack.append(root)
        work = [(root, iter(successors[root]))]
        while work:
            node, others = work[-1]
            for other in others:
                if not index[other]:
                    met += 1
                    index[other] = low[other] = met
                    stack.append(other)
                    work.append((other, iter(successors[other])))
                    break
                if not finished[other] and index[other] < low[node]:
                    low[node] = index[other]
            else:
                work.pop()
                if work and low[node] < low[work[-1][0]]:
                    low[work[-1][0]] = low[node]
                if low[node] == index[node]:
                    component: list[int] = []
                    while True:
                        member = stack.pop()
                        finished[member] = 1
                        component.append(member)
                        if member == node:
                            break
                    components.append(component[::-1])
    return components


class PredicateDependency:
    """The reason why a predicate depends on another predicate: how a rule reads that predicate ("positive", "negation",
    "aggregate" or "native"), and where."""

    __slots__ = ("how", "span")

    def __init__(self, how: str, span: Span) -> None:
        self.how, self.span = how, span


def dependencies(predicates: Iterable[Predicate], rules: Iterable[Rule]) -> dict[str, dict[str, PredicateDependency]]:
    """{predicate: {predicate that it reads: reason}}. If a predicate is read in several ways, a way that needs the
    complete relation (negation, aggregate, native) takes precedence over a positive read."""
    graph: dict[str, dict[str, PredicateDependency]] = {}
    for predicate in predicates:
        row = graph.setdefault(predicate.name, {})
        for name in predicate.inputs:
            row[name] = PredicateDependency("native", predicate.span)
    for rule in rules:
        row = graph[rule.head.predicate]
        for atom, how in atoms(rule.body):
            known = row.get(atom.predicate)
            if known is None or (known.how == "positive" and how != "positive"):
                row[atom.predicate] = PredicateDependency(how, Span(rule.span.source, atom.start, atom.end))
    return graph


def stratify(predicates: list[Predicate], rules: list[Rule]) -> tuple[list[Stratum], list[Diagnostic]]:
    """(strata, diagnostics), the lowest stratum first. There is an error if a predicate depends on its own complete
    relation, because then there is no order."""
    graph = dependencies(predicates, rules)
    by_head: dict[str, list[Rule]] = {}
    for rule in rules:
        by_head.setdefault(rule.head.predicate, []).append(rule)
    strata, diagnostics = [], []
    for component in components(graph):
        members = set(component)
        recursive = len(component) > 1 or component[0] in graph[component[0]]
        broken = [(p, q) for p in component for q in graph[p] if q in members and graph[p][q].how != "positive"]
        if broken:
            diagnostics.append(_unstratified_cycle(graph, members, *broken[0]))
        numbers = sorted(rule.number for p in component for rule in by_head.get(p, ()))
        strata.append(Stratum(tuple(component), tuple(numbers), recursive))
    return strata, diagnostics


_WORDS = {"positive": "reads", "negation": "negates", "aggregate": "aggregates", "native": "is computed from all of"}


def _unstratified_cycle(
    graph: dict[str, dict[str, PredicateDependency]], members: set[str], p: str, q: str
) -> Diagnostic:
    """The error about a cycle: p reads all of q, and q depends on p over a shortest path."""
    came_from = {q: q}
    queue = deque([q])
    while queue and p not in came_from:
        node = queue.popleft()
        for successor in sorted(graph[node]):
            if successor in members and successor not in came_from:
                came_from[successor] = node
                queue.append(successor)
    path = [p]
    while path[-1] != q:
        path.append(came_from[path[-1]])
    cycle = [p, *reversed(path)]
    steps = [f"  {a} {_WORDS[graph[a][b].how]} {b} ({graph[a][b].span})" for a, b in pairwise(cycle)]
    detail = (
        f"{p} {_WORDS[graph[p][q].how]} {q}, so {q} has to be complete first, but {q} depends on {p}:\n"
        + "\n".join(steps)
        + "\nNegation, aggregates and native operators may only read predicates that are derived earlier."
    )
    return error("rules.unstratified", "Rules depend on each other", detail, graph[p][q].span)
