"""Implements `why`: the proof of an edge, a fact, an action or an unknown value."""

from __future__ import annotations

import re
from typing import Any, TypeAlias

from planner.foundation.vocabulary.diagnostic import Diagnostic, Failure, error
from planner.language.syntax.rule_syntax import Atom, Constant, quote
from planner.logic.datalog.engine.evaluate import evaluate
from planner.logic.datalog.engine.program import RuleProgram
from planner.logic.graph.build import graph_program, graph_with, user_files
from planner.logic.graph.cycles import place
from planner.logic.graph.why import (
    find_node,
    not_an_edge,
    only_fact,
    prove,
    prove_wait,
    read_query,
    vertices_meant,
    why_not,
    with_nodes,
)
from planner.logic.model.graph import Graph
from planner.logic.programs.actions import is_word
from planner.logic.programs.rule_programs import product_program
from planner.operations.explanations import (
    DEFERRED,
    DEFERRED_BLOCK,
    DEFERRED_DEPENDENT,
    DEPENDENCY,
    DRIFT,
    FORCED,
    GRAPH_WORDS,
    INVOKE,
    MOVED,
    decision_ground,
    deferral_ground,
    explainer,
    facts_with_instances,
    is_single_instance,
    moves_ground,
    relevance_ground,
    vertex_fact,
    why_planned,
    with_dependency,
)
from planner.operations.graph import graph, with_vertices
from planner.operations.options import OperationOptions
from planner.operations.plan_files import open_or_make_plan
from planner.operations.verdicts import WORDS, why_no_verdict, why_verdict

Proved: TypeAlias = tuple["dict[str, Any] | None", list[Diagnostic]]
"""(proof as `why -json` prints it, or None; diagnostics)"""

_FACT = re.compile(r"\s*[a-z][\w.]*\(")


def why(
    options: OperationOptions,
    words: tuple[str, ...],
    negated: bool = False,
    kind: str = "",
    plan_file: str | None = None,
) -> tuple[dict[str, Any] | None, list[Diagnostic]]:
    """The proof as `why -json` prints it, and diagnostics. `words` are two vertices (why the first waits for the
    second), a fact, an address (why the action on its object is planned), or a word of `why` and its arguments. If
    `negated`, the result is the reason why this is not so. None on errors. Raises Failure."""
    if len(words) > 1 and words[0] in WORDS:
        return (why_no_verdict if negated else why_verdict)(options, words[0], words[1:], plan_file)
    if len(words) == 2 and words[0] == DEFERRED:
        return _why_deferred(options, words[1], plan_file, negated)
    if len(words) == 2 and words[0] in GRAPH_WORDS:
        kind = kind or "plan"  # this was decided while planning, even for a plan in a file
        target_graph = with_vertices(graph(options, kind, plan_file, True))
        text = vertex_fact(target_graph, *words)
        if words[0] == FORCED and not negated:
            return _why_forced(options, target_graph, words[1], text, kind, plan_file)
        return _why_fact(options, text, kind, plan_file, negated)
    if len(words) == 2 and words[0] == MOVED:
        return _why_moved(options, words[1], plan_file, negated)
    if len(words) == 2 and words[0] == DRIFT:
        return _why_drift(options, words[1], plan_file, negated)
    if len(words) == 2 and words[0] == INVOKE:
        return _why_invoke(options, words[1], plan_file, negated)
    if len(words) == 2 and is_word(words[0]):
        return why_planned(options, words[0], words[1], plan_file, negated)
    if len(words) == 2:
        return _why_wait(options, words, kind, plan_file, negated)
    if len(words) == 1 and _FACT.match(words[0]):
        return _why_fact(options, words[0], kind, plan_file, negated)
    if len(words) == 1:
        return why_planned(options, "", words[0], plan_file)
    raise Failure(error("why.words", "Nothing to explain", "Name two vertices, one address, or one fact."))


