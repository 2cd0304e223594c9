"""Explains cycles. The report about each knot (a group of connected cycles) contains the shortest cycle, the reason of
each edge, and the edges to remove."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Collection, Mapping
from itertools import islice
from typing import Any, TypeAlias

from planner.foundation.vocabulary.diagnostic import Diagnostic, error
from planner.foundation.vocabulary.records import field, frozen
from planner.logic.datalog.engine.evaluate import evaluate
from planner.logic.datalog.explain.proof import is_written
from planner.logic.datalog.explain.render import reason_text
from planner.logic.datalog.explain.search import Proof, Prover
from planner.logic.datalog.language.link import has_own_reason
from planner.logic.model.graph import Graph, source_json

REFERENCES = ("reference", "validation_reference", "import_reference", "destroy_reference", "action_reference")
"""the predicates of references in the configuration"""
ORDER = "order_before"  # the predicate for orders that only a user's rule requires, not a reference


@frozen(eq=False)
class CycleEdge:
    """An edge in a cycle. `rule`: the rule that derives it. `reason`: the reason of this rule. `source`: the position
    of its cause, in the proof format; None if there is none."""

    dependent: str
    dependency: str
    rule: str
    reason: str
    source: dict[str, Any] | None


@frozen(eq=False)
class EdgeRemoval:
    """The removal of edges, by removing what causes them: the references from `object` to `targets`. `paths`: the
    arguments of the references. `sources`: the positions of the references. `rules`: the user's rules that require the
    order; empty if references cause the edges."""

    object: str
    targets: tuple[str, ...]
    paths: tuple[str, ...]
    sources: tuple[dict[str, Any], ...]
    rules: tuple[str, ...] = ()


@frozen(eq=False)
class Knot:
    """A group of vertices that wait for each other. `edges`: their shortest cycle. `size`: the number of vertices.
    `removals`: the edges to remove. `cut`: the result of the search for these edges."""

    edges: tuple[CycleEdge, ...]
    size: int
    removals: tuple[EdgeRemoval, ...]
    cut: Cut
    alternatives: tuple[EdgeRemoval, ...] = ()
    """at most MAX_ALTERNATIVES removals, each of which alone breaks all cycles; empty if no single removal does this,
    or if the exact search was stopped"""
    edited: tuple[EdgeRemoval, ...] = ()
    """the alternatives whose lines were edited since the last commit; empty if the lines of all of them were edited"""

    @property
    def cycle(self) -> tuple[str, ...]:
        return tuple(edge.dependent for edge in self.edges)


_EXPAND = " (expand)"  # the end of the name of a vertex that represents a whole object


IsEdited: TypeAlias = Callable[[dict[str, Any]], bool]  # whether the line of a source differs from the last commit


def knots(graph: Graph, is_edited: IsEdited | None = None) -> list[Knot]:
    """The knots of a graph, sorted by the first name in their shortest cycles."""
    members: dict[str, set[str]] = {}
    for node, representative in graph.database["in_cycle"]:
        members.setdefault(representative, set()).add(node)
    if not members:
        return []
    prover = Prover(graph.program, graph.database)
    owned = owned_edges(graph)
    knotted = [_knot(graph, prover, owned, members[name], is_edited) for name in sorted(members)]
    return sorted(knotted, key=lambda knot: knot.cycle)


def _knot(graph: Graph, prover: Prover, owned: Owned, members: set[str], is_edited: IsEdited | None) -> Knot:
    within = {a: [b for b in graph.edges[a] if b in members] for a in members}
    cycle = shortest_cycle(within)
    cut = smallest_cut(graph.edges, members, owned.statements)
    edges = tuple(_edge(graph, prover, a, b) for a, b in zip(cycle, cycle[1:] + cycle[:1], strict=True))
    removals, alternatives = (
        tuple(_removal(graph, prover, owned, s) for s in statements)
        for statements in (cut.statements, cut.alternatives)
    )
    edited = tuple(r for r in alternatives if is_edited is not None and any(map(is_edited, r.sources)))
    edited = edited if len(edited) < len(alternatives) else ()
    return Knot(edges, len(members), removals, cut, alternatives, edited)


def _edge(graph: Graph, prover: Prover, dependent: str, dependency: str) -> CycleEdge:
    proof = prover.why("edge", (dependent, dependency))
    assert proof is not None and proof.rule is not None
    step = decisive(proof)
    assert step.rule is not None
    own = own_rule(step)
    if own is not None and own.rule is not None:
        at = {"file": own.rule.file, "line": own.rule.line}
        is_told = has_own_reason(own.rule, graph.program.predicates)
        text = f": {reason_text(own.rule, own.assignment)}" if is_told else ""
        reason = reason_text(step.rule, step.assignment) + text
        return CycleEdge(dependent, dependency, own.rule.name, reason, at)
    source = next(iter(_leaf_positions(graph, proof)), None)
    return CycleEdge(dependent, dependency, step.rule.name, reason_text(step.rule, step.assignment), source)


def own_rule(proof: Proof) -> Proof | None:
    """The step of a proof in which a user's rule requires the order; None if there is none."""
    waiting = [proof]
    while waiting:
        at = waiting.pop()
        if at.predicate == ORDER and at.rule is not None:
            return at if is_written(at.rule) else None
        waiting += [x for x in reversed(at.body) if isinstance(x, Proof) and x.predicate in ("ordered", ORDER)]
    return None


