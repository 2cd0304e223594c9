"""Cycles that explain themselves: the shortest one of each knot, why each of its edges is there, and what to remove."""

from __future__ import annotations

from typing import Any

from planner.foundation.vocabulary.diagnostic import Diagnostic, error
from planner.foundation.vocabulary.records import frozen
from planner.logic.datalog.explain.proof import is_written
from planner.logic.datalog.explain.render import reason_text
from planner.logic.datalog.explain.search import Proof, Prover
from planner.logic.datalog.language.reasons import has_own_reason
from planner.logic.graph.break_cycles import Cut, Owned, owned_edges, shortest_cycle, smallest_cut
from planner.logic.model.graph import Graph
from planner.logic.model.sources import source_json

REFERENCES = ("reference", "validation_reference", "import_reference", "destroy_reference")
"""predicates whose facts are what people wrote"""
ORDER = "order_before"
"""where a mention comes from that is no text of the configuration, but a rule of the user's"""


@frozen(eq=False)
class CycleEdge:
    """An edge with the rule that made it, its reason, and where that stands (in the proof format; None: nowhere)."""

    dependent: str
    dependency: str
    rule: str
    reason: str
    source: dict[str, Any] | None


@frozen(eq=False)
class EdgeRemoval:
    """What `object` says about `targets`, and where it says so; `rules`: the rules of the user's that do."""

    object: str
    targets: tuple[str, ...]
    paths: tuple[str, ...]
    sources: tuple[dict[str, Any], ...]
    rules: tuple[str, ...] = ()


@frozen(eq=False)
class Knot:
    """Vertices that wait for each other: a shortest cycle, how many vertices there are in all, what to remove."""

    edges: tuple[CycleEdge, ...]
    size: int
    removals: tuple[EdgeRemoval, ...]
    cut: Cut

    @property
    def cycle(self) -> tuple[str, ...]:
        return tuple(edge.dependent for edge in self.edges)


def knots(graph: Graph) -> list[Knot]:
    """All knots of a graph, by the first name of their shortest cycle."""
    members: dict[str, set[str]] = {}
    for node, representative in graph.database["in_cycle"]:
        members.setdefault(representative, set()).add(node)
    if not members:
        return []
    prover = Prover(graph.program, graph.database)
    owned = owned_edges(graph)
    knotted = [_knot(graph, prover, owned, members[name]) for name in sorted(members)]
    return sorted(knotted, key=lambda knot: knot.cycle)


def _knot(graph: Graph, prover: Prover, owned: Owned, members: set[str]) -> Knot:
    within = {a: [b for b in graph.edges[a] if b in members] for a in members}
    cycle = shortest_cycle(within)
    cut = smallest_cut(graph.edges, members, owned.statements)
    edges = tuple(_edge(graph, prover, a, b) for a, b in zip(cycle, cycle[1:] + cycle[:1], strict=True))
    return Knot(edges, len(members), tuple(_removal(graph, prover, owned, s) for s in cut.statements), cut)


def _edge(graph: Graph, prover: Prover, dependent: str, dependency: str) -> CycleEdge:
    proof = prover.why("edge", (dependent, dependency))
    assert proof is not None and proof.rule is not None
    step = decisive(proof)
    assert step.rule is not None
    own = own_rule(step)
    if own is not None and own.rule is not None:
        at = {"file": own.rule.file, "line": own.rule.line}
        is_told = has_own_reason(own.rule, graph.program.predicates)
        said = f": {reason_text(own.rule, own.assignment)}" if is_told else ""
        reason = reason_text(step.rule, step.assignment) + said
        return CycleEdge(dependent, dependency, own.rule.name, reason, at)
    source = next(iter(_sources(graph, proof)), None)
    return CycleEdge(dependent, dependency, step.rule.name, reason_text(step.rule, step.assignment), source)


def own_rule(proof: Proof) -> Proof | None:
    """The step of a rule in a file of the user's that an order stands on."""
    waiting = [proof]
    while waiting:
        at = waiting.pop()
        if at.predicate == ORDER and at.rule is not None:
            return at if is_written(at.rule) else None
        waiting += [x for x in reversed(at.body) if isinstance(x, Proof) and x.predicate in ("ordered", ORDER)]
    return None


