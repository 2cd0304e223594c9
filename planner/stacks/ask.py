"""Questions about deployments: why an instance is deferred, what it is made from, who approves a plan."""

from __future__ import annotations

from typing import Any

from planner.datalog.engine.evaluate import Database
from planner.datalog.explain.proof import proof_json
from planner.datalog.explain.search import Prover
from planner.stacks.approval import Approval
from planner.stacks.steps import DeploymentPlan
from planner.vocabulary.diagnostic import Failure, error
from planner.vocabulary.nearest import did_you_mean
from planner.vocabulary.span import Span


def why(plan: DeploymentPlan, predicate: str, name: str, other: str = "") -> list[dict[str, Any]]:
    """The proofs of what is derived of an instance (and another one). Raises Failure when there is nothing to
    explain."""
    database = _database(plan)
    known = {str(step.name) for step in plan.steps}
    for word in filter(None, (name, other)):
        if word not in known:
            detail = f"{word} is no instance of a component in the deployment {plan.deployment}."
            raise Failure(error("stack.unknown", "Nothing to explain", f"{detail}{did_you_mean(word, known)}"))
    rows = [row for row in database.sorted(predicate) if row[0] == name and (not other or row[1] == other)]
    if not rows:
        raise Failure(error("stack.not_so", "Nothing to explain", _not_so(predicate, name, other)))
    prover = Prover(database.program, database)
    found = []
    for row in rows:
        proof = prover.why(predicate, row)
        assert proof is not None
        found.append(proof_json(proof, database.facts, _source))
    return found


def why_approved(found: Approval) -> list[dict[str, Any]]:
    """The proofs that a plan is approved, or of what is in the way. Raises Failure when no rule is asked."""
    database = found.database
    prover = Prover(database.program, database)
    documents = []
    for predicate in ("approved", "objection"):
        for row in database.sorted(predicate):
            proof = prover.why(predicate, row)
            assert proof is not None
            documents.append(proof_json(proof, database.facts, _source))
        if documents:
            return documents
    detail = "No group of the deployment has checks, so somebody has to be asked."
    raise Failure(error("stack.no_checks", "Nothing to explain", detail))


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
