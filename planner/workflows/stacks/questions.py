"""Answers questions about the plan of a deployment: its graph, queries about all components, and explanations."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import pairwise
from typing import Any

from planner.answers.policy.facts.units import contents_needed, fact_value, facts_of
from planner.foundation.vocabulary.diagnostic import Diagnostic, Failure, error
from planner.foundation.vocabulary.nearest import did_you_mean
from planner.foundation.vocabulary.nearest import word as shell_word
from planner.foundation.vocabulary.span import Span
from planner.logic.datalog.ask.limit import run_limited
from planner.logic.datalog.ask.question import ask, parse_query
from planner.logic.datalog.engine.evaluate import Database, evaluate
from planner.logic.datalog.engine.fact_base import FactBase, FactBuilder
from planner.logic.datalog.engine.native import reduction
from planner.logic.datalog.explain.proof import proof_json
from planner.logic.datalog.explain.search import Prover
from planner.logic.datalog.explain.why_not import obstacles
from planner.logic.datalog.language.values import Row, decode
from planner.logic.graph.query_answers import Answers, picture_of_rows, search
from planner.logic.graph.verbs import Waiting, shortest_path
from planner.logic.model.graph import Graph, Node, adjacency
from planner.logic.programs.rule_programs import product_program
from planner.operations.explanations import why_in_plan
from planner.operations.query import node_set
from planner.workflows.stacks.approval import Approval, count_changes
from planner.workflows.stacks.decisions import split, stack_of
from planner.workflows.stacks.steps import DeploymentPlan

DRAWN = ("flow_node", "edge")


def facts_about(plan: DeploymentPlan, contents: Iterable[str] = ()) -> FactBase:
    """The facts about the plan of a deployment. `contents`: the relations of rules/batch/contents.dl with the content
    of component plans that are added. Raises Failure if planning failed."""
    if plan.decided is None:
        raise Failure(plan.diagnostics)
    wanted = tuple(contents)
    facts = FactBuilder(plan.decided.database.facts)
    facts.add("deployment", plan.deployment)
    for step in plan.steps:
        name = str(step.name)
        facts.add("has_step", name, stack_of(step.name))
        for action, number in count_changes(step).items():
            facts.add("component_changes", name, action, number)
        made = step.planned.complete if step.planned is not None else None
        if wanted:
            facts.add("status", name, step.what)
        if wanted and made is not None:
            for predicate, rows in facts_of(wanted, made.plan, made.loaded.config).items():
                for row in rows:
                    if None not in row:
                        facts.add(predicate, name, *map(fact_value, row))
    return facts.build()


def graph_of(plan: DeploymentPlan) -> Graph:
    """The graph of component instances, child stacks' inputs and provider configurations. Raises Failure."""
    database = evaluate(product_program("deployments"), facts_about(plan), DRAWN)
    nodes = {
        str(name): Node(str(name), str(kind), str(stack), str(name))
        for name, kind, stack in database.sorted("flow_node")
    }
    edges = {(str(a), str(b)) for a, b in database["edge"]}
    return Graph(nodes, frozenset(edges), adjacency(nodes, reduction(edges, {})), database=database)


def query(
    plan: DeploymentPlan, words: tuple[str, ...], seconds: float, limit: int, draw: bool = False
) -> tuple[Answers, list[Diagnostic]]:
    """The answer to a Datalog query or to a set expression over the graph, and diagnostics. If `draw`, the answer
    includes a drawing. Raises Failure if the query is invalid or takes longer than `seconds`, or if planning failed."""
    program = product_program("deployments")
    expression = node_set(words, program)
    if expression is not None:
        graph = graph_of(plan)
        diagnostics: tuple[Answers, list[Diagnostic]] = run_limited(
            lambda: search(_vertices(plan, graph), expression, {}, limit, draw), seconds
        )
        return diagnostics
    parsed, problems = parse_query(program, words[0])
    if parsed is None:
        raise Failure(problems)
    facts = facts_about(plan, contents_needed(program, parsed.predicates))

    def answer() -> Answers:
        diagnostics = ask(program, evaluate(program, facts, parsed.predicates), parsed)
        rows = [tuple(decode(value) for value in row) for row in diagnostics.rows]
        picture = picture_of_rows(_vertices(plan, graph_of(plan)), diagnostics.columns, rows) if draw else None
        return Answers(diagnostics.columns, rows, picture)

    return run_limited(answer, seconds), problems


def _vertices(plan: DeploymentPlan, graph: Graph) -> Any:
    """{relation: rows} for the relations about vertices from which set expressions and drawings are computed."""
    done = {str(step.name): step.what for step in plan.steps}
    return {
        "vertex": [(name, node.kind, node.module, name) for name, node in graph.nodes.items()],
        "edge": graph.edge_rows,
        "local_name": [(name, name) for name in graph.nodes],
        "instance": [(name, name, "", graph.nodes[name].module) for name in done],
        "address_means": [(name, name) for name in graph.nodes],
        "may_mean_vertex": [(name, "", name) for name in graph.nodes],
        "operation": done.items(),
        "instance_node": [(name, name) for name in done],
        "deposed_node": (),
    }


