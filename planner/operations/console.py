"""`console`: the values of names in the root module, at present or as planned."""

from __future__ import annotations

from planner.engine.evaluation.eval_walk import eval_walk
from planner.engine.walk.hooks import Hooks
from planner.foundation.vocabulary.diagnostic import Diagnostic, Diagnostics
from planner.language.expressions.scope import Scope
from planner.operations.graphs import build
from planner.operations.options import OperationOptions
from planner.operations.plan import Start, Variables, plan_options
from planner.operations.state_access import load_with_values


def console_scope(options: OperationOptions, planning: bool = False) -> tuple[Scope | None, list[Diagnostic]]:
    """The scope of the root module, from configuration and state; with `planning`, as a plan sees it: objects that do
    not exist yet have their planned values."""
    told = Diagnostics()
    with told.until_an_error():
        start, variables = load_with_values(options, told)
        scope, problems = (_planned_scope if planning else _present_scope)(start, variables)
        told += problems
        return scope, told
    return None, told


def _present_scope(start: Start, variables: Variables) -> tuple[Scope, list[Diagnostic]]:
    graph = build("eval", start, start.state)
    context, problems = eval_walk(graph, start.config, start.state, variables, start.schemas, start.workspace)
    return context.root.scope, problems


def _planned_scope(start: Start, variables: Variables) -> tuple[Scope, list[Diagnostic]]:
    from planner.engine.plan.moves import apply_moves
    from planner.engine.plan.walk import PlanWalk

    moves = apply_moves(start.config, start.state)
    graph = build("plan", start, moves.state)
    walk = PlanWalk(graph, start.config, moves, variables, start.schemas, plan_options(start), Hooks())
    _, problems = walk.plan()
    return walk.context.root.scope, problems
