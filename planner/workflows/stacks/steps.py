"""Component instances in the plan of a deployment: their steps, and their planned and recorded outputs."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from planner.foundation.values.value import SENSITIVE, UNKNOWN, Value, mark, unmark_deep
from planner.foundation.vocabulary.diagnostic import Diagnostic, has_errors
from planner.foundation.vocabulary.records import define, frozen
from planner.language.config.model import Config
from planner.logic.model.plan import Plan
from planner.logic.programs.actions import Counts
from planner.operations.options import OperationOptions
from planner.operations.plan import MadePlan, Planned, Start
from planner.workflows.stacks.decisions import Decided, PutOff
from planner.workflows.stacks.flow import ComponentInstance
from planner.workflows.stacks.names import PromiseName
from planner.workflows.stacks.states import States
from planner.world.state.model import State

if TYPE_CHECKING:
    from planner.answers.policy.model import Verdict
    from planner.engine.apply.outcomes import Outcome


@define(eq=False)
class InstanceStep:
    """The step of one instance in the plan of a deployment, and its result after an apply. `what`: plan, destroy,
    forget or defer. `put_off`: why the instance is deferred."""

    name: PromiseName
    what: str
    planned: Planned[Start] | None = None
    put_off: PutOff = ()
    verdict: Verdict | None = None
    """the findings of policies about the instance's plan; None if there are no policies"""
    objects: int = 0
    """for a forgotten instance: number of managed resource instances in its state"""
    applied: bool = False
    outcomes: Mapping[str, Outcome] | None = None
    """{change: outcome} of a failed apply; empty if all changes were applied; None before the apply, and if the apply
    failed before its first change"""
    counts: Counts = Counts()

    @property
    def plan(self) -> Plan | None:
        return self.planned.plan if self.planned is not None else None

    @property
    def has_changes(self) -> bool:
        """Whether an apply would change anything."""
        return self.what == "forget" or (self.plan is not None and self.plan.can_apply)


@frozen(eq=False)
class DeploymentPlan:
    """The plan of a deployment. `steps`: in an order in which they can be executed. `outputs`: the planned outputs.
    `decided`: None if planning failed before the decisions."""

    deployment: str
    mode: str
    steps: tuple[InstanceStep, ...]
    outputs: Mapping[str, Value]
    decided: Decided | None
    diagnostics: tuple[Diagnostic, ...]
    left_out: tuple[str, ...] = ()
    """components that were not planned, because only other components were named"""

    @property
    def can_apply(self) -> bool:
        return not has_errors(self.diagnostics) and any(step.has_changes for step in self.steps)

    @property
    def is_partial(self) -> bool:
        """Whether some changes are deferred, so that another round is needed."""
        return self.decided is not None and bool(self.decided.incomplete)


class InstancesOfStates:
    """Evaluates component instances without planning them: their outputs come from their states."""

    def __init__(self, states: States) -> None:
        self.states = states

    def component(self, instance: ComponentInstance) -> Mapping[str, Value]:
        state = self.states.read(instance.name) if not instance.name.is_wild else None
        return recorded_outputs(instance.config, state)


def recorded_outputs(config: Config, state: State | None) -> dict[str, Value]:
    """{output: value in the state} for all outputs that the module declares; unknown for outputs that the state does
    not contain."""
    result: dict[str, Value] = {}
    for name in config.root.outputs:
        output = state.outputs.get(name) if state is not None else None
        value = UNKNOWN if output is None else output.value
        result[name] = mark(value, frozenset((SENSITIVE,))) if output is not None and output.sensitive else value
    return result


def judged(planned: Planned[Start]) -> tuple[Planned[Start], Verdict | None]:
    """The plan with the findings of policies among its diagnostics, and the verdict. The verdict is None if there are
    no policies, if planning failed, or if a policy has errors."""
    if planned.complete is None or not planned.complete.loaded.options.judges:
        return planned, None
    from planner.operations import policies

    made, verdict, problems = policies.judged(planned.complete)
    findings = [] if verdict is None else policies.diagnostics(verdict)
    return Planned(made, (*planned.diagnostics, *problems, *findings)), verdict


def workers(options: OperationOptions) -> int:
    """The maximum number of instances that are planned or applied at the same time."""
    return max(1, min(4, options.parallelism))


def same_values(instance: ComponentInstance, made: MadePlan[Any]) -> bool:
    """Whether the plan `made` used the same input values as the instance has now, and no provider configuration of the
    instance is unknown."""
    if any(provider.is_unknown for provider in instance.providers):
        return False
    pairs = [(instance.variables[name].value, made.variables[name].value) for name in instance.variables]
    return all(unmark_deep(now)[0] == unmark_deep(then)[0] for now, then in pairs)


def planned_outputs(made: MadePlan[Any]) -> dict[str, Value]:
    table: dict[str, Value] = dict.fromkeys(made.loaded.config.root.outputs, UNKNOWN)
    for output in made.plan.outputs:
        table[output.name] = mark(output.after, frozenset((SENSITIVE,))) if output.sensitive else output.after
    return {name: table[name] for name in made.loaded.config.root.outputs}
