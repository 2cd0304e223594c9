"""Policies that check the plan of a whole deployment, with all its components."""

from __future__ import annotations

import os

from planner.answers.policy.combined_plans import (
    policy_files,
    three_valued,
    verdict_of,
)
from planner.answers.policy.facts.units import contents_needed
from planner.answers.policy.model import REFUSALS, TITLES, Finding, Verdict
from planner.answers.policy.standing_policies import STACK, organisation, own
from planner.answers.policy.three_valued import Modal
from planner.foundation.vocabulary.diagnostic import Diagnostic, has_errors
from planner.foundation.vocabulary.records import frozen
from planner.logic.datalog.engine.evaluate import evaluate
from planner.logic.datalog.engine.program import RuleProgram
from planner.logic.model.graph import source_json
from planner.workflows.stacks.questions import facts_about
from planner.workflows.stacks.steps import DeploymentPlan

_OF_PACKS = (
    "packs check the plans of single components: name them with planner stacks plan -policy=PACK. Policies about a "
    "deployment as a whole belong in rule files outside of packs."
)


@frozen(eq=False)
class DeploymentPolicies:
    """The compiled policies about plans of deployments. `problems`: warnings about the policies themselves."""

    modal: Modal
    program: RuleProgram
    problems: tuple[Diagnostic, ...]

    def verdict(self, plan: DeploymentPlan) -> Verdict:
        """The findings about a plan. Raises Failure if the plan has errors."""
        wanted = self.modal.verdicts
        facts = facts_about(plan, contents_needed(self.program, wanted))
        return verdict_of(self.modal, self.program, evaluate(self.program, facts, wanted), source_json)


def deployment_policies(directory: str, words: tuple[str, ...] = ()) -> DeploymentPolicies | None:
    """The policies of the stack, the policies of the organisation, and the policies in `words` (paths as in -policy).
    None if there are none. Raises Failure."""
    standing = dict(policy_files(organisation("stack_policies", os.environ), _OF_PACKS))
    files = dict(policy_files((*own(directory, STACK), *words), _OF_PACKS))
    if not standing and not files:
        return None
    modal, program, problems = three_valued((*{**files, **standing}.items(),), frozenset(standing), "deployments")
    return DeploymentPolicies(modal, program, tuple(problems))


def diagnostics(verdict: Verdict, deployment: str) -> list[Diagnostic]:
    """The findings of policies about a deployment, as errors and warnings."""
    return [_diagnostic(finding, deployment) for finding in verdict.findings]


def _diagnostic(finding: Finding, deployment: str) -> Diagnostic:
    code, title = TITLES[finding.kind]
    about = f"{finding.address} {finding.message}".strip()
    detail = f"In the deployment {deployment}: {about} [{finding.rule}]"
    return Diagnostic("error" if finding.kind in REFUSALS else "warning", code, title.format(finding.code), detail)


# Policies about whole deployments that always apply, from the stack and the organisation.


def standing_policies(directory: str) -> DeploymentPolicies | None:
    """The policies that check every plan of a stack: the policies of the stack and the policies of the organisation.
    None if there are none. Raises Failure."""
    is_there = organisation("stack_policies", os.environ) or own(directory, STACK)
    return deployment_policies(directory) if is_there else None


def judged(policies: DeploymentPolicies | None, plan: DeploymentPlan) -> list[Diagnostic]:
    """The findings about a plan, and problems of the policies; empty if there are no policies or the plan has errors.
    Raises Failure."""
    if policies is None or has_errors(plan.diagnostics):
        return []
    return [*policies.problems, *diagnostics(policies.verdict(plan), plan.deployment)]
