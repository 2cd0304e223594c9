"""What people ask of a session: graphs to draw, and reasons for edges, actions and facts. Queries are in query.py."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, TypeAlias

from attrs import evolve

from planner.operations import graphs
from planner.operations.session import Options
from planner.vocabulary.diagnostic import Diagnostic, Failure, error, has_errors

if TYPE_CHECKING:
    from planner.model.graph import Graph

Proved: TypeAlias = tuple["dict[str, Any] | None", list[Diagnostic]]
"""a proof in the documented format, and what there is to say"""


# ---------------------------------------------------------------- graphs


def graph(options: Options, kind: str = "plan", plan_file: str | None = None, as_planned: bool = False) -> Graph:
    """The graph of an operation: plan, plan-refresh-only, plan-destroy or apply. `as_planned`: exactly as the
    operation itself builds it, with moves done and import blocks read; otherwise the way it is drawn, from the
    configuration and the state as they stand. Problems are in the graph's diagnostics."""
    return _graph(options, kind, plan_file, as_planned)


def _graph(
    options: Options, kind: str, plan_file: str | None, as_planned: bool, asked_about: tuple[str, ...] = ()
) -> Graph:
    from planner import pipeline
    from planner.graph.build import build_graph
    from planner.graph.problems import graph_problems
    from planner.model.graph import Graph

    if plan_file is not None:
        made = pipeline.planned(options, plan_file)
        if made.plan is None or has_errors(made.diagnostics):
            return Graph({}, (), {}, made.diagnostics)
        session = made.session
        if kind.startswith("plan"):
            facts = graphs.planning_facts(made.plan, session, asked_about)
        else:
            facts = graphs.apply_facts(made.plan, session, asked_about)
    else:
        session = pipeline.load_for_graph(options)
        if session.failed or session.config is None or session.state is None:
            return Graph({}, (), {}, session.diagnostics)
        state = session.state
        walk = "apply" if kind == "apply" else "plan"
        if kind == "plan-destroy" or options.mode == "destroy":
            walk = graphs.DESTROY_WALKS[walk]
        if as_planned:
            from planner.plan.moves import apply_moves

            state = apply_moves(session.config, state).state
            if walk == "plan-destroy" and session.options.refresh and not state.is_empty:
                refreshed = pipeline.refreshed_to_destroy(session)
                if refreshed is None:
                    walk = "plan"  # planning ends there when reading the objects fails
                else:
                    state = apply_moves(session.config, refreshed).state
        facts = graphs.graph_facts(walk, session, state, (), asked_about, imports=as_planned)
    built = build_graph(facts, own=session.rules)
    return evolve(built, diagnostics=(*session.diagnostics, *graph_problems(built)))


# ---------------------------------------------------------------- why

_FACT = re.compile(r"\s*[a-z]\w*\(")


def why(
    options: Options,
    words: tuple[str, ...],
    negated: bool = False,
    kind: str = "",
    plan_file: str | None = None,
) -> tuple[dict[str, Any] | None, list[Diagnostic]]:
    """The proof of what the words name, in the documented format: two vertices (why the first waits for the second),
    a fact, or an address (why its action is planned)."""
    from planner.operations.explanations import GRAPH_WORDS, MOVED, is_word, vertex_fact, why_planned

    if len(words) == 2 and words[0] in GRAPH_WORDS:
        kind = kind or "plan"  # that is where it was decided, also for a plan in a file
    kind = kind or ("apply" if plan_file else "plan")
    if len(words) == 2 and words[0] in GRAPH_WORDS:
        text = vertex_fact(_checked(_graph(options, kind, plan_file, True)), *words)
        return _why_fact(options, text, kind, plan_file, negated)
    if len(words) == 2 and words[0] == MOVED:
        return _why_moved(options, words[1], plan_file, negated)
    if len(words) == 2 and is_word(words[0]):
        return why_planned(options, words[0], words[1], plan_file, negated)
    if len(words) == 2 and not negated:
        return _why_wait(options, words, kind, plan_file)
    if len(words) == 1 and _FACT.match(words[0]):
        return _why_fact(options, words[0], kind, plan_file, negated)
    if len(words) == 1:
        return why_planned(options, "", words[0], plan_file)
    if len(words) == 2:
        return _why_fact(options, f"edge({_quoted(words[0])}, {_quoted(words[1])})", kind, plan_file, True)
    raise Failure(error("why.words", "Nothing to explain", "Name two vertices, one address, or one fact."))


def _checked(found: Graph) -> Graph:
    if not found.nodes:
        raise Failure(found.diagnostics)
    return found


