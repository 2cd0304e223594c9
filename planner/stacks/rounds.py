"""Rounds: a deployment of which something is deferred is planned again when the rest is applied."""

from __future__ import annotations

from typing import TYPE_CHECKING

from planner.vocabulary.diagnostic import Diagnostic, error

if TYPE_CHECKING:
    from planner.stacks.steps import DeploymentPlan, Step

_BECAUSE = {
    "for_each": "how many instances there are is not known yet",
    "provider": "the configuration of {} is not known yet",
    "component": "{} is deferred",
}


def why_deferred(step: Step) -> str:
    """Why an instance is deferred, in words."""
    return "; ".join(_BECAUSE[because].format(what) for because, what in step.put_off)


def no_progress(plan: DeploymentPlan) -> list[Diagnostic]:
    """What is said when nothing can be applied, and something is deferred still: what waits for what."""
    lines = "".join(f"\n  - {step.name}: {why_deferred(step)}" for step in plan.steps if step.put_off)
    detail = f"Nothing is left that could be applied in the deployment {plan.deployment}, and these wait still:{lines}"
    return [error("stack.no_progress", "Deployment does not come to an end", detail)]