def _why_wait(
    options: OperationOptions, words: tuple[str, ...], kind: str, plan_file: str | None, negated: bool
) -> Proved:
    kind = kind or ("apply" if plan_file else "plan")
    target_graph = with_vertices(graph(options, kind, plan_file, True, words[1]))
    (dependent, dependency), notes = vertices_meant(target_graph, words)
    if dependent == dependency and all(is_single_instance(target_graph, word) for word in words):
        fact = f"instance_waits({quote(words[0])}, {quote(words[1])})"
        return _why_fact(options, fact, kind, plan_file, negated)
    if dependency != words[1] and notes:  # the relation is derived only for pairs with this second argument
        target_graph = with_vertices(graph(options, kind, plan_file, True, dependency))
    if negated and (dependent, dependency) in target_graph.database["edge"]:
        detail = f"{dependent} waits for {dependency} directly; omit -not to see why."
        raise Failure(error("why.holds", "The fact holds", "\n".join([*notes, detail])))
    if negated:
        return not_an_edge(target_graph, dependent, dependency, notes), []
    return prove_wait(target_graph, dependent, dependency, notes)


def _why_forced(
    options: OperationOptions, target_graph: Graph, what: str, text: str, kind: str, plan_file: str | None
) -> Proved:
    """The proof that an object is create-before-destroy because of other objects, with the chain of objects that
    require this order. An apply graph takes the order from the plan, so for an apply graph the chain comes from the
    plan graph. Raises Failure if the object's own configuration requires this order."""
    from planner.logic.graph.decision_chains import FORCED, SAFE, replacement_chain

    node = find_node(target_graph, what, pruned=True)
    if (node,) in target_graph.database[SAFE] and kind == "apply":
        target_graph = with_vertices(graph(options, "plan", plan_file, True))
        node = find_node(target_graph, what, pruned=True)
        text = f"{FORCED}({quote(node)})"
    chain = replacement_chain(target_graph, node)
    if (node,) in target_graph.database[SAFE]:
        steps_text = "; ".join(f"{step.text} ({', '.join(map(place, step.sources))})" for step in chain)
        raise Failure(
            error(
                "why.not_forced",
                "Nothing forces it",
                "Its new object is created before the old one is destroyed, but not because of other objects: "
                f"{steps_text}.",
            )
        )
    proof, problems = _proved(target_graph, text, False)
    if proof is None or not chain:
        return proof, problems
    message = f"something to which create_before_destroy applies depends on {node}"
    return {**proof, "chains": [{"text": message, "steps": [step.json for step in chain]}]}, problems


def _why_fact(options: OperationOptions, text: str, kind: str, plan_file: str | None, negated: bool) -> Proved:
    from planner.answers.explain.instances import is_about_instances
    from planner.operations.policy_relations import why_relation
    from planner.operations.query import is_about_changes, reads

    name = text.partition("(")[0].strip()
    if name in product_program("causes").predicates and name not in graph_program().predicates:
        ground, _, diagnostics = decision_ground(options, _first_argument(product_program("causes"), text), plan_file)
        return _proved(ground, text, negated) if ground is not None else (None, diagnostics)
    for program, ground_of in (("moving", moves_ground), ("relevance", relevance_ground)):
        if name not in graph_program().predicates and name in product_program(program).predicates:
            ground, diagnostics = ground_of(options, plan_file)
            return _proved(ground, text, negated) if ground is not None else (None, diagnostics)
    rules = graph_program(user_files(options.rules))
    of_policies = why_relation(options, rules, text, plan_file, negated) if name not in rules.predicates else None
    if of_policies is not None:
        return of_policies
    if plan_file is None and name in rules.predicates and reads(rules, (name,), is_about_changes):
        return _proved(_planned_graph(options, rules, name, kind or "apply"), text, negated)
    target_graph = with_vertices(graph(options, kind or ("apply" if plan_file else "plan"), plan_file, True))
    if name == DEPENDENCY:  # a row of a native operator has no proof, but the equivalent rules have proofs
        return _proved(*with_dependency(target_graph, text), negated)
    if name in target_graph.program.predicates and reads(target_graph.program, (name,), is_about_instances):
        answer = open_or_make_plan(options, plan_file)
        if answer.made is None:
            raise Failure(answer.diagnostics)
        target_graph = graph_with(
            target_graph.program, facts_with_instances(target_graph.database.facts, answer.made), name
        )
    elif name in target_graph.program.predicates and name not in target_graph.database:
        target_graph = graph_with(target_graph.program, target_graph.database.facts, name)
    return _proved(target_graph, text, negated)


