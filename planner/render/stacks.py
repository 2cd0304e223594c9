"""Plans of deployments, as text for people and as one document for programs."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from planner.render.summary import Counts
from planner.render.terminal import Terminal
from planner.render.value import all_outputs
from planner.stacks.rounds import why_deferred
from planner.state.model import OutputState
from planner.values.types import DYNAMIC
from planner.values.value import SENSITIVE, Value, is_wholly_known, type_of, unmark_deep

if TYPE_CHECKING:
    from planner.render.plan import SchemaOf
    from planner.render.view import View
    from planner.stacks.approval import Approval
    from planner.stacks.steps import DeploymentPlan, Step

_WORDS = {"plan": "", "destroy": " will be destroyed", "forget": " will be forgotten", "defer": " is deferred"}


def show_plan(plan: DeploymentPlan, view: View, terminal: Terminal, schema_of: SchemaOf) -> None:
    """The plan of a deployment: a heading for each component that has something to do, and its changes."""
    title = f"Deployment {plan.deployment}"
    terminal.out(f"\n{terminal.paint(title, 'bold')}")
    for step in plan.steps:
        if step.what == "defer":
            terminal.out(f"\n{terminal.paint(str(step.name), 'bold')} is deferred: {why_deferred(step)}.")
        elif step.has_changes:
            terminal.out(f"\n{terminal.paint(str(step.name), 'bold')}{_WORDS[step.what]}:")
            if step.plan is not None:
                view.plan(step.plan, schema_of)
        if step.verdict is not None:
            view.verdict(step.verdict)
    quiet = [str(step.name) for step in plan.steps if step.what == "plan" and not step.has_changes]
    if quiet:
        terminal.out(f"\nNo changes: {', '.join(quiet)}.")
    terminal.out(f"\n{terminal.paint(summary(plan), 'bold')}")


def tell_approval(found: Approval, terminal: Terminal) -> None:
    """Who approves a plan, or which checks do not hold."""
    rules = [rule for rule in found.by if rule != "empty_plan"]
    if rules:
        terminal.out(f"\nApproved by {', '.join(rules)}.")
    for refusal in found.refusals:
        reason = f": {refusal.reason}" if refusal.reason else ""
        word = "does not hold" if refusal.outcome == "fails" else "cannot be decided"
        terminal.out(f"\nNot approved by {refusal.rule}: the check at {refusal.place} {word}{reason}")


def counts(step: Step) -> Counts:
    """How much a step is going to do."""
    return Counts.of_plan(step.plan) if step.plan is not None else Counts()


def summary(plan: DeploymentPlan) -> str:
    """One line about the deployment."""
    total = Counts()
    for step in plan.steps:
        found = counts(step)
        for word in Counts.__slots__:
            setattr(total, word, getattr(total, word) + getattr(found, word))
    deferred = sum(step.what == "defer" for step in plan.steps)
    text = f"Plan: {total.numbers}"
    forgotten = sum(step.what == "forget" for step in plan.steps)
    if forgotten:
        text += f"; {forgotten} components to forget"
    if deferred:
        text += f"; {deferred} deferred"
    if not plan.can_apply and not deferred:
        return f"{plan.deployment}: no changes."
    return f"{plan.deployment}: {text}."


def document(plans: Iterable[DeploymentPlan], plan_json: Any) -> dict[str, Any]:
    """The plans as data: components with what is done about them, why some are deferred, and the outputs."""
    return {
        "format_version": "1.0",
        "deployments": [
            {
                "deployment": plan.deployment,
                "mode": plan.mode,
                "applyable": plan.can_apply,
                "complete": not plan.is_partial,
                "components": [
                    {
                        "address": str(step.name),
                        "action": step.what,
                        "changes": {word: getattr(counts(step), word) for word in Counts.__slots__},
                        "deferred": [{"because": because, "what": what} for because, what in step.put_off],
                        **({"plan": plan_json(step.planned.made)} if step.planned and step.planned.made else {}),
                    }
                    for step in plan.steps
                ],
                "outputs": {name: _output(value) for name, value in sorted(plan.outputs.items())},
            }
            for plan in plans
        ],
    }


def _output(value: Value) -> dict[str, Any]:
    from planner.values.json_codec import simple_json

    plain, marks = unmark_deep(value)
    is_known = is_wholly_known(plain)
    is_secret = SENSITIVE in marks
    shown = {"value": simple_json(plain)} if is_known and not is_secret else {}
    return {"known": is_known, "sensitive": is_secret, **shown}


def outputs_text(outputs: Mapping[str, Value], show_sensitive: bool = False) -> str:
    """Outputs as `output` shows them."""
    states = {}
    for name, value in outputs.items():
        plain, marks = unmark_deep(value)
        states[name] = OutputState(plain, type_of(plain) or DYNAMIC, SENSITIVE in marks)
    return all_outputs(states, show_sensitive)
