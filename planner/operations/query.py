"""Implements `query`: answers Datalog queries and questions about the graph (verbs), for a directory, a saved plan or a
state. This module loads the input, and for queries about actions makes a plan. Then a separate process with a time
limit derives the relations and answers the query."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from planner.answers.explain.instances import is_about_instances
from planner.engine.plan.moves import apply_moves
from planner.foundation.vocabulary.diagnostic import Diagnostic, Diagnostics, Failure, error, has_errors
from planner.foundation.vocabulary.limits import walk_of
from planner.foundation.vocabulary.nearest import did_you_mean, nearest
from planner.foundation.vocabulary.records import evolve, field, frozen
from planner.language.syntax.node_sets import VERBS, NodeSet, parse_node_set
from planner.language.syntax.rule_syntax import Constant
from planner.logic.datalog.ask.limit import run_limited
from planner.logic.datalog.ask.question import Query, ask, parse_query
from planner.logic.datalog.engine.evaluate import Database, evaluate
from planner.logic.datalog.engine.fact_base import FactBase, FactBuilder
from planner.logic.datalog.engine.program import RuleProgram
from planner.logic.datalog.language.builtins import FUNCTIONS, RELATIONS, TESTS
from planner.logic.datalog.language.model import Predicate, atoms
from planner.logic.datalog.language.values import Row, decode
from planner.logic.facts.from_state import from_changes, from_state
from planner.logic.graph.build import SPOKEN, Names, graph_program, user_files
from planner.logic.graph.query_answers import ABOUT, DRAWN, Actions, Answers, picture_of_rows, search, verb_of
from planner.logic.graph.question_checks import meant_query, mismatches
from planner.logic.programs.rule_programs import product_program
from planner.operations import graphs
from planner.operations.explanations import facts_with_instances
from planner.operations.options import OperationOptions
from planner.operations.plan import MadePlan, Planned
from planner.operations.plan_files import Unstored, open_or_make_plan
from planner.operations.policy_relations import Mentioned, mentioned, needs_plan
from planner.operations.state_access import load_stored
from planner.world.state.model import State

SECONDS = 30.0
"""time limit of a query, in seconds"""
LIMIT = 100
"""maximum number of paths in an answer"""
CLOSURE = "waits_for"
"""the relation that is never derived as a whole, but only for the pairs in the query"""


@frozen
class QueryTarget:
    """The options of a query: its graph, and limits. `kind`: the kind of graph, as for `graph`; "" means that the query
    determines it. `seconds`: the time limit; 0 means no limit and no separate process. `limit`: the maximum number of
    paths in the answer. `draw`: whether to also draw the answer."""

    kind: str = ""
    plan_file: str | None = None
    state_file: str | None = None
    seconds: float = SECONDS
    limit: int = LIMIT
    draw: bool = False


@frozen(eq=False)
class _Ground:
    """The data for answering a query: the facts of a graph, and the planned actions if there is a plan."""

    facts: FactBase
    actions: Actions = field(factory=dict)


def query(
    options: OperationOptions, words: tuple[str, ...], target: QueryTarget | None = None
) -> tuple[Answers, list[Diagnostic]]:
    """The answer to a query, and diagnostics. `words`: a Datalog query, a set expression, or a verb and its arguments.
    Raises Failure if the query is invalid or takes too long."""
    target = target or QueryTarget()
    if target.state_file is not None:
        return _ask_state(options, words, target, target.state_file)
    made = None
    if target.plan_file is not None or options.made is not None:
        opened = open_or_make_plan(options, target.plan_file)
        made = opened.complete
        if made is None:
            return Answers(), list(opened.diagnostics)
    program = graph_program(made.loaded.rules if made is not None else user_files(options.rules))
    if made is None and needs_plan(options, program, words[0]):
        opened = plan_of_kind(options, target.kind)
        made = opened.complete
        if made is None:
            return Answers(), list(opened.diagnostics)
    of_policies = mentioned(options, program, words[0], made)
    if of_policies is not None:
        return _ask_policies(options, target, made, program, of_policies, words[0])
    expression = node_set(words, program)
    if options.made is not None and not target.kind:
        target = evolve(target, kind="plan")  # queries about changes use the apply graph, see below
    if expression is not None:
        return _ask_graph(options, program, expression, target, made)
    parsed, problems = _parsed(program, words[0])
    if options.made is not None and reads(program, parsed.predicates, is_about_changes):
        target = evolve(target, kind="apply")
    instances = reads(program, parsed.predicates, is_about_instances)
    ground, more = _ground(options, target, made, reads(program, parsed.predicates, is_about_changes), instances)
    if ground is None:
        return Answers(), more
    facts = ground.facts
    answers, item = _limited(lambda: _answer(program, facts, parsed, target.draw), target)
    return answers, [*problems, *more, *item]


def answers_about(made: MadePlan[Unstored], text: str) -> tuple[Answers, list[Diagnostic]]:
    """The answer to a Datalog query about an existing plan, and diagnostics. Raises Failure for an invalid query."""
    program = graph_program(made.loaded.rules)
    of_policies = mentioned(made.loaded.options, program, text, made)
    if of_policies is not None:
        return _ask_policies(made.loaded.options, QueryTarget(), made, program, of_policies, text)
    parsed, problems = _parsed(program, text)
    kind = "apply" if reads(program, parsed.predicates, is_about_changes) else "plan"
    facts = facts_of_plan(made, kind, reads(program, parsed.predicates, is_about_instances))
    answers, item = _answer(program, facts, parsed, False)
    return answers, [*problems, *item]


def _ask_policies(
    options: OperationOptions,
    target: QueryTarget,
    made: MadePlan[Unstored] | None,
    program: RuleProgram,
    mentioned: Mentioned,
    text: str,
) -> tuple[Answers, list[Diagnostic]]:
    """Answer a query that names policy relations and possibly relations of a graph. The graph is the plan graph, which
    policies read, or the apply graph if the query names relations about planned changes."""
    space = program.beside(mentioned.own)
    parsed, problems = _parsed(space, text)
    others = parsed.predicates - mentioned.own.keys() - mentioned.shared.keys()
    kind = target.kind or ("apply" if reads(program, others, is_about_changes) else "plan")
    if made is None:
        answer = plan_of_kind(options, kind)
        made = answer.complete
        if made is None:
            return Answers(), list(answer.diagnostics)
    plan = made

    def work() -> tuple[Answers, list[Diagnostic]]:
        facts = facts_of_plan(plan, kind, reads(program, others, is_about_instances))
        if kind != "apply":  # the plan graph does not contain planned actions
            known = FactBuilder(facts)
            for name, rows in mentioned.shared_rows(plan).items():
                known.extend(name, rows, None)
            facts = known.build()
        return _answer(space, facts, parsed, target.draw, mentioned.rows(plan))

    answers, item = _limited(work, target)
    return answers, [*mentioned.warnings, *problems, *item]


def _limited(work: Any, target: QueryTarget) -> Any:
    return run_limited(work, target.seconds) if target.seconds else work()


# ---------------------------------------------------------------- queries

_CALLED = re.compile(r"\s*([a-z_][\w.]*)\(")
_NAMED = re.compile(r'\s*(\(|"[^"]*"\s*([-+&]|$)|[a-z_*?][\w*?-]*([.*?\[][^,]*|\s*)$)')


def node_set(words: tuple[str, ...], program: RuleProgram) -> NodeSet | None:
    """The set expression or the verb in `words`; None for a Datalog query. Raises Failure."""
    text = words[0]
    if len(words) > 1 and text not in VERBS:
        detail = f"There is no verb {text}.{did_you_mean(text, VERBS)} The verbs are {', '.join(VERBS)};"
        raise Failure(
            error("query.verb", "Unknown verb", f"{detail} write a Datalog query as one word, in single quotes.")
        )
    if text in VERBS:
        return parse_node_set(f"{text}({', '.join(words[1:])})")
    called = _CALLED.match(text)
    if called is not None:
        return parse_node_set(text) if _is_verb(called[1], program) else None
    return parse_node_set(text) if text.strip() not in program.predicates and _NAMED.match(text) else None


def _is_verb(name: str, program: RuleProgram) -> bool:
    """Whether the name before a parenthesis is a verb, or is misspelt and more similar to a verb than to a
    predicate."""
    known = (*program.predicates, *FUNCTIONS, *TESTS, *RELATIONS)
    if name in VERBS or name in known or "." in name:
        return name in VERBS
    return any(nearest(name, VERBS, most) and not nearest(name, known, most) for most in (1, 2))


def _parsed(program: RuleProgram, text: str) -> tuple[Query, list[Diagnostic]]:
    parsed, problems = parse_query(program, text)
    if parsed is None:
        raise Failure(known_elsewhere(problems, program))
    return parsed, problems


# ---------------------------------------------------------------- data of queries


def _ground(
    options: OperationOptions,
    target: QueryTarget,
    made: MadePlan[Unstored] | None,
    needs_plan: bool,
    instances: bool = False,
) -> tuple[_Ground | None, list[Diagnostic]]:
    """The data for a query, from an existing plan or, if the query needs a plan, from a new plan; and diagnostics. The
    data is None on errors. `instances`: whether the query reads facts about instances."""
    kind = target.kind or ("apply" if made or needs_plan else "plan")
    if made is None and (needs_plan or instances or kind == "apply"):
        answer = plan_of_kind(options, kind)
        made = answer.complete
        if made is None:
            return None, list(answer.diagnostics)
    if made is not None:
        return _Ground(facts_of_plan(made, kind, instances), _actions(made)), []
    diagnostics = Diagnostics()
    with diagnostics.until_an_error():
        start = load_stored(options, diagnostics)
        walk = walk_of("plan", "destroy" if kind == "plan-destroy" else options.mode)
        moved = apply_moves(start.config, start.state).state
        return _Ground(graphs.graph_facts(walk, start, moved, options.limits)), []
    return None, diagnostics


def _actions(made: MadePlan[Unstored]) -> Actions:
    plan = made.plan
    facts = FactBuilder()
    from_changes(facts, plan.changes, plan.prior_state, made.loaded.config)
    built = facts.build()
    objects = {row[0]: row[1] for row in built.relation("instance")}
    result: Actions = {}
    for instance, action in built.sorted("action"):
        for about in (objects[instance], instance):
            # a resource without keys has the same name as its only instance
            if (instance, action) not in result.setdefault((about, ""), []):
                result[about, ""].append((instance, action))
    for instance, key, action in built.sorted("deposed"):
        result.setdefault((instance, key), []).append((instance, action))
    return result


# ---------------------------------------------------------------- Datalog


def _answer(
    program: RuleProgram, facts: FactBase, parsed: Query, draw: bool, given: Mapping[str, Iterable[Row]] | None = None
) -> tuple[Answers, list[Diagnostic]]:
    """Derive the relations that a query needs, and answer it. `given`: {predicate: rows that another rule program
    derived}."""
    want = {"vertex", *SPOKEN, *parsed.predicates} - {CLOSURE} - (given or {}).keys()
    if draw:
        want.update(DRAWN)
    if CLOSURE in parsed.predicates:
        want.add("edge")
    database = evaluate(program, facts, want)
    if given:
        database = database.beside(program, given)
    parsed, problems = meant_query(Names.of(database), program.predicates, parsed)
    if CLOSURE in parsed.predicates:
        database = database.narrowed(CLOSURE, _closure(database, parsed))
    result = ask(program, database, parsed)
    if CLOSURE not in parsed.predicates:
        problems += mismatches(program.predicates, database, parsed, bool(result))
    rows = [tuple(decode(value) for value in row) for row in result.rows]
    picture = picture_of_rows(database, result.columns, rows) if draw else None
    return Answers(result.columns, rows, picture), problems


def _closure(database: Database, parsed: Query) -> set[tuple[str, str]]:
    from planner.logic.graph.verbs import Waiting, waits_for

    ends = []
    for atom, _ in atoms(parsed.literals):
        if atom.predicate == CLOSURE:
            dependent, dependency = (t.value if isinstance(t, Constant) else None for t in atom.arguments)
            ends.append((dependent, dependency))
    return waits_for(Waiting.of(database), ends)  # type: ignore[arg-type]


def _ask_state(
    options: OperationOptions, words: tuple[str, ...], target: QueryTarget, path: str
) -> tuple[Answers, list[Diagnostic]]:
    """Answer a query about the state in a file. Neither the configuration nor a graph is used. Raises Failure."""
    from planner.operations.show import ShownState, show

    relations = product_program("state")
    if node_set(words, graph_program()) is not None:
        detail = "A state has no graph: verbs and sets of vertices need the configuration or a plan."
        raise Failure(error("query.no_graph", "No graph", detail))
    try:
        parsed, problems = _parsed(relations, words[0])
    except Failure as failure:
        raise Failure([_of_the_graph(d, graph_program()) for d in failure.diagnostics]) from None
    shown, diagnostics = show(options, path)
    if shown is None or has_errors(diagnostics):
        return Answers(), diagnostics
    if not isinstance(shown, ShownState):
        raise Failure(error("query.state", "Not a state", f"{path} is a plan file: pass it with -plan."))
    if target.draw:
        raise Failure(error("query.no_graph", "No graph", "A state has no vertices to draw."))
    facts = FactBuilder()
    from_state(facts, shown.state or State())
    built = facts.build()

    def work() -> Answers:
        result = ask(relations, evaluate(relations, built, parsed.predicates), parsed)
        return Answers(result.columns, [tuple(decode(value) for value in row) for row in result.rows])

    return _limited(work, target), problems


def _of_the_graph(problem: Diagnostic, program: RuleProgram) -> Diagnostic:
    """The diagnostic. If a query about a state names a relation that only graphs have, the diagnostic explains this."""
    if problem.code == "rules.unknown_predicate" and problem.subject is not None:
        name = problem.subject.text.partition("(")[0].strip()
        if name in program.predicates:
            detail = (
                f"{name} is derived from a configuration. A state alone has the relations of rules/inputs/state.dl."
            )
            return evolve(problem, summary="Not a relation of a state", detail=detail)
    return problem


# ---------------------------------------------------------------- verbs


def _ask_graph(
    options: OperationOptions,
    program: RuleProgram,
    expression: NodeSet,
    target: QueryTarget,
    made: MadePlan[Unstored] | None,
) -> tuple[Answers, list[Diagnostic]]:
    """Answer a set expression or a verb. `blast` uses the plan graph, because unchanged objects have no vertex in the
    apply graph. `blast` also needs a plan, because its answer contains actions."""
    is_blast = verb_of(expression) == "blast"
    if is_blast and not target.kind and made is None:
        target = evolve(target, kind=walk_of("plan", options.mode))
    ground, problems = _ground(options, target, made, is_blast)
    if ground is None:
        return Answers(), problems
    facts, actions = ground.facts, ground.actions

    def work() -> tuple[Answers, list[Diagnostic]]:
        want = {"vertex", "edge", *SPOKEN, *(DRAWN if target.draw else ()), *(ABOUT if is_blast else ())}
        return search(evaluate(program, facts, want), expression, actions, target.limit, target.draw)

    answers, item = _limited(work, target)
    return answers, [*problems, *item]


# Relations that need a plan, and the facts of a plan.


def is_about_changes(predicate: Predicate) -> bool:
    """Whether a relation requires a plan, because it is about planned changes or their apply."""
    return predicate.span.filename.startswith(("apply/", "inputs/changes", "shared/action.", "shared/deposed."))


def reads(program: RuleProgram, predicates: Iterable[str], is_wanted: Callable[[Predicate], bool]) -> bool:
    """Whether `is_wanted` is true for a built-in relation that a query reads directly or through the user's rules."""
    waiting, seen = list(predicates), set(predicates)
    while waiting:
        predicate = program.predicates[waiting.pop()]
        if predicate.is_core:
            if is_wanted(predicate):
                return True
            continue
        for rule in program.rules_for(predicate.name):
            for atom, _ in atoms(rule.body):
                if atom.predicate not in seen:
                    seen.add(atom.predicate)
                    waiting.append(atom.predicate)
    return False


def known_elsewhere(problems: Iterable[Diagnostic], program: RuleProgram) -> list[Diagnostic]:
    """The diagnostics of a query. If another rule program has a relation that is unknown here, its diagnostic names
    that program."""
    from planner.answers.policy.rulebook import not_of_graphs

    return [not_of_graphs(problem, program.predicates) for problem in problems]


def plan_of_kind(options: OperationOptions, kind: str) -> Planned[Unstored]:
    mode: Any = {"plan-destroy": "destroy", "plan-refresh-only": "refresh-only"}.get(kind, options.mode)
    return open_or_make_plan(evolve(options, mode=mode))


def facts_of_plan(made: MadePlan[Unstored], kind: str, instances: bool) -> FactBase:
    """The facts for the apply graph of a plan (`kind` "apply"), or for the plan graph. `instances`: whether to include
    facts about instances."""
    facts_of = graphs.apply_facts if kind == "apply" else graphs.planning_facts
    facts = facts_of(made.plan, made.loaded)
    return facts_with_instances(facts, made) if instances else facts
