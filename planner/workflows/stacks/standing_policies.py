"""The policies about deployments as a whole that always hold: those of the stack and of the organisation."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from planner.answers.policy.standing_policies import STACK, organisation, own
from planner.foundation.vocabulary.diagnostic import has_errors

if TYPE_CHECKING:
    from planner.foundation.vocabulary.diagnostic import Diagnostic
    from planner.workflows.stacks.policy import DeploymentPolicies
    from planner.workflows.stacks.steps import DeploymentPlan


def standing_policies(directory: str) -> DeploymentPolicies | None:
    """None where there is none, and then nothing is loaded for them. Raises Failure."""
    is_there = organisation("stack_policies", os.environ) or own(directory, STACK)
    return _loaded(directory) if is_there else None


def _loaded(directory: str) -> DeploymentPolicies | None:
    from planner.workflows.stacks.policy import deployment_policies

    return deployment_policies(directory)


def judged(policies: DeploymentPolicies | None, plan: DeploymentPlan) -> list[Diagnostic]:
    """What they say of a plan, as errors and warnings. Raises Failure."""
    if policies is None or has_errors(plan.diagnostics):
        return []
    return _judged(policies, plan)


def _judged(policies: DeploymentPolicies, plan: DeploymentPlan) -> list[Diagnostic]:
    from planner.workflows.stacks.policy import diagnostics

    return [*policies.problems, *diagnostics(policies.verdict(plan), plan.deployment)]
