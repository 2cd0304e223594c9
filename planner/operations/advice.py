"""`advice`: remarks about a plan before it is applied."""

from __future__ import annotations

from planner.foundation.vocabulary.diagnostic import Diagnostic
from planner.logic.graph.build import build_graph
from planner.operations import graphs
from planner.operations.options import OperationOptions
from planner.operations.plan_files import open_or_make_plan


def advice(
    options: OperationOptions, plan_file: str | None = None
) -> tuple[list[tuple[str, str, str]], list[Diagnostic]]:
    """Remarks about a plan (code, address, message), sorted: those of the rules, and of the user's own."""
    answer = open_or_make_plan(options, plan_file)
    made = answer.complete
    if made is None:
        return [], list(answer.diagnostics)
    built = build_graph(graphs.apply_facts(made.plan, made.loaded), True, made.loaded.rules)
    return sorted(built.database["advice"]), list(answer.diagnostics)