def _planned_graph(options: OperationOptions, program: RuleProgram, name: str, kind: str) -> Graph:
    """The graph of a new plan, with the relation `name`, which is derived only from plans. Raises Failure."""
    from planner.answers.explain.instances import is_about_instances
    from planner.operations.query import facts_of_plan, plan_of_kind, reads

    answer = plan_of_kind(options, kind)
    if answer.complete is None:
        raise Failure(answer.diagnostics)
    return graph_with(program, facts_of_plan(answer.complete, kind, reads(program, (name,), is_about_instances)), name)


def _why_moved(options: OperationOptions, what: str, plan_file: str | None, negated: bool) -> Proved:
    """Why an object moved or, if `negated`, why it did not move. `what`: the new or the old address of the object.
    Raises Failure."""
    ground, diagnostics = moves_ground(options, plan_file)
    if ground is None:
        return None, diagnostics
    moves: list[tuple[str, str]] = sorted(ground.database["moved"])
    row = next((row for row in moves if what == row[1]), None) or next((row for row in moves if what == row[0]), None)
    if row is None and not negated:
        detail = f"No object of the state moves from or to {what}."
        raise Failure(error("why.not_moved", "Nothing to explain", detail))
    origin, address = row or (what, what)
    return _proved(ground, f"moved({quote(origin)}, {quote(address)})", negated)


def _why_deferred(options: OperationOptions, what: str, plan_file: str | None, negated: bool) -> Proved:
    """Why a resource or module is deferred, and which resources and modules are deferred because they depend on it. If
    `negated`, why it is not deferred. None if no plan can be made."""
    from planner.logic.graph.decision_chains import deferral_chain

    ground, diagnostics = deferral_ground(options, plan_file)
    if ground is None:
        return None, diagnostics
    predicate, row = (
        DEFERRED_BLOCK,
        next(row for row in [*ground.database[DEFERRED_BLOCK], ("",)] if row[0] in (what, "")),
    )
    if not row[0]:
        (node,), _ = vertices_meant(ground, [what])
        predicate, row = GRAPH_WORDS[DEFERRED], (node,)
    proof, problems = _proved(ground, f"{predicate}({', '.join(map(quote, row))})", negated)
    if proof is None or negated:
        return proof, problems
    steps = [step.json for step in deferral_chain(ground, predicate, row)]
    dependents = sorted(object for object, block in ground.database[DEFERRED_DEPENDENT] if block == what)
    if dependents:
        steps.append({"text": f"left with it, because they depend on it: {', '.join(dependents)}", "sources": []})
    return {**proof, "chains": [{"text": f"{what} is left for a later plan", "steps": steps}]}, problems


def _why_drift(options: OperationOptions, what: str, plan_file: str | None, negated: bool) -> Proved:
    """The proof that an object changed outside planner or, if `negated`, the reason why it did not change. Raises
    Failure."""
    ground, action, diagnostics = decision_ground(options, what, plan_file)
    if ground is None:
        return None, diagnostics
    if not action and not negated:
        raise Failure(error("why.no_drift", "Nothing to explain", f"{what} has not changed since the last apply."))
    return _proved(ground, f"drift({quote(what)}, {quote(action or 'update')})", negated)


