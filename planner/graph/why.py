"""Why does one vertex wait for another? The proof behind an edge, or behind the chain of edges between two vertices."""

from __future__ import annotations

from attrs import frozen

from planner.datalog.explain import Proof, Prover
from planner.datalog.why_not import Obstacle, why_not
from planner.graph.build import graph_program
from planner.graph.model import Graph
from planner.vocabulary.diagnostic import Failure, error
from planner.vocabulary.nearest import did_you_mean


@frozen(eq=False)
class Explanation:
    """`proof` is None when `dependent` does not wait for `dependency`; then `obstacles` say, for each rule that could
    have given an edge, what is missing. `goal` is what was to be proved."""

    dependent: str
    dependency: str
    goal: tuple[str, str, str]
    proof: Proof | None
    obstacles: tuple[Obstacle, ...] = ()


def find_node(graph: Graph, text: str) -> str:
    """The vertex that somebody means: its name, or the address it is about. An address of a resource means where it is
    expanded in a plan graph, and its change (or its destruction) in an apply graph. Raises Failure."""
    if text in graph.nodes:
        return text
    for suffix in (" (expand)", " (destroy)", " (orphan)", " (expand, reference)", " (expand, input)", " (forget)", " (close)"):
        if text + suffix in graph.nodes:
            return text + suffix
    known = sorted({name.split(" (")[0] for name in graph.nodes} | set(graph.nodes))
    hint = did_you_mean(text, known)
    detail = f'The graph has no vertex "{text}".{hint} "planner graph" draws all of them.'
    raise Failure(error("graph.unknown_node", "No such vertex", detail))


def explain_wait(graph: Graph, dependent: str, dependency: str) -> Explanation:
    """Prove that one vertex waits for the other. The graph must have been built with `dependency` asked about."""
    prover = Prover(graph_program(), graph.database)
    direct = (dependent, dependency)
    goal = ("edge" if direct in graph.database["edge"] else "waits_for", *direct)
    proof = prover.why(goal[0], direct)
    if proof is not None:
        return Explanation(dependent, dependency, goal, proof)
    return Explanation(dependent, dependency, goal, None, tuple(why_not(prover, "edge", direct) or ()))
