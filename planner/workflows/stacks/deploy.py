"""Plans and applies one deployment. Each component instance is planned and applied by the engine for root modules."""

from __future__ import annotations

import threading
from collections.abc import Collection, Iterable, Mapping
from typing import TYPE_CHECKING

from planner.engine.walk.hooks import Hooks
from planner.foundation.values.value import SENSITIVE, UNKNOWN, Value, is_wholly_known, unmark_deep
from planner.foundation.vocabulary.diagnostic import Diagnostic, Failure, error, has_errors
from planner.foundation.vocabulary.limits import UNLIMITED, Mode
from planner.foundation.vocabulary.records import evolve
from planner.language.config.stack_files.model import StackConfig
from planner.operations.apply import Applied, apply
from planner.operations.load import UNENCRYPTED, Encryption, Loaded, grown, new_schemas
from planner.operations.options import OperationOptions
from planner.operations.plan import Planned, Start, plan_opened
from planner.operations.plan_files import compared
from planner.operations.state_access import Opened, locked
from planner.workflows.stacks.decisions import Decided, declaration, in_order, put_off, select_names
from planner.workflows.stacks.destroy import plan_removals
from planner.workflows.stacks.flow import ComponentInstance, Flow, output_value
from planner.workflows.stacks.loading import advised, requirements
from planner.workflows.stacks.names import PromiseName
from planner.workflows.stacks.states import Notes, States
from planner.workflows.stacks.steps import (
    DeploymentPlan,
    InstanceStep,
    judged,
    planned_outputs,
    recorded_outputs,
    same_values,
    workers,
)

if TYPE_CHECKING:
    from planner.engine.evaluation.schemas import Schemas


