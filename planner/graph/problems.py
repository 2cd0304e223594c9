"""What makes a graph impossible to walk: cycles, and provider configurations that are not there."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator

from planner.datalog.explain import Proof, Prover
from planner.graph.model import Graph
from planner.vocabulary.diagnostic import Diagnostic, error
from planner.vocabulary.nearest import did_you_mean
from planner.vocabulary.span import Span


def graph_problems(graph: Graph) -> list[Diagnostic]:
    """All of them, sorted."""
    return [*cycles(graph), *missing_providers(graph), *unknown_orders(graph)]


# ---------------------------------------------------------------- cycles


def cycles(graph: Graph) -> list[Diagnostic]:
    """One error for each knot of vertices that wait for each other: its shortest cycle, every edge with its line."""
    knots: dict[str, set[str]] = {}
    for node, representative in graph.database["in_cycle"]:
        knots.setdefault(representative, set()).add(node)
    prover = Prover(graph.program, graph.database) if knots else None
    found = []
    for representative in sorted(knots):
        assert prover is not None
        cycle = shortest_cycle(graph, knots[representative])
        spans = [edge_span(graph, prover, a, b) for a, b in zip(cycle, cycle[1:] + cycle[:1], strict=True)]
        lines = [
            f"  {a} needs {b}{f' ({span})' if span else ''}"
            for a, b, span in zip(cycle, cycle[1:] + cycle[:1], spans, strict=True)
        ]
        detail = "There is no order in which these could be done:\n" + "\n".join(lines)
        others = len(knots[representative]) - len(cycle)
        if others:
            detail += f"\n{others} more {'depends' if others == 1 else 'depend'} on each other in the same knot."
        found.append(error("graph.cycle", f"Cycle: {', '.join(cycle)}", detail, None))
    return found


def shortest_cycle(graph: Graph, knot: set[str]) -> list[str]:
    """A cycle with the fewest vertices among those that wait for each other, beginning at its first name."""
    best: list[str] = []
    for start in sorted(knot):
        path = _way_back(graph, start, knot, len(best))
        if path and (not best or len(path) < len(best)):
            best = path
        if len(best) <= 2:
            break
    at = best.index(min(best))
    return best[at:] + best[:at]


def _way_back(graph: Graph, start: str, knot: set[str], limit: int) -> list[str]:
    before: dict[str, str] = {}
    waiting = deque([start])
    while waiting:
        node = waiting.popleft()
        for successor in graph.edges[node]:
            if successor == start:
                path = [node]
                while path[-1] != start:
                    path.append(before[path[-1]])
                return path[::-1]
            if successor in knot and successor not in before:
                before[successor] = node
                waiting.append(successor)
    return []


def edge_span(graph: Graph, prover: Prover, dependent: str, dependency: str) -> Span | None:
    """The first piece of configuration that an edge stands on."""
    proof = prover.why("edge", (dependent, dependency))
    return next(spans(graph, proof), None) if proof else None


def spans(graph: Graph, proof: Proof) -> Iterator[Span]:
    """The places in files that the leaves of a proof come from; those of mentions first."""
    leaves, waiting, seen = [], [proof], set()
    while waiting:
        at = waiting.pop()
        if id(at) in seen:
            continue
        seen.add(id(at))
        if at.rule is None:
            source = graph.database.facts.source(at.predicate, at.row)
            if isinstance(source, Span):
                leaves.append((at.predicate != "reference", source))
        waiting += [entry for entry in reversed(at.body) if isinstance(entry, Proof)]
    yield from (span for _, span in sorted(leaves, key=lambda leaf: leaf[0]))


# ---------------------------------------------------------------- providers


def missing_providers(graph: Graph) -> list[Diagnostic]:
    """Objects whose provider configuration is gone."""
    found = []
    for node, configuration in sorted(graph.database["provider_missing"]):
        detail = (
            f"{node} is managed through {configuration}, which the configuration no longer has. Put the provider block "
            "back, apply, and remove it afterwards; or forget the object with a removed block."
        )
        found.append(error("graph.provider_missing", "Provider configuration not present", detail, address=node))
    for (object,) in sorted(graph.database["provider_unresolved"]):
        source = next((s for row, s in _requirements(graph, object)), None)
        detail = f"{object} asks for a provider configuration that neither its module nor any calling module has."
        found.append(error("graph.provider_unresolved", "Provider configuration not present", detail, source))
    return found


def unknown_orders(graph: Graph) -> list[Diagnostic]:
    """Addresses in users' `order_before` that nothing in the configuration has."""
    found = []
    rows = sorted(graph.database["order_unknown"])
    prover = Prover(graph.program, graph.database) if rows else None
    for (address,) in rows:
        assert prover is not None
        known = sorted({row[0] for row in graph.database.facts.relation("resource")})
        hint = did_you_mean(address, known)
        detail = (
            f"order_before takes whole resources and module calls of the configuration. {address} is neither.{hint}"
        )
        ordered = (row for row in sorted(graph.database["order_before"]) if address in row)
        proof = prover.why("order_before", next(ordered))
        span = proof.rule.span if proof is not None and proof.rule is not None else None
        found.append(error("graph.order_unknown", "A rule orders what does not exist", detail, span, address=address))
    return found


def _requirements(graph: Graph, object: str) -> Iterator[tuple[tuple[str, ...], Span]]:
    facts = graph.database.facts
    for row in facts.sorted("requires_provider"):
        source = facts.source("requires_provider", row)
        if row[0] == object and isinstance(source, Span):
            yield row, source