def decisive(proof: Proof) -> Proof:
    """The lowest step of a proof that is about the same two vertices as the proof. The steps above it only pass on the
    row to another relation. If a user's rule orders the vertices, the result is the step that proves the mention
    derived from this rule."""
    while True:
        further = [x for x in proof.body if isinstance(x, Proof) and x.row == proof.row and x.rule is not None]
        if len(further) != 1:
            break
        proof = further[0]
    ordered = (x for x in proof.body if isinstance(x, Proof) and x.predicate == "mentions" and x.row[2] == ORDER)
    return next(ordered, proof)


def _leaf_positions(graph: Graph, proof: Proof) -> list[dict[str, Any]]:
    """The positions, in the proof format, of the leaves of a proof that have a source: first references, then
    dependencies in the state, then all others except `walk`."""
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
    """A source in the proof format as text, such as `main.tf:3: input = local.b`. For a source that is not a line in a
    file, it is a description; "" if there is no source."""
    if not source:
        return ""
    if "file" in source:
        snippet = source.get("snippet", "").strip()
        return f"{source['file']}:{source['line']}" + (f": {snippet}" if snippet else "")
    ((kind, value),) = source.items()
    return f"{kind.replace('_', ' ')} {value}"


def removal_text(removal: EdgeRemoval) -> str:
    """The text of a removal, in one line: the rule or the references that cause the edges."""
    where = "; ".join(place(source) for source in removal.sources)
    if removal.paths == (ORDER,):
        named = "; ".join((*removal.rules, where)) or ORDER
        return f"your rule that orders {', '.join(removal.targets)} before {removal.object} ({named})"
    return f"the reference from {removal.object} to {', '.join(removal.targets)}" + (f" ({where})" if where else "")


def knot_lines(knot: Knot) -> list[str]:
    """The lines of the report about a knot: the shortest cycle, edge by edge, and the removals that break all
    cycles."""
    lines = []
    for edge in knot.edges:
        lines.append(f"  {edge.dependent} needs {edge.dependency}:")
        lines.append(f"    {edge.reason} [{edge.rule}]")
        if edge.source:
            lines.append(f"    {place(edge.source)}")
    return [*lines, *_others(knot), *cut_lines(knot)]


def _others(knot: Knot) -> list[str]:
    others = knot.size - len(knot.edges)
    if not others:
        return []
    return [
        f"{others} more {'is' if others == 1 else 'are'} in the same group of cycles (to see the proof: planner "
        "cycles)."
    ]


def _edge_line(edge: CycleEdge) -> str:
    names = f"{edge.dependent.removesuffix(_EXPAND)} needs {edge.dependency.removesuffix(_EXPAND)}"
    return f"  {names} ({place(edge.source)})" if edge.source else f"  {names}: {edge.reason}"


