"""`cut`: what breaks the cycles of a graph."""

from __future__ import annotations

from planner.foundation.vocabulary.diagnostic import Diagnostic
from planner.logic.graph.build import build_graph
from planner.logic.graph.cycles import Knot, knots
from planner.operations import graphs
from planner.operations.graph import graph
from planner.operations.options import OperationOptions
from planner.operations.plan_files import planned


def cut(
    options: OperationOptions, kind: str = "", plan_file: str | None = None
) -> tuple[list[Knot] | None, list[Diagnostic]]:
    """The knots of vertices that wait for each other, and what to remove. `kind` as for graphs; without it the plan
    graph's, and when that has none those of applying what is planned. None when there is no graph. Raises Failure."""
    if plan_file is not None or kind in ("plan", "plan-destroy", ""):
        built = graph(options, kind or ("apply" if plan_file else "plan"), plan_file, as_planned=True)
        if not built.nodes:
            return None, list(built.diagnostics)
        tied = knots(built)
        if tied or plan_file is not None or kind:
            return tied, []
    return _apply_knots(options)


def _apply_knots(options: OperationOptions) -> tuple[list[Knot] | None, list[Diagnostic]]:
    answer = planned(options)
    made = answer.made
    if made is None:
        return None, list(answer.diagnostics)
    return knots(build_graph(graphs.apply_facts(made.plan, made.loaded), own=made.loaded.rules)), []
