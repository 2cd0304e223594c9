"""Rounds: a deployment of which something is deferred is planned again when the rest is applied."""

from __future__ import annotations

from typing import TYPE_CHECKING

from planner.datalog.engine.evaluate import evaluate
from planner.datalog.engine.fact_base import FactBuilder
from planner.operations.agreement import compared
from planner.programs.rule_programs import stack_program
from planner.vocabulary.diagnostic import Diagnostic, error

if TYPE_CHECKING:
    from planner.stacks.steps import DeploymentPlan, Step

MOST_ROUNDS = 50
_BECAUSE = {
    "for_each": "how many instances there are is not known yet",
    "provider": "the configuration of {} is not known yet",
    "component": "{} is deferred",
}


def why_deferred(step: Step) -> str:
    """Why an instance is deferred, in words."""
    return "; ".join(_BECAUSE[because].format(what) for because, what in step.put_off)


class Rounds:
    """The rounds of one deployment, up to the one that leaves nothing for later."""

    def __init__(self) -> None:
        self.number = 0
        self._before: DeploymentPlan | None = None

    def problems(self, plan: DeploymentPlan) -> list[Diagnostic]:
        """Take the plan of the next round, and say whether it cannot come to anything: what waits for what."""
        before, self._before = self._before, plan
        self.number += 1
        stalled = _stalled(plan, before)
        if not stalled and not (plan.is_partial and self.number >= MOST_ROUNDS):
            return []
        waiting = [step for step in plan.steps if step.put_off]
        lines = "".join(f"\n  - {step.name}: {why_deferred(step)}" for step in waiting)
        partial = sorted(_waiting(plan) - {str(step.name) for step in waiting})
        lines += "".join(f"\n  - {name}: some of its objects are deferred" for name in partial)
        said = (
            "Nothing new is left that could be applied"
            if stalled
            else f"After {MOST_ROUNDS} rounds there is more to do"
        )
        detail = f"{said} in the deployment {plan.deployment}, and these wait still:{lines}"
        return [error("stack.no_progress", "Deployment does not come to an end", detail)]


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
    found = evaluate(stack_program(), facts.build(), ("stalled",))
    return [str(name) for (name,) in found.sorted("stalled")]


def _waiting(plan: DeploymentPlan) -> set[str]:
    return set(plan.decided.incomplete if plan.decided is not None else ())
