"""Every edge of every recorded graph has a proof that an independent checker accepts, down to places in files, state
entries or the command line."""

from __future__ import annotations

from pathlib import Path

import pytest
from datalog.proof_checker import check
from graph.recorded import CASES, RecordedCase, cases

from planner.datalog.explain.proof import proof_json
from planner.datalog.explain.search import Prover
from planner.datalog.front.values import decode
from planner.graph.build import build_graph, graph_program
from planner.model.sources import source_json

RULES = [{"name": rule.name, "text": rule.text} for rule in graph_program().rules]


@pytest.mark.parametrize("phase", ["plan", "apply"])
@pytest.mark.parametrize("folder", sorted({c.folder.name for p in ("plan", "apply") for c in cases(p)}))
def test_every_edge_has_a_proof(folder: str, phase: str, tmp_path: Path) -> None:
    case = RecordedCase(CASES / folder)
    if case.walk(phase) is None:
        pytest.skip("nothing was recorded of this phase")
    graph = build_graph(case.facts(phase, tmp_path))
    prover = Prover(graph_program(), graph.database)
    rows: dict[str, list[list[object]]] = {}

    def holds(predicate: str) -> list[list[object]]:
        if predicate not in rows:
            rows[predicate] = [[decode(v) for v in row] for row in graph.database[predicate]]
        return rows[predicate]

    for edge in sorted(graph.database["edge"]):
        proof = prover.why("edge", edge)
        assert proof is not None, edge
        document = proof_json(proof, graph.database.facts, source_json)
        check(RULES, document, holds)
        for step in document["proofs"].values():
            if step.get("input"):
                source = step["source"]
                assert {"file", "line"} <= set(source) or set(source) <= {"state", "command_line"}, step
