"""`graph`: the graph of an operation, to draw, to ask and to prove by."""

from __future__ import annotations

from planner.engine.plan.moves import apply_moves
from planner.foundation.vocabulary.diagnostic import Diagnostic
from planner.foundation.vocabulary.diagnostic_list import Diagnostics
from planner.foundation.vocabulary.records import evolve
from planner.foundation.vocabulary.walks import walk_of
from planner.logic.graph.build import ASKED, build_graph
from planner.logic.graph.problems import graph_problems
from planner.logic.model.graph import Graph
from planner.operations import graphs
from planner.operations.load import load_values
from planner.operations.options import OperationOptions
from planner.operations.plan import Start, refreshed_to_destroy
from planner.operations.plan_files import planned
from planner.operations.state_access import load_stored
from planner.world.state.model import State


def graph(
    options: OperationOptions,
    kind: str = "plan",
    plan_file: str | None = None,
    as_planned: bool = False,
    asked_about: str | None = None,
) -> Graph:
    """The graph of an operation: plan, plan-refresh-only, plan-destroy or apply. `as_planned`: exactly as the
    operation itself builds it, with moves done and import blocks read; otherwise the way it is drawn, from the
    configuration and the state as they stand, and only with what a walk needs. `asked_about`: the vertex whose waiting
    vertices are asked for. Problems are in the graph's diagnostics."""
    if plan_file is not None:
        return _of_plan(options, kind, plan_file, asked_about)
    told = Diagnostics()
    with told.until_an_error():
        start = load_stored(options, told)
        walk = walk_of("apply" if kind == "apply" else "plan", "destroy" if kind == "plan-destroy" else options.mode)
        state = start.state
        if as_planned:
            state = apply_moves(start.config, state).state
            if walk == "plan-destroy" and options.refresh and not state.is_empty:
                refreshed = _refreshed(start)
                if refreshed is None:
                    walk = "plan"  # planning ends there when reading the objects fails
                else:
                    state = refreshed
        facts = graphs.graph_facts(walk, start, state, options.limits, (), asked_about, imports=as_planned)
        built = build_graph(facts, own=start.rules, more=ASKED if as_planned else ())
        return evolve(built, diagnostics=(*told, *graph_problems(built)))
    return _none(told)


def _of_plan(options: OperationOptions, kind: str, plan_file: str, asked_about: str | None) -> Graph:
    answer = planned(options, plan_file)
    made = answer.complete
    if made is None:
        return _none(answer.diagnostics)
    facts_of = graphs.planning_facts if kind.startswith("plan") else graphs.apply_facts
    built = build_graph(facts_of(made.plan, made.loaded, asked_about), own=made.loaded.rules, more=ASKED)
    return evolve(built, diagnostics=tuple(graph_problems(built)))


def _none(diagnostics: tuple[Diagnostic, ...] | list[Diagnostic]) -> Graph:
    return Graph({}, (), {}, tuple(diagnostics))


def _refreshed(start: Start) -> State | None:
    """The state that a plan to destroy everything starts from; None when reading the objects fails."""
    variables, _ = load_values(start)
    refreshed = refreshed_to_destroy(start, variables)
    return None if refreshed is None else apply_moves(start.config, refreshed).state