def cut_lines(knot: Knot) -> list[str]:
    """Lines that explain how to break all cycles of a knot, or why no removal breaks them. They name alternative
    removals (only those in edited lines, if there are any), or several removals that are all necessary."""
    if knot.cut.stuck:
        return [
            "No reference can be removed to break it, because the cycle results only from the order of creation and "
            "destruction: " + ", ".join(knot.cut.stuck) + "."
        ]
    if len(knot.edited) == 1:
        return [f"To break it, remove {removal_text(knot.edited[0])}, which was edited since the last commit."]
    if knot.edited:
        head = "To break it, remove one of these, which were edited since the last commit:"
        return [head, *(f"  - {removal_text(r)}" for r in knot.edited)]
    if len(knot.alternatives) > 1:
        return ["To break it, remove one of these:", *(f"  - {removal_text(r)}" for r in knot.alternatives)]
    if len(knot.removals) == 1:
        return [f"To break it, remove {removal_text(knot.removals[0])}."]
    note = "" if knot.cut.is_exact else " (perhaps not the smallest set)"
    return [f"To break it, remove all of these{note}:", *(f"  - {removal_text(r)}" for r in knot.removals)]


def cycle_problems(graph: Graph, is_edited: IsEdited | None = None) -> list[Diagnostic]:
    """One error for each knot."""
    problems = []
    for knot in knots(graph, is_edited):
        lines = [*map(_edge_line, knot.edges), *_others(knot), *cut_lines(knot)]
        detail = "\n".join(["Each of these depends on the next, and the last one on the first:", *lines])
        problems.append(error("graph.cycle", f"Cycle: {', '.join(knot.cycle)}", detail, None))
    return problems


# Finds the smallest set of references whose removal breaks all cycles: a minimum feedback edge set. Edges that come
# from one statement are removed together. Only owned edges (rules/graph/cut.dl) may be removed. For small knots, the
# exact solution is found by an iteratively deepening search that branches over the owned statements of a short cycle.
# For large knots, a greedy search finds a small set.


MAX_ALTERNATIVES = 6  # maximum number of single removals that are listed
MAX_STEPS = 20_000  # steps after which the exact search gives up
LARGE = 400  # above this number of vertices, the search uses any cycle instead of the shortest one

Edge: TypeAlias = tuple[str, str]
Statement: TypeAlias = tuple[str, tuple[str, ...]]
"""(object, targets of its mentions), which are removed together"""
Edges: TypeAlias = Mapping[str, Collection[str]]


@frozen
class Cut:
    """The statements whose removal breaks all cycles of a knot. `statements`: the statements to remove, sorted.
    `is_exact`: whether there is certainly no smaller set. `stuck`: a cycle without owned edges, which therefore cannot
    be broken by removals; then `statements` is empty. `alternatives`: at most MAX_ALTERNATIVES statements, each of
    which alone breaks all cycles if it is removed, in the order of the cycle; empty if no single statement does this,
    or if the exact search was stopped."""

    statements: tuple[Statement, ...] = ()
    is_exact: bool = True
    stuck: tuple[str, ...] = ()
    alternatives: tuple[Statement, ...] = ()


@frozen(eq=False)
class Owned:
    """The owned edges of a graph. `statements`: {edge: statement}. `mentions`: {statement: (object, target, path) of
    each of its mentions}."""

    statements: dict[Edge, Statement] = field(factory=dict)
    mentions: dict[Statement, tuple[tuple[str, str, str], ...]] = field(factory=dict)


def owned_edges(graph: Graph) -> Owned:
    """The owned edges in cycles, as derived by the rules."""
    rows = sorted(evaluate(graph.program, graph.database.facts, ["owned_edge"])["owned_edge"])
    targets: dict[Edge, tuple[str, set[str]]] = {}
    places: dict[str, list[tuple[str, str, str]]] = {}
    for dependent, dependency, object, target, path in rows:
        targets.setdefault((dependent, dependency), (object, set()))[1].add(target)
        places.setdefault(object, []).append((object, target, path))
    statements = {edge: (object, tuple(sorted(item))) for edge, (object, item) in targets.items()}
    mentions = {
        s: tuple(sorted({place for place in places[s[0]] if place[1] in s[1]})) for s in set(statements.values())
    }
    return Owned(statements, mentions)