def decisive(proof: Proof) -> Proof:
    """The last step that is still about the same things: above it, steps only pass the relation on. Where a rule of
    the user's orders them, that is the mention, and no reference that anybody wrote."""
    while True:
        further = [x for x in proof.body if isinstance(x, Proof) and x.row == proof.row and x.rule is not None]
        if len(further) != 1:
            break
        proof = further[0]
    ordered = (x for x in proof.body if isinstance(x, Proof) and x.predicate == "mentions" and x.row[2] == ORDER)
    return next(ordered, proof)


def _sources(graph: Graph, proof: Proof) -> list[dict[str, Any]]:
    """Where the leaves of a proof stand; those of references first, then what the state says."""
    leaves: list[tuple[int, Any]] = []
    for at in proof.leaves():
        source = graph.database.facts.source(at.predicate, at.row)
        if source is not None and at.predicate != "walk":
            first = 0 if at.predicate in REFERENCES else 1 if at.predicate == "state_depends_on" else 2
            leaves.append((first, source))
    return [source_json(source) for _, source in sorted(leaves, key=lambda leaf: leaf[0])]


def _removal(graph: Graph, prover: Prover, owned: Owned, statement: tuple[str, tuple[str, ...]]) -> EdgeRemoval:
    facts = graph.database.facts
    mentions = owned.mentions[statement]
    spans = [facts.source(name, mention) for mention in mentions for name in REFERENCES]
    sources: list[dict[str, Any]] = []
    for span in spans:
        written = source_json(span) if span is not None else None
        if written is not None and written not in sources:
            sources.append(written)
    object, targets = statement
    rules: dict[str, dict[str, Any]] = {}
    for _, target, path in mentions:
        proof = prover.why("ordered", (target, object)) if path == ORDER else None
        own = own_rule(proof) if proof is not None else None
        if own is not None and own.rule is not None:
            rules[own.rule.name] = {"file": own.rule.file, "line": own.rule.line}
    sources += [at for at in rules.values() if at not in sources]
    return EdgeRemoval(object, targets, tuple(sorted({path for _, _, path in mentions})), tuple(sources), tuple(rules))


# ---------------------------------------------------------------- text


def place(source: dict[str, Any] | None) -> str:
    """`main.tf:3: input = local.b`, or what else a source says."""
    if not source:
        return ""
    if "file" in source:
        snippet = source.get("snippet", "").strip()
        return f"{source['file']}:{source['line']}" + (f": {snippet}" if snippet else "")
    ((kind, value),) = source.items()
    return f"{kind.replace('_', ' ')} {value}"


def removal_text(removal: EdgeRemoval) -> str:
    """What to remove, in one line."""
    where = "; ".join(place(source) for source in removal.sources)
    if removal.paths == (ORDER,):
        named = "; ".join((*removal.rules, where)) or ORDER
        return f"the rule of yours that orders {', '.join(removal.targets)} before {removal.object} ({named})"
    return f"what {removal.object} says about {', '.join(removal.targets)}" + (f" ({where})" if where else "")


def knot_lines(knot: Knot) -> list[str]:
    """The cycle edge by edge, and what breaks it."""
    lines = []
    for edge in knot.edges:
        lines.append(f"  {edge.dependent} needs {edge.dependency}:")
        lines.append(f"    {edge.reason} [{edge.rule}]")
        if edge.source:
            lines.append(f"    {place(edge.source)}")
    others = knot.size - len(knot.edges)
    if others:
        lines.append(f"{others} more {'depends' if others == 1 else 'depend'} on each other in the same knot.")
    return [*lines, *cut_lines(knot)]


def cut_lines(knot: Knot) -> list[str]:
    """What breaks all cycles of a knot."""
    if knot.cut.stuck:
        return [
            "No reference can be removed to break it: the order of creating and destroying alone makes this cycle: "
            + ", ".join(knot.cut.stuck)
            + "."
        ]
    if len(knot.removals) == 1:
        return [f"To break it, remove {removal_text(knot.removals[0])}."]
    note = "" if knot.cut.is_exact else " (perhaps not the smallest set)"
    return [f"To break it, remove all of these{note}:", *(f"  - {removal_text(r)}" for r in knot.removals)]


def cycle_problems(graph: Graph) -> list[Diagnostic]:
    """One error for each knot."""
    problems = []
    for knot in knots(graph):
        detail = "There is no order in which these could be done:\n" + "\n".join(knot_lines(knot))
        problems.append(error("graph.cycle", f"Cycle: {', '.join(knot.cycle)}", detail, None))
    return problems
