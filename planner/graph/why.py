"""Questions to a graph: why does one vertex wait for another, why does a fact hold, which rows answer a query."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from planner.datalog.explain import Prover
from planner.datalog.proof import proof_json
from planner.facts.sources import source_json
from planner.graph.model import Graph
from planner.vocabulary.diagnostic import Diagnostic, Failure, error
from planner.vocabulary.nearest import did_you_mean

if TYPE_CHECKING:
    from planner.datalog.ask import Query
    from planner.datalog.program import Program

MEANT = (" (expand)", " (destroy)", " (orphan)", " (expand, reference)", " (expand, input)", " (forget)", " (close)")
"""what an address stands for when no vertex is called just that, the first that exists"""


def meant_node(nodes: Any, text: str) -> str | None:
    """The vertex that somebody means by a name or an address: in a plan graph where a resource is expanded, in an apply
    graph its change, or its destruction if that is all that happens."""
    if text in nodes:
        return text
    return next((text + suffix for suffix in MEANT if text + suffix in nodes), None)


def find_node(graph: Graph, text: str) -> str:
    """The vertex that somebody means. Raises Failure."""
    found = meant_node(graph.nodes, text)
    if found is not None:
        return found
    hint = did_you_mean(text, sorted({name.split(" (")[0] for name in graph.nodes} | set(graph.nodes)))
    detail = f'The graph has no vertex "{text}".{hint} "planner graph -json" lists all of them.'
    raise Failure(error("graph.unknown_node", "No such vertex", detail))


def prove_wait(graph: Graph, dependent: str, dependency: str) -> tuple[dict[str, Any] | None, list[Diagnostic]]:
    """The proof that one vertex waits for another: of the edge, or else of the chain of edges between them. The graph
    must have been built with `dependency` asked about."""
    direct = (dependent, dependency)
    goal = "edge" if direct in graph.database["edge"] else "waits_for"
    proof = prove(graph, goal, direct)
    if proof is not None:
        return proof, []
    _, reasons = why_not(graph, "edge", direct)
    detail = f"{dependent} can start before {dependency} is done: there is no chain of edges between them.\n{reasons}"
    return None, [error("graph.no_wait", "Nothing to explain", detail)]


def prove(graph: Graph, predicate: str, row: tuple[Any, ...]) -> dict[str, Any] | None:
    """The proof of a tuple in the documented format, None when it does not hold."""
    proof = Prover(graph.program, graph.database).why(predicate, row)
    return proof_json(proof, graph.database.facts, source_json) if proof else None


def why_not(graph: Graph, predicate: str, row: tuple[Any, ...]) -> tuple[list[dict[str, Any]], str]:
    """For each rule that could derive the tuple, the first condition that fails; as data and as text."""
    prover = Prover(graph.program, graph.database)
    found, lines = [], []
    for obstacle in prover.why_not(predicate, row) or ():
        rule = obstacle.rule
        bound = dict(sorted(obstacle.assignment.items()))
        found.append(
            {"rule": rule.name, "fails": obstacle.text, "bound": bound, "head_fits": obstacle.literal is not None}
        )
        if obstacle.literal is not None:
            lines.append(f"  rule {rule.name} would need {obstacle.text}")
    return found, "\n".join(lines)


def read_query(program: Program, text: str) -> tuple[Query, list[Diagnostic]]:
    """A checked question. Raises Failure."""
    from planner.datalog.ask import parse_query

    query, problems = parse_query(program, text)
    if query is None:
        raise Failure(problems)
    return query, problems


def with_nodes(graph: Graph, query: Query) -> Query:
    """The question with every address that stands in a column of vertices replaced by the vertex it means."""
    from planner.graph.meant import meant_query

    return meant_query(graph.nodes, graph.program.predicates, query)[0]
