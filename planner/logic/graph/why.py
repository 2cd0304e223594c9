"""Answers questions about a graph: why one vertex waits for another, and why a row is derived or not. Reads queries
about graphs."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Sequence
from itertools import pairwise
from typing import Any

from planner.foundation.vocabulary.diagnostic import Diagnostic, Failure, error
from planner.foundation.vocabulary.nearest import word
from planner.language.syntax.rule_syntax import Atom, Constant, quote
from planner.logic.datalog.ask.question import Query, parse_query
from planner.logic.datalog.engine.program import RuleProgram
from planner.logic.datalog.explain.proof import proof_json
from planner.logic.datalog.explain.search import Prover
from planner.logic.graph.build import SPOKEN, SPOKEN_AT_FIRST, Names, substitution_note
from planner.logic.graph.nearest_miss import near_miss_text, nearest_misses
from planner.logic.graph.question_checks import meant_query
from planner.logic.model.graph import Graph, source_json


def find_node(graph: Graph, text: str, pruned: bool = False) -> str:
    """The vertex with this name, or the vertex that represents the named object (see `Names.find`). If `pruned`, it may
    also be a vertex that was left out of the graph. Raises Failure if there is none."""
    names = Names.of(graph.database, SPOKEN_AT_FIRST if pruned else SPOKEN)
    node = names.find(text)
    if node is not None:
        return node
    detail = f'{names.unknown(text)} "planner graph -json" lists all of them.'
    raise Failure(error("graph.unknown_node", "No such vertex", detail))


def vertices_meant(graph: Graph, texts: Iterable[str]) -> tuple[list[str], list[str]]:
    """(vertices, notes). The vertices have these names or represent the named objects; they may have been left out of
    the graph. There is a note about each vertex that only represents the named object. Raises Failure if there is no
    such vertex."""
    within, at_first = Names.of(graph.database), Names.of(graph.database, SPOKEN_AT_FIRST)
    nodes, notes = [], []
    for text in texts:
        node = within.meant.get(text) or at_first.meant.get(text)
        if node is None:
            node = within.stand_in(text) or find_node(graph, text, pruned=True)
            notes.append(substitution_note(text, node))
        nodes.append(node)
    return nodes, notes


def prove_wait(
    graph: Graph, dependent: str, dependency: str, notes: Sequence[str] = ()
) -> tuple[dict[str, Any] | None, list[Diagnostic]]:
    """(proof that `dependent` waits for `dependency`, errors). It is the proof of the edge, or of the edges on a path
    between the two. If `dependent` does not wait, the proof is None, and there is an error that explains why. The graph
    must contain the relation `waits_for`. `notes`: are added to the proof or error, except to the error about a dropped
    order."""
    direct = (dependent, dependency)
    proof = None
    if direct in graph.database["edge"]:
        proof = prove(graph, "edge", direct)
    elif direct in graph.database["waits_for"]:
        way = {(node, dependency) for node in shortest_way(graph, dependent, dependency)}
        prover = Prover(graph.program, graph.database.narrowed("waits_for", way))
        reason = prover.why("waits_for", direct)
        assert reason is not None
        proof = proof_json(reason, graph.database.facts, source_json)
    if proof is not None:
        return {**proof, **_notes_json(notes)}, []
    if direct in graph.database["given_up"]:
        return None, [_dropped_order(graph, dependent, dependency)]
    lines = [
        *notes,
        f"{dependent} can start before {dependency} is done, because there is no chain of edges between them.",
    ]
    lines += [
        near_miss_text(nearest_misses(graph, dependent, dependency)),
        "To see all rules that were tried: planner why -not -full",
    ]
    return None, [error("graph.no_wait", "Nothing to explain", "\n".join(lines))]


def not_an_edge(graph: Graph, dependent: str, dependency: str, notes: Sequence[str] = ()) -> dict[str, Any]:
    """The explanation of a missing edge as JSON: the remarks about what comes closest to the edge (see
    `nearest_misses`), and for each rule the conditions that fail. `notes`: are added."""
    rules, _ = why_not(graph, "edge", (dependent, dependency))
    near = [item.json for item in nearest_misses(graph, dependent, dependency)]
    goal = ["edge", dependent, dependency]
    return {
        "format_version": "1.0",
        "goal": goal,
        "holds": False,
        "nearest": near,
        **_notes_json(notes),
        "rules": rules,
    }


def _notes_json(notes: Sequence[str]) -> dict[str, list[str]]:
    return {"notes": list(notes)} if notes else {}


def _dropped_order(graph: Graph, dependent: str, dependency: str) -> Diagnostic:
    """The error about a dropped order, with the edges that take precedence over it."""
    lines = [
        f"{dependency} should be done before {dependent}, but that order was dropped, because it would close a cycle."
    ]
    way = shortest_way(graph, dependency, dependent)[::-1] if dependency in graph.nodes else []
    if way:
        lines.append("These edges take precedence:")
        lines += [f"  {a} needs {b}" for a, b in pairwise([*way, dependent])]
    fact = word(f"given_up({quote(dependent)}, {quote(dependency)})")
    lines.append(f"To see where it comes from: planner why {fact}")
    return error("graph.given_up", "Dropped order", "\n".join(lines))


def shortest_way(graph: Graph, start: str, end: str) -> list[str]:
    """The vertices of a shortest path from `start` to `end`, without its last vertex; empty if there is no path."""
    before: dict[str, str] = {}
    waiting = deque([start])
    while waiting:
        node = waiting.popleft()
        for dependency in graph.edges[node]:
            if dependency == end:
                way = [node]
                while way[-1] != start:
                    way.append(before[way[-1]])
                return way
            if dependency not in before:
                before[dependency] = node
                waiting.append(dependency)
    return []


def prove(graph: Graph, predicate: str, row: tuple[Any, ...]) -> dict[str, Any] | None:
    """The proof of a row as JSON; None if the row is not derived."""
    proof = Prover(graph.program, graph.database).why(predicate, row)
    return proof_json(proof, graph.database.facts, source_json) if proof else None


def why_not(graph: Graph, predicate: str, row: tuple[Any, ...]) -> tuple[list[dict[str, Any]], str]:
    """(obstacles as data, obstacles as text): for each rule that could derive a row, the literal that fails and the
    reason why it fails (see planner.logic.datalog.explain.why_not)."""
    from planner.logic.datalog.explain.why_not import obstacles, obstacles_text

    rules = obstacles(Prover(graph.program, graph.database), predicate, row)
    return rules, obstacles_text(rules, [predicate, *row])


def read_query(program: RuleProgram, text: str) -> tuple[Query, list[Diagnostic]]:
    """(parsed and checked query, warnings). Raises Failure if there are errors."""
    query, problems = parse_query(program, text)
    if query is None:
        raise Failure(problems)
    return query, problems


def only_fact(query: Query) -> Atom:
    """The only literal of a query, which must be a fact without variables. Raises Failure for any other query."""
    body = query.literals
    if len(body) != 1 or not isinstance(body[0], Atom) or not all(isinstance(a, Constant) for a in body[0].arguments):
        raise Failure(error("why.fact", "Not a fact", 'Name one fact without variables, such as edge("a", "b").'))
    return body[0]


def with_nodes(graph: Graph, query: Query) -> tuple[Query, list[Diagnostic]]:
    """(query with vertices in place of addresses in columns of vertices, warnings). There are warnings about addresses
    that do not mean a vertex."""
    return meant_query(Names.of(graph.database), graph.program.predicates, query)
