"""Makes a plan: the steps before and after the walk.

First, moved blocks are applied to the addresses of objects in the state. Before a destroy plan, an ordinary plan
refreshes the objects. The caller passes a function that builds the graphs, because facts and rules belong to
planner.logic."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TypeAlias

from planner.engine.evaluation.imports import check_imports
from planner.engine.evaluation.schemas import Schemas
from planner.engine.plan.moves import MoveResults, apply_moves, check_targets
from planner.engine.plan.options import PlanOptions
from planner.engine.plan.walk import plan_walk
from planner.engine.walk.hooks import Hooks
from planner.foundation.support.trace import as_step
from planner.foundation.vocabulary.diagnostic import Diagnostic, Failure, error, has_errors, warning
from planner.foundation.vocabulary.limits import Walk
from planner.foundation.vocabulary.records import evolve
from planner.language.config.model import Config
from planner.language.config.statements import check_removed
from planner.language.config.variables import RootVariable
from planner.logic.model.graph import Graph
from planner.logic.model.plan import Plan
from planner.world.state.model import State

BuildGraph: TypeAlias = Callable[[Walk, State], Graph]
"""builds the graph of a walk (`plan` or `plan-destroy`) from the state after moves; raises Failure"""


@as_step("make plan")
def make_plan(
    config: Config,
    state: State,
    variables: Mapping[str, RootVariable],
    schemas: Schemas,
    options: PlanOptions,
    build_graph: BuildGraph,
    hooks: Hooks | None = None,
) -> tuple[Plan | None, list[Diagnostic]]:
    """Make a plan. Returns the plan and problems. After errors, the plan is None or is marked as errored."""
    problems = _warnings(config, variables, options)
    try:
        plan, item = _make(config, state, variables, schemas, options, build_graph, hooks or Hooks())
    except Failure as failure:
        return None, problems + failure.diagnostics
    return plan, problems + item


def _make(
    config: Config,
    state: State,
    variables: Mapping[str, RootVariable],
    schemas: Schemas,
    options: PlanOptions,
    build_graph: BuildGraph,
    hooks: Hooks,
) -> tuple[Plan | None, list[Diagnostic]]:
    if options.limits.replace and options.mode != "normal":
        detail = "Only an ordinary plan can replace objects: remove either -replace, or -destroy or -refresh-only."
        return None, [error("plan.replace_mode", "This kind of plan cannot replace objects", detail)]
    if options.limits.invoke:
        if problems := _check_invocations(config, options):
            return None, problems
        moves = apply_moves(config, state) if options.moves else MoveResults(state)
        graph, reading = build_graph(options.walk, moves.state), evolve(options, mode="refresh-only")
        return _only_invocations(*plan_walk(graph, config, moves, variables, schemas, reading, hooks), options)
    if options.mode == "normal":
        problems = [*check_imports(config), *check_removed(config.root)]
        if has_errors(problems):
            return None, problems
    if options.mode == "destroy" and options.refresh and not state.is_empty:
        ordinary = evolve(options, mode="normal", before_destroy=True, minimal_refresh=False)
        refreshed, problems = _make(config, state, variables, schemas, ordinary, build_graph, hooks)
        if refreshed is None or has_errors(problems) or options.stop.requested:
            return None, problems
        # always report objects that could not be moved, because they may be the cause of the errors
        moves = apply_moves(config, refreshed.prior_state)
        problems = check_targets(moves, options.limits)
        if problems:
            return None, problems
        plan, problems = plan_walk(
            build_graph(options.walk, moves.state), config, moves, variables, schemas, options, hooks
        )
        return (evolve(plan, previous_state=refreshed.previous_state) if plan else None), problems
    moves = apply_moves(config, state) if options.moves else MoveResults(state)
    problems = check_targets(moves, options.limits)
    if problems:
        return None, problems
    return plan_walk(build_graph(options.walk, moves.state), config, moves, variables, schemas, options, hooks)


def _check_invocations(config: Config, options: PlanOptions) -> list[Diagnostic]:
    if options.mode != "normal" or options.limits.replace:
        detail = "A plan that invokes actions changes nothing else: remove -destroy, -refresh-only and -replace."
        return [error("plan.invoke_mode", "This kind of plan cannot invoke actions", detail)]
    from planner.engine.plan.invocations import unknown_actions

    return unknown_actions(config, options.limits.invoke)


def _only_invocations(
    plan: Plan | None, problems: list[Diagnostic], options: PlanOptions
) -> tuple[Plan | None, list[Diagnostic]]:
    """The plan without changes, drift and outputs, so that it only invokes actions; and the problems. If the plan
    invokes nothing, it is marked as errored, and an error is added to the problems."""
    if plan is not None and not plan.errored and not plan.invocations and not options.deferred:
        asked = ", ".join(f"-invoke={address}" for address in options.limits.invoke)
        detail = f"The configuration has no instance of the action that {asked} names."
        problems = [*problems, error("plan.invoke_nothing", "Nothing to invoke", detail)]
        plan = evolve(plan, errored=True)
    return (evolve(plan, mode="normal", changes=(), drift=(), outputs=()) if plan else None), problems


def _warnings(config: Config, variables: Mapping[str, RootVariable], options: PlanOptions) -> list[Diagnostic]:
    diagnostics = []
    for name, decl in sorted(config.root.variables.items()):
        given = variables.get(name)
        if decl.deprecated and given is not None and given.raw is not None:
            detail = f"{name} is deprecated: {decl.deprecated}"
            summary = "Deprecated variable used from the root module"
            diagnostics.append(warning("plan.deprecated_root_variable", summary, detail, decl.span))
    if options.limits.including(block for block, _, _ in options.deferred).is_partial:
        detail = (
            "You are creating a plan with either the -target option or the -exclude option, which means that the "
            "result of this plan may not represent all of the changes requested by the current configuration.\n\nThe "
            "-target and -exclude options are not for routine use, and are provided only for exceptional situations "
            "such as recovering from errors or mistakes, or when planner specifically suggests to use it as part of "
            "an error message."
        )
        diagnostics.append(warning("plan.targeting", "Resource targeting is in effect", detail))
    return diagnostics
