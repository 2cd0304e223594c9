"""Questions about a plan: why an action is planned, why a value is not known yet; what breaks cycles."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from attrs import evolve

from planner.operations import graphs
from planner.operations.session import Options
from planner.vocabulary.diagnostic import Diagnostic, Failure, has_errors

if TYPE_CHECKING:
    from planner.explain.why import Explainer
    from planner.graph.cycles import Knot
    from planner.model.graph import Graph

GRAPH_WORDS = {
    "targeted": "selected",
    "excluded": "excluded",
    "forced": "forced_create_before_destroy",
}
"""short words of `why` for predicates about a vertex: within -target and -exclude, out of it because of -exclude,
created before it is destroyed because of something that depends on it"""

UNKNOWN = "unknown"


def is_word(text: str) -> bool:
    """Whether a word of `why` names a planned action, or what is asked of a value."""
    from planner.explain.why import verbs

    return text == UNKNOWN or text in verbs()


def vertex_fact(graph: Graph, word: str, what: str) -> str:
    """The fact that a short word says of a vertex, in the rule language. Raises Failure for an unknown vertex."""
    from planner.graph.why import find_node
    from planner.syntax.rule_syntax import quote

    return f"{GRAPH_WORDS[word]}({quote(find_node(graph, what, pruned=True))})"


def explainer(options: Options, plan_file: str | None = None) -> tuple[Explainer | None, list[Diagnostic]]:
    """What answers questions about a plan: the one in a file, or one made for the purpose, without locking the state.
    None when there is no plan to ask about."""
    from planner import pipeline
    from planner.evaluation.planned_values import planned_values
    from planner.explain.why import Explainer
    from planner.state.model import State

    made = pipeline.planned(options, plan_file)
    session, plan, problems = made.session, made.plan, list(made.diagnostics)
    if plan is None or session.config is None:
        return None, problems
    unlimited = evolve(session, options=evolve(session.options, targets=(), excludes=()))
    graph = graphs.build("eval", unlimited, plan.prior_state or State())
    context = planned_values(graph, session.config, plan, session.variables, session.schemas, session.workspace)
    return Explainer(plan, session.config, context, session.variables), problems


def why_planned(
    options: Options, verb: str, what: str, plan_file: str | None = None, negated: bool = False
) -> tuple[dict[str, Any] | None, list[Diagnostic]]:
    """The proof of a planned action (`verb` as people call it, or "" for whatever is planned) or of an unknown value.
    Raises Failure."""
    found, problems = explainer(options, plan_file)
    if found is None:
        return None, problems
    failed = problems if has_errors(problems) else []
    try:
        if verb == UNKNOWN:
            proof = found.not_unknown(what) if negated else found.unknown(what)
        else:
            proof = found.not_action(what, verb) if negated else found.action(what, verb)
    except Failure as failure:  # planning failed, so what is asked about may never have been planned
        raise Failure([*failed, *failure.diagnostics]) from None
    return proof, [_as_warning(d) for d in failed]


def _as_warning(problem: Diagnostic) -> Diagnostic:
    """An error of planning does not keep anybody from asking about what was planned."""
    return evolve(problem, severity="warning") if problem.is_error else problem


# ---------------------------------------------------------------- cycles


def cut(options: Options, kind: str = "", plan_file: str | None = None) -> tuple[list[Knot] | None, list[Diagnostic]]:
    """The knots of vertices that wait for each other, and what to remove. `kind` as for graphs; without it the plan
    graph's, and when that has none those of applying what is planned. None when there is no graph. Raises Failure."""
    from planner import pipeline
    from planner.graph.cycles import knots

    if plan_file is not None or kind in ("plan", "plan-destroy", ""):
        graph = pipeline.graph(options, kind or ("apply" if plan_file else "plan"), plan_file, as_planned=True)
        if not graph.nodes:
            return None, list(graph.diagnostics)
        found = knots(graph)
        if found or plan_file is not None or kind:
            return found, []
    return _apply_knots(options)


def _apply_knots(options: Options) -> tuple[list[Knot] | None, list[Diagnostic]]:
    from planner import pipeline
    from planner.graph.build import build_graph
    from planner.graph.cycles import knots

    made = pipeline.planned(options)
    if made.plan is None or made.session.config is None:
        return None, list(made.diagnostics)
    return knots(build_graph(graphs.apply_facts(made.plan, made.session), own=made.session.rules)), []
