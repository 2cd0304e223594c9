"""Questions about a plan: why an action is planned, why a value is not known yet; what breaks cycles."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from attrs import evolve

from planner.operations import graphs
from planner.operations.session import Options
from planner.vocabulary.diagnostic import Diagnostic, Failure, has_errors

if TYPE_CHECKING:
    from planner.datalog.engine.fact_base import FactBase
    from planner.explain.why import Explainer
    from planner.graph.cycles import Knot
    from planner.model.graph import Graph
    from planner.pipeline import Planned

GRAPH_WORDS = {
    "targeted": "selected",
    "excluded": "excluded",
    "forced": "forced_create_before_destroy",
}
"""short words of `why` for predicates about a vertex: within -target and -exclude, out of it because of -exclude,
created before it is destroyed because of something that depends on it"""

UNKNOWN = "unknown"

INSTANCE_WORDS = {"targeted": "selected_instance", "excluded": "left_out_instance"}
"""the same words about an instance of a resource whose vertex stands for all of them"""

MOVED = "moved"
"""word of `why` for an object of the state that lives at another address now"""


def is_word(text: str) -> bool:
    """Whether a word of `why` names a planned action, or what is asked of a value."""
    from planner.explain.why import verbs

    return text == UNKNOWN or text in verbs()


def vertex_fact(graph: Graph, word: str, what: str) -> str:
    """The fact that a short word says of a vertex or an instance, in the rule language. Raises Failure for an unknown
    vertex."""
    from planner.graph.why import find_node
    from planner.syntax.rule_syntax import quote

    if word in INSTANCE_WORDS and is_single_instance(graph, what):
        return f"{INSTANCE_WORDS[word]}({quote(what)})"
    return f"{GRAPH_WORDS[word]}({quote(find_node(graph, what, pruned=True))})"


def is_single_instance(graph: Graph, what: str) -> bool:
    """Whether an address is of an instance that has no vertex of its own, because one stands for its whole resource."""
    from planner.graph.names import meant_node
    from planner.vocabulary.address import AddressError, ModuleAddress, parse_address

    names = {row[0] for row in graph.database["node_base"]}
    if meant_node(names, what) is not None:
        return False
    try:
        address = parse_address(what)
    except AddressError:
        return False
    return not isinstance(address, ModuleAddress) and f"{address.config} (expand)" in names


def facts_with_instances(facts: FactBase, made: Planned) -> FactBase:
    """The facts together with those about instances, known once a plan is made. Raises Failure without one."""
    from planner.explain.instances import with_instances

    found = explainer_of(made)
    if found is None or made.plan is None:
        raise Failure(made.diagnostics)
    return with_instances(facts, found.places.context, made.plan.prior_state)


def moves_ground(options: Options, plan_file: str | None = None) -> tuple[Graph | None, list[Diagnostic]]:
    """What the rules about moves derive, in a graph without vertices. None when there is no state to ask about."""
    from planner import pipeline
    from planner.datalog.engine.evaluate import evaluate
    from planner.model.graph import Graph
    from planner.plan.moves import asked_facts, moved_back
    from planner.programs.rule_programs import moving_program

    if plan_file is not None:
        made = pipeline.planned(options, plan_file)
        session, state, problems = made.session, None, list(made.diagnostics)
        if made.plan is not None and made.plan.previous_state is not None:
            origins = {c.address: c.previous_address for c in made.plan.changes if not c.deposed}
            state = moved_back(made.plan.previous_state, origins)
    else:
        session = pipeline.load_for_graph(options)
        state, problems = session.state, list(session.diagnostics)
    if has_errors(problems) or session.config is None or state is None:
        return None, problems
    program = moving_program()
    facts = asked_facts(session.config, state, session.options.targets, session.options.excludes)
    return Graph({}, (), {}, database=evaluate(program, facts), program=program), problems


def explainer(options: Options, plan_file: str | None = None) -> tuple[Explainer | None, list[Diagnostic]]:
    """What answers questions about a plan: the one in a file, or one made for the purpose, without locking the state.
    None when there is no plan to ask about."""
    from planner import pipeline

    made = pipeline.planned(options, plan_file)
    return explainer_of(made), list(made.diagnostics)


def explainer_of(made: Planned) -> Explainer | None:
    """What answers questions about a plan that is there; None when there is no plan to ask about."""
    from planner.evaluation.planned_values import planned_values
    from planner.explain.why import Explainer
    from planner.state.model import State

    session, plan = made.session, made.plan
    if plan is None or session.config is None:
        return None
    unlimited = evolve(session, options=evolve(session.options, targets=(), excludes=()))
    graph = graphs.build("eval", unlimited, plan.prior_state or State())
    context = planned_values(graph, session.config, plan, session.variables, session.schemas, session.workspace)
    return Explainer(plan, session.config, context, session.variables)


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
