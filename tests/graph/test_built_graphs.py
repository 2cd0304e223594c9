"""Building a graph sparingly, or from facts that were met before, gives the same graph."""

from __future__ import annotations

from pathlib import Path

import pytest
from graph.recorded import RecordedCase, cases
from thinned import thinned

from planner.logic.datalog.engine.evaluate import evaluate
from planner.logic.datalog.explain.search import Prover
from planner.logic.graph import build
from planner.logic.graph.build import WANTED, read_graph
from planner.logic.model.graph import Graph


def same(one: Graph, other: Graph) -> bool:
    return (one.nodes, one.edges, one.reduced) == (other.nodes, other.edges, other.reduced)


@pytest.mark.parametrize("case", thinned(cases("plan"), 6), ids=lambda c: c.folder.name)
@pytest.mark.parametrize("phase", ["plan", "apply"])
def test_what_is_let_go_of_is_missed_by_no_walk(
    case: RecordedCase, phase: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if case.walk(phase) is None:
        pytest.skip("not recorded")
    facts = case.facts(phase, tmp_path)
    program = build.graph_program()
    whole = evaluate(program, facts)
    monkeypatch.setattr(build, "_SMALL", -1)
    graph = build.build_graph(facts)
    assert same(graph, read_graph(program, whole))
    database = graph.database
    for name in WANTED:
        assert database[name] == whole[name]
    # What nobody wanted is there for questions all the same, with the rounds that proofs go by.
    assert set(database) == set(evaluate(program, facts, WANTED))
    assert all(rows == whole[name] for name, rows in database.items())
    for edge in database.sorted("edge")[:3]:
        assert Prover(program, database).why("edge", edge) is not None


def test_roots_that_look_alike_share_a_graph_and_keep_their_sources(tmp_path: Path) -> None:
    case = next(c for c in cases("plan") if c.folder.name == "module-nested-three")
    facts = [case.facts("plan", tmp_path / name) for name in ("one", "two")]
    first, second = map(build.build_graph, facts)
    assert second.nodes is first.nodes
    assert second.database.facts is facts[1] is not facts[0]
    assert build.build_graph(facts[1], everything=True).nodes is not first.nodes


def test_other_facts_give_another_graph(tmp_path: Path) -> None:
    found = cases("plan")
    graphs = [build.build_graph(c.facts("plan", tmp_path / c.folder.name)) for c in found[:6]]
    assert not any(same(graphs[i], graphs[j]) for i in range(6) for j in range(i))
