"""Shows plans, approvals and recorded data of deployments, as text and as JSON."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from planner.engine.evaluation.schemas import Schemas
from planner.foundation.values.json_codec import simple_json
from planner.foundation.values.types import DYNAMIC
from planner.foundation.values.value import SENSITIVE, Value, is_wholly_known, type_of, unmark_deep
from planner.logic.programs.actions import Counts
from planner.operations.show import ShownState, shown_json
from planner.render.plan import SchemaOf, finished, finished_actions, pending, pending_actions
from planner.render.state import output_json
from planner.render.terminal import Terminal
from planner.render.value import all_outputs
from planner.workflows.stacks.approval import Approval
from planner.workflows.stacks.rounds import why_deferred
from planner.workflows.stacks.steps import DeploymentPlan, InstanceStep
from planner.world.state.model import OutputState

if TYPE_CHECKING:
    from planner.render.view import View
    from planner.workflows.stacks.deployment_state import Deployed

FORMAT = "1.0"
_WORDS = {"plan": "", "destroy": " will be destroyed", "forget": " will be forgotten", "defer": " is deferred"}


def show_plan(plan: DeploymentPlan, view: View, terminal: Terminal, schema_of: SchemaOf) -> None:
    """Print a plan: a heading; for each component, its changes or the reason why it is deferred, and the findings of
    policies; and a summary."""
    whole = view.about(deployment=plan.deployment)
    whole.tell(f"\n{terminal.paint(f'Deployment {plan.deployment}', 'bold')}")
    for step in plan.steps:
        name = str(step.name)
        inside = whole.about(component=name)
        inside.say(None, f"{name}: {step.what}", type="component_planned", **_step_json(step))
        if step.what == "defer":
            inside.tell(f"\n{terminal.paint(name, 'bold')} is deferred: {why_deferred(step)}.")
        elif step.has_changes or _in_part(step):
            inside.tell(f"\n{terminal.paint(name, 'bold')}{_WORDS[step.what]}:")
            if step.plan is not None:
                inside.plan(step.plan, schema_of)
        if step.verdict is not None:
            inside.verdict(step.verdict)
    quiet = [str(step.name) for step in plan.steps if step.what == "plan" and not (step.has_changes or _in_part(step))]
    if quiet:
        whole.tell(f"\nNo changes: {', '.join(quiet)}.")
    if plan.left_out:
        whole.tell(f"\nNot planned, because only other components were named: {', '.join(plan.left_out)}.")
    text = summary(plan)
    more: dict[str, Any] = {"mode": plan.mode, "applyable": plan.can_apply, "complete": not plan.is_partial}
    more |= {"changes": _numbers(total(plan)), "left_out": list(plan.left_out)}
    whole.say(f"\n{terminal.paint(text, 'bold')}", text, type="deployment_planned", **more)


def tell_approval(approval: Approval, view: View) -> None:
    """Print which rules approved a plan, or which checks did not approve it. `view`: the view of the deployment."""
    rules = [rule for rule in approval.by if rule != "empty_plan"]
    if rules:
        view.tell(f"\nApproved by {', '.join(rules)}.")
    lines = [refusal.text for refusal in approval.refusals]
    for line in lines:
        view.tell(f"\n{line}")
    text = f"Approved by {', '.join(approval.by)}" if approval.by else "; ".join(lines) or "Approval is required"
    refusals = [{"rule": r.rule, "check": r.place, "outcome": r.outcome, "reason": r.reason} for r in approval.refusals]
    view.say(None, text, type="deployment_approval", approved_by=list(approval.by), refusals=refusals)


def tell_applied(deployment: str, done: Counts, mode: str, view: View, terminal: Terminal) -> None:
    """Print the numbers of changes that were applied in all rounds."""
    text = f"{deployment}: {finished(done)}.{finished_actions(done)}"
    changes = {**_numbers(done), "operation": "destroy" if mode == "destroy" else "apply"}
    view.say(f"\n{terminal.paint(text, 'bold', 'green')}", text, type="change_summary", changes=changes)


def tell_outputs(deployment: str, outputs: Mapping[str, Value], view: View, show_sensitive: bool) -> None:
    """Print the outputs of an applied deployment."""
    from planner.render.json_ui import shown_outputs

    if outputs:
        view.tell(f"\nOutputs of {deployment}:\n\n{outputs_text(outputs, show_sensitive)}")
    known = {name: state for name, state in _states(outputs).items() if is_wholly_known(state.value)}
    view.say(None, f"Outputs: {len(known)}", type="outputs", outputs=shown_outputs(known))


def _step_json(step: InstanceStep) -> dict[str, Any]:
    deferred = [{"because": because, "what": what} for because, what in step.put_off]
    return {"action": step.what, "changes": _numbers(counts(step)), "deferred": deferred}


def _numbers(found: Counts) -> dict[str, int]:
    return dict(sorted(found.by_name.items()))


def counts(step: InstanceStep) -> Counts:
    return Counts.of_plan(step.plan) if step.plan is not None else Counts()


def total(plan: DeploymentPlan) -> Counts:
    result = Counts()
    for step in plan.steps:
        result = result.plus(counts(step))
    return result


def summary(plan: DeploymentPlan) -> str:
    """A line such as `eu: Plan: 2 to add, 1 to change, 0 to destroy.`, with the numbers of components that are
    forgotten or deferred."""
    deferred = sum(step.what == "defer" for step in plan.steps)
    whole = total(plan)
    text = f"Plan: {pending(whole)}"
    forgotten = sum(step.what == "forget" for step in plan.steps)
    if forgotten:
        text += f"; {forgotten} component{'s' * (forgotten != 1)} to forget"
    if deferred:
        text += f"; {deferred} deferred"
    parts = [str(step.name) for step in plan.steps if _in_part(step)]
    if parts:
        text += f"; parts of {', '.join(parts)} deferred"
    if not plan.can_apply and not deferred and not parts:
        return f"{plan.deployment}: no changes."
    return f"{plan.deployment}: {text}.{pending_actions(whole)}"


def _in_part(step: InstanceStep) -> bool:
    """Whether some objects of an instance are deferred to a later round."""
    return step.plan is not None and bool(step.plan.deferred)


def deployment_json(plan: DeploymentPlan) -> dict[str, Any]:
    """The plan as plain data: the components with their actions, plans and the reasons why they are deferred; and the
    outputs."""
    return {
        "deployment": plan.deployment,
        "mode": plan.mode,
        "applyable": plan.can_apply,
        "complete": not plan.is_partial,
        "left_out": list(plan.left_out),
        "components": [{"address": str(step.name), **_step_json(step), **_step_plan_json(step)} for step in plan.steps],
        "outputs": {name: _output(value) for name, value in sorted(plan.outputs.items())},
    }


def _step_plan_json(step: InstanceStep) -> dict[str, Any]:
    from planner.answers.documents.json_plan import plan_json

    made = step.planned.made if step.planned else None
    return {"plan": plan_json(made.plan, made.loaded.config, made.loaded.schemas.schema)} if made else {}


def _output(value: Value) -> dict[str, Any]:
    plain, marks = unmark_deep(value)
    is_known = is_wholly_known(plain)
    is_secret = SENSITIVE in marks
    shown = {"value": simple_json(plain)} if is_known and not is_secret else {}
    return {"known": is_known, "sensitive": is_secret, **shown}


def outputs_text(outputs: Mapping[str, Value], show_sensitive: bool = False) -> str:
    """The outputs as `planner output` prints them."""
    return all_outputs(_states(outputs), show_sensitive)


def _states(outputs: Mapping[str, Value]) -> dict[str, OutputState]:
    states = {}
    for name, value in outputs.items():
        plain, marks = unmark_deep(value)
        states[name] = OutputState(plain, type_of(plain) or DYNAMIC, SENSITIVE in marks)
    return states


# Data of deployments as one document.


def deployed_json(deployments: Iterable[Deployed], schemas: Schemas) -> dict[str, Any]:
    """The recorded data of deployments as plain data, format 1.0: {"format_version", "deployments": [{"deployment",
    "applied", "components": [{"address", "state": as in `show -json`}...], "outputs": {NAME: as in `output
    -json`}}...]}. Raises Failure."""
    return {
        "format_version": "1.0",
        "deployments": [
            {
                "deployment": one.deployment,
                "applied": one.outputs is not None,
                "components": [
                    {"address": str(name), "state": shown_json(ShownState(state, schemas))}
                    for name, state in one.components.items()
                ],
                "outputs": {name: output_json(output) for name, output in sorted((one.outputs or {}).items())},
            }
            for one in deployments
        ],
    }