def smallest_cut(edges: Edges, knot: Collection[str], owned: Mapping[Edge, Statement]) -> Cut:
    """The smallest set of statements whose removal breaks all cycles of a knot; a small set if the exact search is
    stopped. `edges`: {vertex: the vertices for which it waits}. `knot`: the vertices that wait for each other. `owned`:
    {edge: statement}."""
    # decided in Python: the smallest set of references to remove from cycles -- rules cannot search all sets
    inside = set(knot)
    within = {a: sorted(b for b in edges[a] if b in inside) for a in sorted(inside)}
    stuck = shortest_cycle({a: [b for b in bs if (a, b) not in owned] for a, bs in within.items()})
    if stuck:
        return Cut(stuck=tuple(stuck))
    search = _CycleSearch(within, owned)
    result = search.exact()
    if result is None:
        return Cut(tuple(sorted(search.greedy())), False)
    return Cut(tuple(sorted(result)), True, alternatives=tuple(search.alternatives()) if len(result) == 1 else ())


def shortest_cycle(edges: Edges) -> list[str]:
    """A cycle with the fewest vertices, beginning with its alphabetically first name; empty if there is no cycle."""
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
    """A shortest cycle of at most `limit` vertices through the vertex `start`; empty if there is none."""
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
        """A short cycle that remains after the removal of these statements; empty if none remains."""
        left = {a: [b for b in bs if self.owned.get((a, b)) not in removed] for a, bs in self.edges.items()}
        left = _core(left)
        if len(left) <= LARGE:
            return shortest_cycle(left)
        return next((path for path in (_way_back(left, start, len(left)) for start in sorted(left)) if path), [])

    def statements(self, cycle: list[str]) -> list[Statement]:
        pairs = zip(cycle, cycle[1:] + cycle[:1], strict=True)
        return sorted({self.owned[pair] for pair in pairs if pair in self.owned})

    def alternatives(self) -> list[Statement]:
        """At most MAX_ALTERNATIVES statements, each of which alone breaks all cycles if it is removed. They own edges
        of the first cycle found."""
        cycle = self.cycle(())
        on_it = [self.owned[pair] for pair in zip(cycle, cycle[1:] + cycle[:1], strict=True) if pair in self.owned]
        breaking = (statement for statement in dict.fromkeys(on_it) if not self.cycle((statement,)))
        return list(islice(breaking, MAX_ALTERNATIVES))

    def exact(self) -> set[Statement] | None:
        """A smallest set of statements whose removal breaks all cycles; None if the search takes too long."""
        size = len(self._separate_statements())
        while True:
            result = self._smallest_within(size, frozenset(), frozenset())
            if result is not None or self.steps > MAX_STEPS:
                return result
            size += 1

    def _separate_statements(self) -> list[Statement]:
        """One statement of each of several cycles that have no statement in common. The number of these cycles is a
        lower bound for the size of a set whose removal breaks all cycles."""
        removed: set[Statement] = set()
        first = []
        while cycle := self.cycle(removed):
            here = self.statements(cycle)
            first.append(here[0])
            removed |= set(here)
        return first

    def _smallest_within(
        self, size: int, removed: frozenset[Statement], kept: frozenset[Statement]
    ) -> set[Statement] | None:
        self.steps += len(self.edges) // 10 + 1
        if self.steps > MAX_STEPS:
            return None
        cycle = self.cycle(removed)
        if not cycle:
            return set(removed)
        if len(removed) == size:
            return None
        for statement in self.statements(cycle):
            if statement in kept:
                continue
            result = self._smallest_within(size, removed | {statement}, kept)
            if result is not None:
                return result
            kept |= {statement}  # all sets with this statement were tried
        return None

    def greedy(self) -> set[Statement]:
        """A set of statements whose removal breaks all cycles, and of which each is necessary. From each cycle, the
        search takes the statement whose edges connect the most dependents with the most dependencies."""
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
    """The graph {vertex: its dependencies} without the vertices that do not wait for others. They are removed until no
    such vertex remains."""
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
