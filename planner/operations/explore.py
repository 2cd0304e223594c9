"""`explore`: a plan with its graphs and what they stand on, for a page."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from planner.foundation.vocabulary.diagnostic import Diagnostic, has_errors
from planner.foundation.vocabulary.records import frozen
from planner.logic.graph.build import build_graph
from planner.logic.graph.edge_sources import RELATIONS
from planner.operations import graphs
from planner.operations.options import OperationOptions
from planner.operations.plan_causes import causes, changed_actions
from planner.operations.plan_files import Unstored, planned
from planner.operations.policies import judged

if TYPE_CHECKING:
    from planner.answers.explain.causes import Because
    from planner.engine.evaluation.schemas import Schemas
    from planner.engine.walk.hooks import Hooks
    from planner.logic.model.graph import Graph
    from planner.logic.model.plan import Plan
    from planner.operations.plan import MadePlan


@frozen(eq=False)
class Explored:
    """A plan; the graph that it was made by and, if there is something to do, the one of applying it, both built with
    what edges stand on; the cause of each change, by name."""

    plan: Plan
    graphs: tuple[tuple[str, Graph], ...]
    causes: Mapping[str, Because]
    schemas: Schemas
    actions: dict[str, str]
    """of everything that changes, by name"""


def explore(
    options: OperationOptions, plan_file: str | None, kinds: tuple[str, ...], hooks: Hooks
) -> tuple[Explored | None, list[Diagnostic]]:
    """What there is to explore about the plan in a file, or about one made for it; `kinds` of graphs: plan, apply.
    Policies that the options name, and those on record, have judged it. None without a plan."""
    answer = planned(options, plan_file, hooks)
    made = answer.complete
    if made is None:
        return None, list(answer.diagnostics)
    problems = list(answer.diagnostics)
    if options.judges or made.plan.policy is not None:
        made, more = _judged(made)
        problems += more
        if has_errors(more):
            return None, problems
    built = tuple((kind, _graph(made, kind)) for kind in kinds if kind == kinds[0] or made.plan.can_apply)
    return Explored(made.plan, built, causes(made), made.loaded.schemas, changed_actions(made)), problems


def _judged(made: MadePlan[Unstored]) -> tuple[MadePlan[Unstored], list[Diagnostic]]:
    """The plan with what policies say of it; a denial is no problem here, as it is to be looked at."""
    judged_plan, _, problems = judged(made)
    return judged_plan, problems


def _graph(made: MadePlan[Unstored], kind: str) -> Graph:
    facts_of = graphs.planning_facts if kind == "plan" else graphs.apply_facts
    return build_graph(facts_of(made.plan, made.loaded), own=made.loaded.rules, more=RELATIONS)
