"""The graphs that the rules derive are the recorded ones: every vertex, every edge, before and after reduction."""

from __future__ import annotations

from pathlib import Path

import pytest
from graph.recorded import RecordedCase, cases

from planner.logic.graph.build import build_graph

REFRESHED = {
    "own-destroy-data",
    "own-destroy-moved",
    "own-exclude-in-keyed-module",
    "own-forget-references",
    "replace-triggered-by",
    "replace-triggered-by-attr",
}
"""Their order rests on what the refresh, or a move, changes in the state: tests/conformance compares whole runs."""
MOVED = {"own-destroy-moved"}


def compare(case: RecordedCase, phase: str, work: Path) -> None:
    graph = build_graph(case.facts(phase, work))
    recorded = case.walk(phase)
    assert recorded is not None
    for wanted, found in ((recorded["full"], graph.edges), (recorded["reduced"], graph.reduced)):
        masked = {case.mask(node): sorted(map(case.mask, edges)) for node, edges in found.items()}
        assert masked == {node: sorted(edges) for node, edges in wanted.items()}


@pytest.mark.parametrize("case", [c for c in cases("plan") if c.folder.name not in MOVED], ids=lambda c: c.folder.name)
def test_plan_graph(case: RecordedCase, tmp_path: Path) -> None:
    compare(case, "plan", tmp_path)


@pytest.mark.parametrize(
    "case", [c for c in cases("apply") if c.folder.name not in REFRESHED], ids=lambda c: c.folder.name
)
def test_apply_graph(case: RecordedCase, tmp_path: Path) -> None:
    compare(case, "apply", tmp_path)
