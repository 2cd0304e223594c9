"""Plans and applies a deployment in rounds: if a plan defers instances or objects, the deployment is planned again
after the other changes are applied."""

from __future__ import annotations

from collections.abc import Mapping

from planner.engine.walk.hooks import Hooks
from planner.foundation.support.signals import STOP
from planner.foundation.values.value import Value
from planner.foundation.vocabulary.diagnostic import Diagnostic, Diagnostics, error, has_errors
from planner.foundation.vocabulary.records import define, field
from planner.language.config.stack_files.model import Deployment
from planner.logic.datalog.engine.evaluate import evaluate
from planner.logic.datalog.engine.fact_base import FactBuilder
from planner.logic.programs.actions import Counts
from planner.logic.programs.rule_programs import product_program
from planner.operations.options import OperationOptions
from planner.operations.plan_files import compared
from planner.workflows.stacks.approval import Approval, approval
from planner.workflows.stacks.deploy import Runner
from planner.workflows.stacks.opened_stack import OpenedStack
from planner.workflows.stacks.policy import DeploymentPolicies, judged
from planner.workflows.stacks.steps import DeploymentPlan, InstanceStep

MOST_ROUNDS = 50
_BECAUSE = {
    "for_each": "how many instances there are is not known yet",
    "provider": "the configuration of {} is not known yet",
    "component": "{} is deferred",
    "part": "some of {} is deferred",
}


def why_deferred(step: InstanceStep) -> str:
    """The reason why a component is deferred, such as `how many instances there are is not known yet`."""
    return "; ".join(_BECAUSE[because].format(what) for because, what in step.put_off)


class Rounds:
    """Counts the rounds of one deployment, and detects rounds without progress."""

    def __init__(self) -> None:
        self.number = 0
        self._before: DeploymentPlan | None = None

    def problems(self, plan: DeploymentPlan) -> list[Diagnostic]:
        """Count a round with this plan; must be called once for each round. Returns an error if the round makes no
        progress, or if changes are still deferred in round MOST_ROUNDS."""
        before, self._before = self._before, plan
        self.number += 1
        stalled = _stalled(plan, before)
        if not stalled and not (plan.is_partial and self.number >= MOST_ROUNDS):
            return []
        waiting = [step for step in plan.steps if step.put_off]
        lines = "".join(f"\n  - {step.name}: {why_deferred(step)}" for step in waiting)
        partial = sorted(_waiting(plan) - {str(step.name) for step in waiting})
        lines += "".join(f"\n  - {name}: some of its objects are deferred" for name in partial)
        reason = "Nothing else can be applied" if stalled else f"After {MOST_ROUNDS} rounds there is more to do"
        detail = f"{reason} in the deployment {plan.deployment}, and these are still waiting:{lines}"
        return [error("stack.no_progress", "Deployment does not converge", detail)]


def _stalled(plan: DeploymentPlan, before: DeploymentPlan | None) -> list[str]:
    facts = FactBuilder()
    then = {str(step.name): step.plan for step in before.steps} if before is not None else {}
    for step in plan.steps:
        name, old = str(step.name), then.get(str(step.name))
        if step.has_changes:
            facts.add("round_changes", name)
        if step.plan is not None and old is not None and not compared(old, step.plan) and not compared(step.plan, old):
            facts.add("round_repeats", name)
    for name in _waiting(plan):
        facts.add("round_waits", name)
    for name in _waiting(before) if before is not None else ():
        facts.add("round_waited", name)
    result = evaluate(product_program("stacks"), facts.build(), ("stalled",))
    return [str(name) for (name,) in result.sorted("stalled")]


def _waiting(plan: DeploymentPlan) -> set[str]:
    return set(plan.decided.incomplete if plan.decided is not None else ())


@define(eq=False)
class RoundsResult:
    """The result of planning and applying in rounds. `is_done`: whether the apply ended without errors, a refused
    approval or a stop. `is_partial`: whether some changes are still deferred."""

    is_done: bool = False
    is_partial: bool = False
    plans: list[DeploymentPlan] = field(factory=list)
    """plans that were applied, completely or in part"""
    outputs: Mapping[str, Value] = field(factory=dict)

    @property
    def counts(self) -> Counts:
        """The numbers of changes that were applied in all rounds."""
        done = Counts()
        for plan in self.plans:
            for step in plan.steps:
                done = done.plus(step.counts)
        return done


class Deploying:
    """Shows plans and requests approval during the rounds of a deployment. This base class shows nothing and approves
    all plans."""

    def planned(self, runner: Runner, plan: DeploymentPlan) -> None:
        """Called for each plan without errors."""

    def approves(self, plan: DeploymentPlan, decision: Approval) -> bool:
        """Whether to apply a plan."""
        return True


def deploy(
    session: OpenedStack,
    deployment: Deployment,
    options: OperationOptions,
    hooks: Hooks,
    asks: Deploying,
    policies: DeploymentPolicies | None,
    diagnostics: Diagnostics,
    most: int = 0,
) -> RoundsResult:
    """Plan and apply in rounds until no change is deferred, but at most `most` rounds (0: no limit). Ends early if a
    plan is not approved, after a stop request, and after an error. Diagnostics are added to `diagnostics`. Raises
    Failure if the inputs cannot be evaluated."""
    deployed, rounds = RoundsResult(), Rounds()
    while True:
        runner = session.runner(deployment, options, hooks)
        try:
            plan = runner.plan(to_apply=True)
            diagnostics += [d for d in plan.diagnostics if d not in diagnostics]
            if has_errors(plan.diagnostics):
                return deployed
            asks.planned(runner, plan)
            findings = rounds.problems(plan) or judged(policies, plan)
            diagnostics += [d for d in findings if d not in diagnostics]
            if has_errors(findings):
                return deployed
            result = approval(session.flow, deployment, plan, rounds.number - 1, findings)
            if not asks.approves(plan, result):
                return deployed
            deployed.plans.append(plan)
            problems, deployed.outputs = runner.apply(plan)
            diagnostics += [d for d in problems if d not in diagnostics]
            if has_errors(problems):
                return deployed
        finally:
            diagnostics += runner.release()
        deployed.is_partial = plan.is_partial
        if not plan.is_partial or STOP.requested or rounds.number == most:
            break
    deployed.is_done = not STOP.requested
    return deployed