def _why_invoke(options: OperationOptions, what: str, plan_file: str | None, negated: bool) -> Proved:
    """Why the plan invokes an action, or invokes actions of an object, and what happens if the action fails. If
    `negated`, why the plan does not invoke them. Raises Failure."""
    from planner.logic.graph.decision_chains import invocation_failure

    answers, diagnostics = explainer(options, plan_file)
    if answers is None:
        return None, diagnostics
    rows = {row for change in answers.plan.changes for row in change.facts if row[0] in ("trigger", "trigger_action")}
    events = sorted((row[1], row[3], row[2]) for row in rows if row[0] == "trigger")
    named = {row[1:] for row in rows if row[0] == "trigger_action"}
    invocations = sorted(
        (instance, event, action)
        for instance, event, block in events
        for owner, at, action in named
        if (owner, at) == (instance, block) and (what in (instance, action) or what.startswith(f"{action}["))
    )
    if not invocations:
        detail = f"No trigger of an object in the plan names {what}, and no object {what} with triggers is in the plan."
        if any(what in (one.address, one.caller) for one in answers.plan.invocations if not one.event):
            detail = "The plan invokes actions because -invoke names them, not because of triggers."
        raise Failure(error("why.no_trigger", "Nothing to explain", detail))
    program = product_program("causes")
    for instance, event, action in invocations:
        ground = Graph({}, (), {}, database=evaluate(program, answers.about(instance)), program=program)
        if ((instance, event, action) in ground.database["invocation"]) != negated:
            break
    proof, problems = _proved(ground, f"invocation({quote(instance)}, {quote(event)}, {quote(action)})", negated)
    steps = invocation_failure(ground, instance, event, action) if proof is not None and not negated else []
    chain = {"text": f"If {action} fails", "steps": [step.json for step in steps]}
    return ({**proof, "chains": [chain]} if proof is not None and steps else proof), problems


def _first_argument(program: RuleProgram, text: str) -> str:
    """The first constant that is the first argument of an atom in a query; "" if there is none. Raises Failure."""
    for atom in read_query(program, text)[0].literals:
        if isinstance(atom, Atom) and atom.arguments and isinstance(atom.arguments[0], Constant):
            return str(atom.arguments[0].value)
    return ""


def _proved(graph: Graph, text: str, negated: bool) -> Proved:
    """The proof of a fact or, if `negated`, the reason why the fact does not hold; and diagnostics. Raises Failure."""
    from planner.operations.query import known_elsewhere

    try:
        query, problems = read_query(graph.program, text)
    except Failure as failure:
        raise Failure(known_elsewhere(failure.diagnostics, graph.program)) from None
    query, unknown = with_nodes(graph, query)
    atom = only_fact(query)
    row = tuple(a.value for a in atom.arguments if isinstance(a, Constant))
    proof = prove(graph, atom.predicate, row)
    if proof is None:
        problems = [*problems, *unknown]
    else:
        problems = [*problems, *(problem for problem in unknown if problem.code == "query.stands_for")]
    if negated:
        if proof is not None:
            return None, [*problems, error("why.holds", "The fact holds", f"{atom} holds. Omit -not to see why.")]
        if atom.predicate == "edge":
            notes = [problem.detail for problem in unknown if problem.code == "query.stands_for"]
            others = [problem for problem in problems if problem.code != "query.stands_for"]
            return not_an_edge(graph, str(row[0]), str(row[1]), notes), others
        obstacles, _ = why_not(graph, atom.predicate, row)
        return {"format_version": "1.0", "goal": [atom.predicate, *row], "holds": False, "rules": obstacles}, problems
    if proof is None:
        _, reasons = why_not(graph, atom.predicate, row)
        return None, [*problems, error("why.fails", "It does not hold", f"{atom} does not hold.\n{reasons}")]
    return proof, problems
