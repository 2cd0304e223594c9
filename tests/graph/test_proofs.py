"""Every edge of every recorded graph, and what limits and replaces, has a proof that an independent checker accepts,
down to places in files, state entries or the command line. What is not there, an evaluation of its own tells."""

from __future__ import annotations

from pathlib import Path

import pytest
from datalog.naive_model import Model
from datalog.proof_checker import check
from graph.recorded import CASES, RecordedCase, cases
from thinned import thinned

from planner.logic.datalog.engine.evaluate import evaluate
from planner.logic.datalog.explain.proof import proof_json
from planner.logic.datalog.explain.search import Prover
from planner.logic.graph.build import build_graph, graph_program
from planner.logic.model.graph import source_json

PROVED = ("edge", "selected", "excluded", "forced_create_before_destroy")


@pytest.mark.parametrize("phase", ["plan", "apply"])
@pytest.mark.parametrize("folder", thinned(sorted({c.folder.name for p in ("plan", "apply") for c in cases(p)}), 6))
def test_every_edge_has_a_proof(folder: str, phase: str, tmp_path: Path) -> None:
    case = RecordedCase(CASES / folder)
    if case.walk(phase) is None:
        pytest.skip("nothing was recorded of this phase")
    graph = build_graph(case.facts(phase, tmp_path))
    database = evaluate(graph_program(), graph.database.facts)
    rules = [{"name": rule.name, "text": rule.text} for rule in graph_program().rules]
    prover = Prover(graph_program(), database)
    model = Model.of(graph_program(), database)
    assert model.differences(graph_program(), database) == []
    for predicate, row in [(name, row) for name in PROVED for row in sorted(database[name])]:
        proof = prover.why(predicate, row)
        assert proof is not None, row
        document = proof_json(proof, graph.database.facts, source_json)
        check(rules, document, model.holds)
        for step in document["proofs"].values():
            if step.get("input"):
                source = step["source"]
                assert {"file", "line"} <= set(source) or set(source) <= {"state", "command_line"}, step
