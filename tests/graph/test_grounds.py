"""What edges stand on: each of every recorded graph has a kind, and rules that its proof goes through, too."""

from __future__ import annotations

from collections import defaultdict
from pathlib import Path

import pytest
from graph.recorded import CASES, RecordedCase, cases
from thinned import thinned

from planner.logic.datalog.explain.deriving_rules import RuleReason, _Reasons
from planner.logic.datalog.explain.search import Proof, Prover
from planner.logic.graph.build import build_graph, graph_program
from planner.logic.graph.edge_sources import (
    LAYERS,
    RELATIONS,
    Edge,
    EdgeSources,
    declarations,
    grounds,
    relations_for_grounds,
)


def rules_of(proof: Proof, row: tuple[str, str]) -> list[str]:
    """The rules on the way down, as long as they are about the same two vertices."""
    found = [] if proof.rule is None else [proof.rule.name]
    for entry in proof.body:
        if isinstance(entry, Proof) and entry.row == row:
            found += rules_of(entry, row)
    return found


def by_edge(sources: EdgeSources) -> dict[Edge, list[tuple[RuleReason, tuple[str, ...]]]]:
    """The reasons of each edge, with the values in them."""
    found: dict[Edge, list[tuple[RuleReason, tuple[str, ...]]]] = defaultdict(list)
    for derived in sources.reasons:
        for edge, values in zip(derived.rows, derived.values(), strict=True):
            found[edge].append((derived.reason, values))
    return found


@pytest.mark.parametrize("phase", ["plan", "apply"])
@pytest.mark.parametrize("folder", thinned(sorted({c.folder.name for p in ("plan", "apply") for c in cases(p)}), 3))
def test_every_edge_has_its_ground(folder: str, phase: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    case = RecordedCase(CASES / folder)
    if case.walk(phase) is None:
        pytest.skip("nothing was recorded of this phase")
    graph = build_graph(case.facts(phase, tmp_path), more=RELATIONS)
    prover = Prover(graph_program(), graph.database)
    edges = set(graph.edge_rows)
    sources = grounds(graph, edges)
    assert set(sources.layers) == edges >= set(sources.places)
    found = by_edge(sources)
    assert set(found) == edges
    for edge, reasons in found.items():
        assert sources.layers[edge] and set(sources.layers[edge]) <= set(LAYERS), edge
        proof = prover.why("edge", edge)
        assert proof is not None, edge
        assert {reason.rule for reason, _ in reasons} & set(rules_of(proof, edge)), edge
        texts = [reason.with_values(values) for reason, values in reasons]
        assert "{" not in "".join(texts).replace('["', ""), edge
    assert set(declarations(graph)) <= set(graph.nodes)
    facts = case.facts(phase, tmp_path)
    graph = build_graph(facts, more=relations_for_grounds(graph_program(), facts), is_walked=False)
    monkeypatch.setattr(_Reasons, "_looked_up", lambda _self, columns, _count: columns)
    again = grounds(graph, edges)
    assert by_edge(again) == found  # by lookups as by search, and with relations that are kept
    assert (again.layers, again.places) == (sources.layers, sources.places)
    few = dict(list(found.items())[:3])
    assert by_edge(grounds(graph, few.keys())) == few