def _why_wait(options: Options, words: tuple[str, ...], kind: str, plan_file: str | None) -> Proved:
    from planner.graph.names import MEANT
    from planner.graph.why import find_node, prove_wait
    from planner.operations.explanations import is_single_instance

    meant = tuple(words[1] + suffix for suffix in ("", *MEANT))
    found = _checked(_graph(options, kind, plan_file, True, meant))
    if all(is_single_instance(found, word) for word in words):
        return _why_fact(options, f"instance_waits({_quoted(words[0])}, {_quoted(words[1])})", kind, plan_file, False)
    dependent, dependency = (find_node(found, word) for word in words)
    return prove_wait(found, dependent, dependency)


def _why_fact(options: Options, text: str, kind: str, plan_file: str | None, negated: bool) -> Proved:
    from planner import pipeline
    from planner.explain.instances import is_about_instances
    from planner.graph.build import graph_program, graph_with
    from planner.operations.explanations import facts_with_instances, moves_ground
    from planner.programs.rule_programs import moving_program

    name = text.partition("(")[0].strip()
    if name in moving_program().predicates and name not in graph_program().predicates:
        ground, diagnostics = moves_ground(options, plan_file)
        return _proved(ground, text, negated) if ground is not None else (None, diagnostics)
    found = _checked(_graph(options, kind, plan_file, True))
    predicate = found.program.predicates.get(name)
    if predicate is not None and is_about_instances(predicate):
        facts = facts_with_instances(found.database.facts, pipeline.planned(options, plan_file))
        found = graph_with(found.program, facts, name)
    elif predicate is not None and name not in found.database:
        found = graph_with(found.program, found.database.facts, name)
    return _proved(found, text, negated)


def _why_moved(options: Options, what: str, plan_file: str | None, negated: bool) -> Proved:
    """Why the object that lives at an address now, or that lived there, moved."""
    from planner.operations.explanations import moves_ground

    ground, diagnostics = moves_ground(options, plan_file)
    if ground is None:
        return None, diagnostics
    moves: list[tuple[str, str]] = sorted(ground.database["moved"])
    row = next((row for row in moves if what == row[1]), None) or next((row for row in moves if what == row[0]), None)
    if row is None and not negated:
        detail = f"No object of the state moves from or to {what}."
        raise Failure(error("why.not_moved", "Nothing to explain", detail))
    origin, address = row or (what, what)
    return _proved(ground, f"moved({_quoted(origin)}, {_quoted(address)})", negated)


def _proved(found: Graph, text: str, negated: bool) -> Proved:
    """The proof of a fact, or that it does not hold."""
    from planner.graph.why import prove, read_query, why_not, with_nodes
    from planner.syntax.rule_syntax import Atom, Constant

    query, problems = read_query(found.program, text)
    body = with_nodes(found, query).rule.body
    if len(body) != 1 or not isinstance(body[0], Atom) or not all(isinstance(a, Constant) for a in body[0].arguments):
        raise Failure(error("why.fact", "Not a fact", 'Name one fact without variables, such as edge("a", "b").'))
    atom = body[0]
    row = tuple(a.value for a in atom.arguments if isinstance(a, Constant))
    proof = prove(found, atom.predicate, row)
    if negated:
        if proof is not None:
            return None, [*problems, error("why.holds", "It does hold", f"{atom} holds; ask why without -not.")]
        obstacles, _ = why_not(found, atom.predicate, row)
        return {"format_version": "1.0", "goal": [atom.predicate, *row], "holds": False, "rules": obstacles}, problems
    if proof is None:
        _, reasons = why_not(found, atom.predicate, row)
        return None, [*problems, error("why.fails", "It does not hold", f"{atom} does not hold.\n{reasons}")]
    return proof, problems


# ---------------------------------------------------------------- advice


def advice(options: Options, plan_file: str | None = None) -> tuple[list[tuple[str, str, str]], list[Diagnostic]]:
    """Remarks about a plan (code, address, message), sorted: those of the rules, and of the user's own."""
    from planner import pipeline
    from planner.graph.build import build_graph

    made = pipeline.planned(options, plan_file)
    if made.plan is None or has_errors(made.diagnostics):
        return [], list(made.diagnostics)
    built = build_graph(graphs.apply_facts(made.plan, made.session), True, made.session.rules)
    return sorted(built.database["advice"]), list(made.diagnostics)


def _quoted(text: str) -> str:
    from planner.syntax.rule_syntax import quote

    return quote(text)
