"""The condition that `why -not` names does fail, and what stands before it holds: 1,000 pairs of vertices without an
edge, judged by the independent checker's own reading of the rules."""

from __future__ import annotations

import random
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from datalog.proof_checker import Reader, solve
from graph.recorded import cases

from planner.logic.datalog.explain.search import Prover
from planner.logic.datalog.explain.why_not import obstacles
from planner.logic.datalog.language.values import decode
from planner.logic.graph.build import build_graph, graph_program

PAIRS = 400


@cache
def bodies() -> dict[str, Any]:
    return {rule.name: Reader(rule.text).rule()[1] for rule in graph_program().rules}


@pytest.mark.slow
def test_the_named_condition_fails(tmp_path: Path) -> None:
    chosen = random.Random(20)
    recorded = [(case, phase) for phase in ("plan", "apply") for case in cases(phase)]
    checked = pairs = 0
    for number, (case, phase) in enumerate(recorded):
        graph = build_graph(case.facts(phase, tmp_path / str(number)))
        prover = Prover(graph_program(), graph.database)
        rows: dict[str, list[list[Any]]] = {}

        def holds(predicate: str, rows: Any = rows, graph: Any = graph) -> list[list[Any]]:
            if predicate not in rows:
                rows[predicate] = [[decode(v) for v in row] for row in graph.database[predicate]]
            return rows[predicate]

        names = sorted(graph.nodes)
        for _ in range(-(-PAIRS // len(recorded))):
            pair = (chosen.choice(names), chosen.choice(names))
            if pair in graph.database["edge"]:
                continue
            pairs += 1
            for obstacle in everything(obstacles(prover, "edge", pair)):
                if obstacle["head_fits"]:
                    assert not can_hold(obstacle, holds), (case.folder.name, pair, obstacle)
                    checked += 1
    assert pairs > PAIRS * 0.8
    assert checked > 10 * pairs


def everything(found: list[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    stack = list(found)
    while stack:
        obstacle = stack.pop()
        yield obstacle
        stack += obstacle.get("because", ())


def can_hold(obstacle: dict[str, Any], holds: Any) -> bool:
    """Whether the named literal holds under what was bound before it."""
    literal = bodies()[obstacle["rule"]][obstacle["literal"]]
    return next(solve([literal], dict(obstacle["bound"]), holds), None) is not None


def test_the_checker_would_notice(tmp_path: Path) -> None:
    case = cases("plan")[0]
    graph = build_graph(case.facts("plan", tmp_path))
    (a, b), *_ = sorted(graph.database["edge"])
    rule = next(r for r in graph_program().rules if r.text.startswith("edge(A, B) :- inner_edge"))
    wrong = {"rule": rule.name, "literal": 0, "bound": {"A": a, "B": b}}
    assert can_hold(wrong, lambda name: [list(row) for row in graph.database[name]]) == (
        (a, b) in graph.database["inner_edge"]
    )