# Explanations: why an instance is deferred, its dependencies, the approval of a plan.


def why(
    plan: DeploymentPlan, predicate: str, name: str, other: str = "", negated: bool = False
) -> list[dict[str, Any]]:
    """Proofs, as JSON, that the relation `predicate` holds for an instance, or for the instances `name` and `other`. If
    `negated`, for each rule the conditions that do not hold. Raises Failure if there is nothing to explain."""
    database = _database(plan)
    known = {str(step.name) for step in plan.steps}
    for word in filter(None, (name, other)):
        if word not in known:
            detail = f"{word} is not an instance of a component in the deployment {plan.deployment}."
            raise Failure(error("stack.unknown", "Nothing to explain", f"{detail}{did_you_mean(word, known)}"))
    rows = [row for row in database.sorted(predicate) if row[0] == name and (not other or row[1] == other)]
    if predicate == "made_from" and not rows:
        # the path from an instance to one of its dependencies; empty if there is none
        edges = {(str(one), str(two)) for one, two in database["made_from"]}
        waiting = Waiting({end for edge in edges for end in edge}, edges)
        rows = [*pairwise(shortest_path(waiting, [name], [other]))]
    if predicate == "put_off" and not rows and not negated:
        rows, predicate = [row for row in database.sorted("put_off_in_part") if row[0] == name], "put_off_in_part"
    if negated:
        goal = ("does", name, "defer") if predicate == "put_off" else (predicate, name, other)
        return [_why_not(database, goal, bool(rows))]
    if not rows:
        raise Failure(error("stack.not_so", "Nothing to explain", _not_so(predicate, name, other)))
    return _proofs(database, predicate, rows)


def why_approved(approval: Approval, negated: bool = False) -> list[dict[str, Any]]:
    """Proofs, as JSON, that a plan is approved, or why it is not. If `negated`, for each rule that could approve it,
    the conditions that do not hold. Raises Failure if there is nothing to explain."""
    database = approval.database
    if negated:
        is_so = bool(database["approved"])
        rules = [str(row[1]) for row in database.facts.sorted("approval_rule")]
        return [_why_not(database, ("approved", approval.deployment, rule), is_so) for rule in rules or ["empty_plan"]]
    for predicate in ("approved", "objection", "held_up"):
        rows = database.sorted(predicate)
        if rows:
            return _proofs(database, predicate, rows)
    detail = "No group of the deployment has checks, so approval is required."
    raise Failure(error("stack.no_checks", "Nothing to explain", detail))


def why_planned(plan: DeploymentPlan, address: str, verb: str = "", negated: bool = False) -> list[dict[str, Any]]:
    """The proof of the action on an object. Its address begins with a component. If the proof depends on an unknown
    input, the result also contains the proofs of the component's dependencies on other instances. Raises Failure."""
    steps = {step.name: step for step in plan.steps}
    name, rest = split(steps, address, plan.deployment)
    step = steps[name]
    if step.planned is None:
        detail = f"Nothing in {name} is planned. To see why, run: planner stacks why deferred {shell_word(str(name))}"
        if step.what != "defer":
            detail = f"{name} is forgotten as a whole by a removed block."
        raise Failure(error("stack.not_planned_yet", "Nothing to explain", detail))
    if not rest:
        detail = f"{name} is a component: append the address of an object in the component, {name}.TYPE.NAME."
        raise Failure(error("stack.whole_component", "Nothing to explain", detail))
    proof, problems = why_in_plan(step.planned, verb, rest, negated)
    if proof is None:
        raise Failure(problems)
    leaves = [step["tuple"] for step in proof.get("proofs", {}).values()]
    if not any(leaf[0] == "unknown" and str(leaf[1]).startswith("var.") for leaf in leaves):
        return [proof]
    database = _database(plan)
    return [proof, *_proofs(database, "made_from", [r for r in database.sorted("made_from") if r[0] == str(name)])]


def _why_not(database: Database, goal: tuple[str, ...], is_so: bool) -> dict[str, Any]:
    predicate, *row = goal
    if is_so:
        raise Failure(error("stack.holds", "The fact holds", "Omit -not to see why."))
    rules = obstacles(Prover(database.program, database), predicate, tuple(row))
    return {"format_version": "1.0", "goal": list(goal), "holds": False, "rules": rules}


def _proofs(database: Database, predicate: str, rows: list[Row]) -> list[dict[str, Any]]:
    prover = Prover(database.program, database)
    result = []
    for row in rows:
        proof = prover.why(predicate, row)
        assert proof is not None
        result.append(proof_json(proof, database.facts, _source))
    return result


def _database(plan: DeploymentPlan) -> Database:
    if plan.decided is None:
        raise Failure(plan.diagnostics)
    return plan.decided.database


def _not_so(predicate: str, name: str, other: str) -> str:
    if predicate == "made_from":
        return f"{name} does not depend on {other}, through inputs, providers or depends_on."
    return f"{name} is not deferred: it is planned now."


def _source(span: Span) -> dict[str, Any]:
    line = span.source.line_number(span.start)
    return {"file": span.filename, "line": line, "snippet": span.source.line_text(line)}
