"""Decides whether a deployment's plan is approved automatically. The checks of the deployment's group and of
`orchestrate` blocks decide this."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from planner.foundation.values.value import SENSITIVE, Unknown, Value, unmark
from planner.foundation.vocabulary.diagnostic import Diagnostic, Failure
from planner.foundation.vocabulary.records import frozen
from planner.language.config.stack_files.model import ApprovalCheck, ApprovalRule, Deployment
from planner.logic.datalog.engine.evaluate import Database, evaluate
from planner.logic.datalog.engine.fact_base import FactBuilder
from planner.logic.programs.actions import does
from planner.logic.programs.rule_programs import product_program
from planner.workflows.stacks.deployments import DeploymentFlow
from planner.workflows.stacks.steps import DeploymentPlan, InstanceStep

_COUNTED = ("add", "change", "import", "remove", "forget", "defer")


@frozen
class Refusal:
    """A check that does not approve a plan. `outcome`: "fails" if it is false, "undecided" if its value is unknown or
    it cannot be evaluated."""

    rule: str
    place: str
    outcome: str
    reason: str

    @property
    def text(self) -> str:
        word = "is false" if self.outcome == "fails" else "cannot be decided"
        reason = f": {self.reason}" if self.reason else ""
        return f"Not approved by {self.rule}: the check at {self.place} {word}{reason}"


@frozen
class Approval:
    """The decision whether a plan is approved automatically. `by`: the names of the approval rules that approve it.
    `refusals`: the checks because of which the user must approve it."""

    deployment: str
    by: tuple[str, ...]
    refusals: tuple[Refusal, ...]
    database: Database
    """the facts and derived relations, from which `why` explains the decisions"""


def approval(
    flow: DeploymentFlow,
    deployment: Deployment,
    plan: DeploymentPlan,
    replans: int,
    judgement: Iterable[Diagnostic],
) -> Approval:
    """The decision whether a plan is approved automatically. `judgement`: findings of policies about the whole
    deployment; findings about components are in the plan's steps. `replans`: number of earlier rounds of planning and
    applying."""
    known = flow.stack.deployments
    group = known.groups.get(deployment.group or f"{deployment.name}_default")
    named = [known.rules[name] for name, _ in group.checks] if group is not None else []
    rules = [*named, *(rule for rule in known.orchestrations if rule.orchestrates == "auto_approve")]
    context = context_of(plan, replans)
    facts = FactBuilder()
    facts.add("deployment_plan", deployment.name, "changes" if plan.can_apply or plan.is_partial else "empty")
    of_components = any(step.verdict is not None and step.verdict.of("undecided") for step in plan.steps)
    if of_components or any(d.code == "policy.undecided" for d in judgement):
        facts.add("undecided_verdict", deployment.name)
    refusals: dict[tuple[str, str, str], str] = {}
    for rule in rules:
        facts.add("approval_rule", deployment.name, rule.name, source=rule.span)
        for check in rule.checks:
            outcome, reason = _check(flow, rule, check, context)
            row = (deployment.name, rule.name, check.span.place, outcome)
            facts.add("approval_check", *row, source=check.condition.span)
            refusals[rule.name, check.span.place, outcome] = reason
    result = evaluate(product_program("stacks"), facts.build(), ["approved", "objection", "held_up"])
    objections = [(str(rule), str(place), str(outcome)) for _, rule, place, outcome in result.sorted("objection")]
    return Approval(
        deployment.name,
        tuple(str(row[1]) for row in result.sorted("approved")),
        tuple(Refusal(*row, refusals[row]) for row in objections),
        result,
    )


def _check(
    flow: DeploymentFlow, rule: ApprovalRule, check: ApprovalCheck, context: Mapping[str, Value]
) -> tuple[str, str]:
    """The outcome of a check (holds, fails or undecided), and the reason if it does not hold."""
    try:
        value, _ = unmark(flow.evaluate(check.condition, context))
        if value is True:
            return "holds", ""
        if isinstance(value, Unknown):
            return "undecided", "it depends on a value that is not known"
        if value is not False:
            return "undecided", "it is neither true nor false"
        reason, marks = unmark(flow.evaluate(check.reason, context)) if check.reason is not None else ("", ())
        if SENSITIVE in marks:
            return "fails", "(sensitive)"
        return "fails", reason if isinstance(reason, str) else ""
    except Failure as failure:
        return "undecided", _first(failure.diagnostics)


def _first(diagnostics: Any) -> str:
    problem: Diagnostic | None = next(iter(diagnostics), None)
    return f"{problem.summary}: {problem.detail}" if problem is not None else "it cannot be evaluated"


def context_of(plan: DeploymentPlan, replans: int) -> dict[str, Value]:
    """The value of `context` in the condition of a check."""
    components = {str(step.name): count_changes(step) for step in plan.steps}
    total = {word: sum(changes[word] for changes in components.values()) for word in (*_COUNTED, "total")}
    errors = [d for d in plan.diagnostics if d.is_error]
    warnings = [d for d in plan.diagnostics if not d.is_error]
    return {
        "operation": "plan",
        "success": not errors,
        "errors": tuple({"summary": d.summary, "detail": d.detail} for d in errors),
        "warnings": tuple({"summary": d.summary, "detail": d.detail} for d in warnings),
        "plan": {
            "mode": plan.mode,
            "applyable": plan.can_apply,
            "changes": total,
            "component_changes": components,
            "replans": replans,
            "deployment": {"deployment_name": plan.deployment},
        },
    }


def count_changes(step: InstanceStep) -> dict[str, Value]:
    """{kind of change: number} for the plan of one instance, and "total" with their sum. Checks see it as an entry of
    `context.plan.component_changes`."""
    result = dict.fromkeys(_COUNTED, 0)
    for change in step.plan.changes if step.plan is not None else ():
        if change.mode != "managed":
            continue
        result["import"] += change.importing is not None
        result["add"] += does(change.action, "creates")
        result["change"] += change.action == "update"
        result["remove"] += does(change.action, "destroys")
        result["forget"] += does(change.action, "forgets")
    if step.what == "forget":
        result["forget"] += max(step.objects, 1)
    result["defer"] += step.what == "defer"
    result["defer"] += len(step.plan.deferred) if step.plan is not None else 0
    return {**result, "total": sum(result.values())}
