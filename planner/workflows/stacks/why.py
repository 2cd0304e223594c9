"""Queries about deployments: why an instance is deferred, its dependencies, the approval of a plan."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

from planner.foundation.vocabulary.diagnostic import Failure, error
from planner.foundation.vocabulary.nearest import did_you_mean
from planner.foundation.vocabulary.nearest import word as shell_word
from planner.foundation.vocabulary.span import Span
from planner.logic.datalog.engine.evaluate import Database
from planner.logic.datalog.explain.proof import proof_json
from planner.logic.datalog.explain.search import Prover
from planner.logic.datalog.explain.why_not import obstacles
from planner.logic.datalog.language.values import Row
from planner.logic.graph.verbs import Waiting, shortest_path
from planner.operations.explanations import why_in_plan
from planner.workflows.stacks.approval import Approval
from planner.workflows.stacks.selection import split
from planner.workflows.stacks.steps import DeploymentPlan


def why(
    plan: DeploymentPlan, predicate: str, name: str, other: str = "", negated: bool = False
) -> list[dict[str, Any]]:
    """The proofs of the derivations about an instance (and another one), or, negated, the needs of each rule. Raises
    Failure when there is nothing to explain."""
    database = _database(plan)
    known = {str(step.name) for step in plan.steps}
    for word in filter(None, (name, other)):
        if word not in known:
            detail = f"{word} is not an instance of a component in the deployment {plan.deployment}."
            raise Failure(error("stack.unknown", "Nothing to explain", f"{detail}{did_you_mean(word, known)}"))
    rows = [row for row in database.sorted(predicate) if row[0] == name and (not other or row[1] == other)]
    if predicate == "made_from" and not rows:
        # The path from an instance to another one that it is made from; empty when it is not.
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


def why_approved(found: Approval, negated: bool = False) -> list[dict[str, Any]]:
    """The proofs that a plan is approved, or of the obstacles; negated, the needs of each rule for approving it. Raises
    Failure when there is nothing to explain."""
    database = found.database
    if negated:
        is_so = bool(database["approved"])
        rules = [str(row[1]) for row in database.facts.sorted("approval_rule")]
        return [_why_not(database, ("approved", found.deployment, rule), is_so) for rule in rules or ["empty_plan"]]
    for predicate in ("approved", "objection", "held_up"):
        rows = database.sorted(predicate)
        if rows:
            return _proofs(database, predicate, rows)
    detail = "No group of the deployment has checks, so approval is required."
    raise Failure(error("stack.no_checks", "Nothing to explain", detail))


def why_planned(plan: DeploymentPlan, address: str, verb: str = "", negated: bool = False) -> list[dict[str, Any]]:
    """The proof of what is planned for something in a component, which its address begins with; where it ends at an
    input that is not known yet, also from which instances the component is made. Raises Failure."""
    steps = {step.name: step for step in plan.steps}
    name, rest = split(steps, address, plan.deployment)
    step = steps[name]
    if step.planned is None:
        detail = f"Nothing in {name} is planned: planner stacks why deferred {shell_word(str(name))}"
        if step.what != "defer":
            detail = f"{name} is forgotten as a whole by a removed block."
        raise Failure(error("stack.not_planned_yet", "Nothing to explain", detail))
    if not rest:
        detail = f"{name} is a component: write the address of something in it after that, {name}.TYPE.NAME."
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
        raise Failure(error("stack.holds", "It does hold", "Omit -not to see why."))
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
        return f"{name} is not made from {other}: nothing that it is given leads there."
    return f"{name} is not deferred: it is planned now."


def _source(span: Span) -> dict[str, Any]:
    line = span.source.line_number(span.start)
    return {"file": span.filename, "line": line, "snippet": span.source.line_text(line)}