class Runner:
    """Plans and applies one deployment. `inputs`: the deployment's inputs; their values may be unknown. `options`: the
    options of `plan` for root modules."""

    def __init__(
        self,
        stack: StackConfig,
        deployment: str,
        inputs: Mapping[str, Value],
        states: States,
        options: OperationOptions,
        hooks: Hooks,
        encryption: Encryption = UNENCRYPTED,
    ) -> None:
        self.encryption = encryption
        self.stack, self.deployment, self.inputs, self.states = stack, deployment, inputs, states
        self.options, self.hooks = options, hooks
        self.schemas: Schemas = new_schemas(
            options.directory, requirements(stack.root), encryption=encryption, deferral_allowed=True
        )
        self.steps: dict[str, InstanceStep] = {}
        self.asked: dict[str, ComponentInstance] = {}
        self._lent: list[Schemas] = []
        """the schemas of instances. Each instance has its own schemas, because instances are planned and applied
        concurrently, and each instance ends its own providers"""
        self._lock = threading.Lock()
        self.to_apply = False

    # ------------------------------------------------------------ planning

    def plan(self, to_apply: bool = False, only: Collection[str] = ()) -> DeploymentPlan:
        """Plan all instances, or only the instances that `only` names and their dependencies. `to_apply`: the states
        remain locked until `release`. No exception is raised; errors are among the plan's diagnostics."""
        self.to_apply = to_apply
        left_out: list[str] = []
        self.steps, self.asked = {}, {}
        mode = self.options.mode
        problems: list[Diagnostic] = []
        outputs: dict[str, Value] = {}
        decided: Decided | None = None
        try:
            if to_apply:
                self._hold(problems)
            recorded = self.states.recorded()
            if mode == "destroy" and only:
                detail = "The whole deployment will be destroyed: do not name a component."
                raise Failure(error("stack.component_destroy", "Components cannot be selected", detail))
            if mode == "destroy":
                decided, more = plan_removals(self, recorded, None)
                problems += more
            else:
                flow = Flow(self.stack, self.inputs, _Planning(self))
                instances, item = flow.instances()
                problems += item
                named = select_names({*instances, *recorded}, only, self.deployment)
                wanted = [name for name in named if name in instances] if only else instances
                problems += flow.promises.ask_all(wanted, workers(self.options))
                if only:
                    whole = {str(name) for name in (*instances, *recorded)}
                    left_out = sorted(whole - set(map(str, named)) - self.asked.keys())
                if not has_errors(problems):
                    decided, more = plan_removals(self, recorded, flow, left_out)
                    problems += more
                if not has_errors(problems) and not only:
                    outputs = self._outputs(flow)
        except Failure as failure:
            problems += failure.diagnostics
        reported_before = [d for step in self.steps.values() if step.planned for d in step.planned.diagnostics]
        diagnostics = tuple(map(advised, {id(d): d for d in [*reported_before, *problems]}.values()))
        steps = tuple(self._ordered(decided))
        return DeploymentPlan(self.deployment, mode, steps, outputs, decided, diagnostics, tuple(left_out))

    def _hold(self, diagnostics: list[Diagnostic]) -> None:
        """Lock the deployment, because only one command may write its outputs and notes. Raises Failure."""
        self.states.create()
        with locked(self.states.store(), self.options, "OperationTypeApply", diagnostics, keep=True, hooks=self.hooks):
            pass

    def _ordered(self, decided: Decided | None) -> list[InstanceStep]:
        follows = decided.follows if decided is not None else frozenset()
        return [self.steps[name] for name in in_order(self.steps, follows)]

    def _outputs(self, flow: Flow) -> dict[str, Value]:
        return {
            name: output_value(declared, flow.promises.ask(PromiseName("output", name)))
            for name, declared in sorted(self.stack.root.outputs.items())
        }

    def instance(
        self, instance: ComponentInstance, mode: Mode, deferred: Iterable[tuple[str, str, str]] = ()
    ) -> Planned[Start]:
        """Plan one instance. `deferred`: blocks that are already deferred and are not planned, as in Plan.deferred."""
        about = (("component", str(instance.name)), ("deployment", self.deployment))
        left = tuple(deferred)
        limits = UNLIMITED.excluding(block for block, _, _ in left)
        options = evolve(self.options, mode=mode, allow_deferral=True, about=about, deferred=left, limits=limits)
        schemas = self.schemas.lent()
        with self._lock:
            self._lent.append(schemas)
        loaded = Loaded(options, "default", {}, instance.config, schemas, (), encryption=self.encryption)
        backend, store, hooks = self.states.backend, self.states.store(instance.name), self.heard(instance.name)
        if self.to_apply:
            self.states.create(instance.name)
        elif self.states.read(instance.name) is None:
            opened = grown(Opened, evolve(loaded, options=evolve(options, lock=False)), backend=backend, store=store)
            return plan_opened(opened, instance.variables, hooks)
        opened = grown(Opened, loaded, backend=backend, store=store)
        return plan_opened(opened, instance.variables, hooks, self.to_apply)

    def heard(self, name: PromiseName) -> Hooks:
        return self.hooks.inside(str(name))

    def settle(self, instance: ComponentInstance, step: InstanceStep) -> None:
        with self._lock:
            self.steps[str(instance.name)] = step
            self.asked[str(instance.name)] = instance

    # ------------------------------------------------------------ applying

    def apply(self, approved: DeploymentPlan) -> tuple[list[Diagnostic], dict[str, Value]]:
        """Apply a plan. Returns diagnostics, and the outputs; {} after an error or a destroy. An instance that was
        planned with unknown values is planned again with the values that are known now. The new plan is applied only if
        the approved plan contains all its changes."""
        problems = self._note(approved)
        failed: set[str] = set()
        ending = [step for step in approved.steps if step.what in ("destroy", "forget")]
        # decided in Python: the sequence of removed instances -- rules derive which waits for which
        for step in ending:
            waits = {b for a, b in (approved.decided.follows if approved.decided else ()) if a == str(step.name)}
            if waits & failed:
                failed.add(str(step.name))
                continue
            diagnostics = self._end(step)
            problems += diagnostics
            if has_errors(diagnostics):
                failed.add(str(step.name))
        outputs: dict[str, Value] = {}
        if approved.mode == "destroy" or has_errors(problems):
            if approved.mode == "destroy" and not has_errors(problems):
                problems += self.states.write_outputs({})
            return problems, outputs
        flow = Flow(self.stack, self.inputs, _Applying(self, approved))
        instances, diagnostics = flow.instances()
        problems += diagnostics
        problems += flow.promises.ask_all(instances, workers(self.options))
        if not has_errors(problems):
            try:
                outputs = self._outputs(flow)
                declared = self.stack.root.outputs
                known = {
                    name: (value, SENSITIVE in unmark_deep(value)[1])
                    for name, value in outputs.items()
                    if not declared[name].ephemeral and is_wholly_known(value)
                }
                problems += self.states.write_outputs(known)
            except Failure as failure:
                problems += failure.diagnostics
        return problems, outputs

    def _end(self, step: InstanceStep) -> list[Diagnostic]:
        if step.what == "forget":
            step.applied = True
            return self.states.forget(step.name)
        assert step.planned is not None
        applied = apply(self.options, step.planned, self.heard(step.name))
        _record(step, applied)
        problems = [*applied.diagnostics, *self.states.store(step.name).unlock()]
        if not has_errors(problems):
            problems += self.states.forget(step.name)
        return problems

    def _note(self, plan: DeploymentPlan) -> list[Diagnostic]:
        """Record the dependencies of each instance before any change, so that they are known after an interruption.
        Returns errors."""
        made_from = dict(self.states.notes().made_from)
        for name, asked in self.asked.items():
            made_from[name] = tuple(map(str, asked.awaited))
        return self.states.note(Notes(made_from))

    def release(self) -> list[Diagnostic]:
        """End the providers, and release the locks of the states. Returns diagnostics."""
        for schemas in (self.schemas, *self._lent):
            schemas.close()
        return self.states.leave()


