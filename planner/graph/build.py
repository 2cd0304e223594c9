"""Facts to Graph: evaluate the graph rules for one walk."""

from __future__ import annotations

from functools import cache

from planner.assets import rules_path
from planner.datalog.evaluate import evaluate
from planner.datalog.fact_base import FactBase
from planner.datalog.program import Program
from planner.graph.model import Graph
from planner.graph.read import WANTED, read_graph
from planner.vocabulary.diagnostic import Failure

FOLDERS = ("inputs", "graph", "apply")


@cache
def graph_program() -> Program:
    """The rules of rules/inputs, rules/graph and rules/apply. Raises Failure when a file is broken."""
    root = rules_path()
    paths = [root / "atoms.dl", *(path for folder in FOLDERS for path in sorted((root / folder).glob("*.dl")))]
    program, diagnostics = Program.load([(str(p.relative_to(root)), p.read_text(encoding="utf-8")) for p in paths])
    if program is None:
        raise Failure([d for d in diagnostics if d.is_error])
    return program


def build_graph(facts: FactBase, everything: bool = False) -> Graph:
    """The graph that the rules derive from the facts of one walk; with `everything`, all relations of the rules are
    derived, also those that no walk needs."""
    program = graph_program()
    want = None if everything else (*WANTED, *(("waits_for",) if facts.relation("asked_about") else ()))
    return read_graph(evaluate(program, facts, want))