class _Planning:
    def __init__(self, runner: Runner) -> None:
        self.runner = runner

    def component(self, instance: ComponentInstance) -> Mapping[str, Value]:
        runner = self.runner
        steps = list(runner.steps.items())
        before = {name: step.put_off for name, step in steps if step.put_off}
        partial = {name for name, step in steps if step.plan is not None and step.plan.deferred}
        why = put_off(instance, runner.options.mode, before, partial)
        if why:
            runner.settle(instance, InstanceStep(instance.name, "defer", None, why))
            return dict.fromkeys(instance.config.root.outputs, UNKNOWN)
        planned, verdict = judged(runner.instance(instance, runner.options.mode))
        runner.settle(instance, InstanceStep(instance.name, "plan", planned, verdict=verdict))
        if planned.complete is None:
            raise Failure(planned.diagnostics)
        return planned_outputs(planned.complete)


class _Applying:
    def __init__(self, runner: Runner, approved: DeploymentPlan) -> None:
        self.runner = runner
        self.steps = {str(step.name): step for step in approved.steps}
        self.later = {declaration(step.name) for step in approved.steps if step.name.is_wild}

    def component(self, instance: ComponentInstance) -> Mapping[str, Value]:
        runner, step = self.runner, self.steps.get(str(instance.name))
        if step is None and declaration(instance.name) in self.later:  # the instance has only now become known
            return dict.fromkeys(instance.config.root.outputs, UNKNOWN)
        if step is None:
            detail = f"{instance.name} was not part of the approved plan: plan again."
            raise Failure(error("stack.not_planned", "The plan differs from the approved one", detail, instance.span))
        if step.what == "defer" or step.planned is None or step.plan is None:
            return dict.fromkeys(instance.config.root.outputs, UNKNOWN)
        planned = step.planned
        made = planned.complete
        unknown = [name for name, given in instance.variables.items() if not is_wholly_known(given.value)]
        if unknown and step.plan.can_apply:
            raise Failure(self._unknown(instance, unknown))
        if made is not None and not same_values(instance, made):
            # deferred parts were not approved; even if they can be planned now, they are shown in a later round
            planned = runner.instance(instance, runner.options.mode, step.plan.deferred)
            if planned.complete is None:
                raise Failure(planned.diagnostics)
            differences = compared(step.plan, planned.complete.plan)
            if differences:
                raise Failure(_other(instance, differences))
        result = apply(runner.options, planned, runner.heard(instance.name))
        _record(step, result)
        if has_errors(result.diagnostics) or result.state is None:
            raise Failure(result.diagnostics)
        names = {output.name for output in planned.plan.outputs} if planned.plan is not None else set()
        outputs = recorded_outputs(instance.config, result.state)
        return {name: value if name in names else UNKNOWN for name, value in outputs.items()}

    def _unknown(self, instance: ComponentInstance, names: Iterable[str]) -> Diagnostic:
        """The error about an instance with inputs that are still unknown after its dependencies were applied."""
        detail = f"Values of {instance.name} that are still unknown: {', '.join(sorted(names))}."
        given = [name for name, value in sorted(self.runner.inputs.items()) if not is_wholly_known(value)]
        if given:
            detail += (
                f" The deployment {self.runner.deployment} has no known value for {', '.join(given)}, because the "
                "source of the value (an upstream stack, a token, a variable set) does not have it yet."
            )
        return error("stack.unknown_input", "Unknown inputs", detail, instance.span)


def _record(step: InstanceStep, applied: Applied) -> None:
    step.applied, step.counts = True, applied.counts
    is_begun = bool(applied.outcomes) or not has_errors(applied.diagnostics)
    step.outcomes = applied.outcomes if is_begun else None


def _other(instance: ComponentInstance, differences: Iterable[tuple[str, str]]) -> Diagnostic:
    lines = difference_lines(differences)
    detail = f"With values that were not known before, {instance.name} is planned with:{lines}\n\nPlan again."
    return error("stack.not_approved", "The plan differs from the approved one", detail, instance.span)


def difference_lines(differences: Iterable[tuple[str, str]]) -> str:
    """The differences returned by `compared`, one per line."""
    return "".join(f"\n  - {address}: a different {how}" for address, how in differences)
