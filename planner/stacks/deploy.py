"""Planning and applying one deployment: every instance of a component by the engine of root modules."""

from __future__ import annotations

import threading
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from planner.config.model import Config
from planner.config.stack_files.model import RemovedComponent, StackConfig
from planner.datalog.engine.fact_base import FactBuilder
from planner.operations.agreement import compared
from planner.operations.apply import Counts, apply
from planner.operations.encryption import UNENCRYPTED, Encryption
from planner.operations.loading import Loaded, grown, new_schemas
from planner.operations.options import OperationOptions
from planner.operations.plan import Made, Planned, Start, plan_opened
from planner.operations.storing import Opened
from planner.stacks.decisions import Decided, PutOff, data_flow, decide, declaration, facts_of, in_order, put_off
from planner.stacks.flow import Asked, Flow, output_value, repeated
from planner.stacks.loading import requirements
from planner.stacks.names import Name
from planner.stacks.states import Notes, States
from planner.values.value import SENSITIVE, UNKNOWN, Value, is_wholly_known, mark, unmark_deep
from planner.vocabulary.diagnostic import Diagnostic, Failure, error, has_errors
from planner.vocabulary.records import define, evolve, field, frozen
from planner.walk.hooks import PrefixedHooks

if TYPE_CHECKING:
    from planner.evaluation.schemas import Schemas
    from planner.model.plan import Plan
    from planner.policy.model import Verdict
    from planner.state.model import State
    from planner.vocabulary.walks import Mode
    from planner.walk.hooks import Hooks


@define(eq=False)
class Step:
    """What is done, or was done, about one instance. `what`: plan, destroy, forget or defer."""

    name: Name
    what: str
    planned: Planned[Start] | None = None
    put_off: PutOff = ()
    verdict: Verdict | None = None
    """what policies say of the plan"""
    applied: bool = False
    counts: Counts = field(factory=Counts)

    @property
    def plan(self) -> Plan | None:
        return self.planned.plan if self.planned is not None else None

    @property
    def has_changes(self) -> bool:
        """Whether applying would do anything."""
        return self.what == "forget" or (self.plan is not None and self.plan.can_apply)


@frozen(eq=False)
class DeploymentPlan:
    """A plan of a deployment: what is done about each instance, in an order in which it can be done; and the outputs as
    they will be."""

    deployment: str
    mode: str
    steps: tuple[Step, ...]
    outputs: Mapping[str, Value]
    decided: Decided | None
    diagnostics: tuple[Diagnostic, ...]

    @property
    def can_apply(self) -> bool:
        return not has_errors(self.diagnostics) and any(step.has_changes for step in self.steps)

    @property
    def is_partial(self) -> bool:
        """Whether another round will be needed."""
        return self.decided is not None and bool(self.decided.incomplete)


class Recorded:
    """Instances as their states have them."""

    def __init__(self, states: States) -> None:
        self.states = states

    def component(self, asked: Asked) -> Mapping[str, Value]:
        state = self.states.read(asked.name) if not asked.name.is_wild else None
        return recorded_outputs(asked.config, state)


def recorded_outputs(config: Config, state: State | None) -> dict[str, Value]:
    """The outputs of a module as a state has them; those that it has not are unknown."""
    found: dict[str, Value] = {}
    for name in config.root.outputs:
        output = state.outputs.get(name) if state is not None else None
        value = UNKNOWN if output is None else output.value
        found[name] = mark(value, frozenset((SENSITIVE,))) if output is not None and output.sensitive else value
    return found


class Runner:
    """The work on one deployment. `inputs`: of the deployment, some perhaps unknown; `options`: as those of `plan`."""

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
        self.schemas: Schemas = new_schemas(options.directory, requirements(stack.root), encryption=encryption)
        self.steps: dict[str, Step] = {}
        self.asked: dict[str, Asked] = {}
        self._lock = threading.Lock()
        self.to_apply = False

    # ------------------------------------------------------------ planning

    def plan(self, to_apply: bool = False) -> DeploymentPlan:
        """Plan every instance. `to_apply`: the states stay locked until `release`."""
        self.to_apply = to_apply
        self.steps, self.asked = {}, {}
        mode = self.options.mode
        problems: list[Diagnostic] = []
        outputs: dict[str, Value] = {}
        decided: Decided | None = None
        try:
            recorded = self.states.recorded()
            if mode == "destroy":
                decided, problems = self._plan_removals(recorded, None)
            else:
                flow = Flow(self.stack, self.inputs, _Planning(self))
                instances, found = flow.instances()
                problems += found
                problems += flow.promises.ask_all(instances, workers(self.options))
                if not has_errors(problems):
                    decided, more = self._plan_removals(recorded, flow)
                    problems += more
                if not has_errors(problems):
                    outputs = self._outputs(flow)
        except Failure as failure:
            problems += failure.diagnostics
        told = [d for step in self.steps.values() if step.planned for d in step.planned.diagnostics]
        whole = list({id(d): d for d in [*told, *problems]}.values())
        return DeploymentPlan(self.deployment, mode, tuple(self._ordered(decided)), outputs, decided, tuple(whole))

    def _ordered(self, decided: Decided | None) -> list[Step]:
        follows = decided.follows if decided is not None else frozenset()
        return [self.steps[name] for name in in_order(self.steps, follows)]

    def _outputs(self, flow: Flow) -> dict[str, Value]:
        return {
            name: output_value(declared, flow.promises.ask(Name("output", name)))
            for name, declared in sorted(self.stack.root.outputs.items())
        }

    def instance(self, asked: Asked, mode: Mode) -> Planned[Start]:
        """Plan one instance."""
        about = (("component", str(asked.name)), ("deployment", self.deployment))
        options = evolve(self.options, mode=mode, allow_deferral=True, about=about)
        loaded = Loaded(options, "default", {}, asked.config, self.schemas, (), encryption=self.encryption)
        backend, store, hooks = self.states.backend, self.states.store(asked.name), self.heard(asked.name)
        if self.to_apply:
            self.states.create(asked.name)
        elif self.states.read(asked.name) is None:
            opened = grown(Opened, evolve(loaded, options=evolve(options, lock=False)), backend=backend, store=store)
            return plan_opened(opened, asked.variables, hooks)
        opened = grown(Opened, loaded, backend=backend, store=store)
        return plan_opened(opened, asked.variables, hooks, self.to_apply)

    def heard(self, name: Name) -> Hooks:
        """Where what is done in an instance is told."""
        return PrefixedHooks(self.hooks, f"{name}: ")

    def settle(self, asked: Asked, step: Step) -> None:
        with self._lock:
            self.steps[str(asked.name)] = step
            self.asked[str(asked.name)] = asked

    # ------------------------------------------------------------ what is removed

    def _plan_removals(self, recorded: list[Name], planned_by: Flow | None) -> tuple[Decided, list[Diagnostic]]:
        """Plan the end of what is recorded and not asked for (of everything, to destroy it)."""
        flow = Flow(self.stack, self.inputs, Recorded(self.states))
        mode = self.options.mode
        blocks: dict[str, tuple[RemovedComponent, Name, Value]] = {}
        facts = FactBuilder()
        facts.add("deployment_mode", mode)
        if planned_by is not None:
            data_flow(facts, planned_by)
        for asked in self.asked.values():
            for predicate, *columns in facts_of(asked):
                facts.add(predicate, *columns)
        for step in self.steps.values():
            if step.plan is not None and step.plan.deferred:
                facts.add("partial_plan", str(step.name))
            if step.has_changes:
                facts.add("is_going_to_change", str(step.name))
        for name in recorded:
            facts.add("recorded", str(name), declaration(name))
        for path in flow.paths() if mode != "destroy" or self.stack.root.removed else [()]:
            for block in flow.module(path).removed:
                for name, each in removed_instances(flow, block, path, recorded):
                    blocks[str(name)] = (block, name, each)
                    how = "destroy" if block.destroy else "forget"
                    facts.add("removal_block", str(name), how, source=block.from_span)
        notes = self.states.notes() if recorded else Notes({})
        for name in recorded:
            for other in notes.made_from.get(str(name), ()):
                facts.add("made_before", str(name), other)
        decided = decide(facts)
        problems = [*self._unclaimed(decided), *self._contradicting(decided, blocks)]
        for name in recorded:
            what = decided.does.get(str(name))
            if what == "forget":
                self.steps[str(name)] = Step(name, "forget")
            elif what == "destroy":
                try:
                    asked = self._asked_to_destroy(flow, name, blocks.get(str(name)))
                    planned, verdict = judged(self.instance(asked, "destroy"))
                except Failure as failure:
                    problems += failure.diagnostics
                    continue
                self.settle(asked, Step(name, "destroy", planned, verdict=verdict))
        return decided, problems

    def _asked_to_destroy(self, flow: Flow, name: Name, removed: tuple[RemovedComponent, Name, Value] | None) -> Asked:
        if removed is not None:
            block, _, each = removed
            if block.kind == "stack":  # nothing in it says with which module and providers
                detail = (
                    f"{name} cannot be destroyed by a removed block for a whole child stack. Keep the stack block, "
                    "write removed blocks for its components into the child stack, apply, and delete the block then."
                )
                raise Failure(error("stack.removed_stack", "Child stack cannot be removed", detail, block.span))
            return flow.asked(block, name, each)
        component = flow.module(name.path).components.get(f"component.{name.name}")
        if component is None:
            detail = f"{name} has a state, and no component block says which module and providers it was made with."
            raise Failure(error("stack.no_module", "Instance without a component", f"{detail}{_advice(name)}"))
        return flow.asked(component, name)

    def _unclaimed(self, decided: Decided) -> list[Diagnostic]:
        return [
            error(
                "stack.unclaimed",
                "Component without a block",
                f"{name} has a state in the deployment {self.deployment}, and the configuration says nothing about it."
                f"{_advice_text(name)}",
            )
            for name in decided.unclaimed
        ]

    def _contradicting(
        self, decided: Decided, blocks: Mapping[str, tuple[RemovedComponent, Name, Value]]
    ) -> list[Diagnostic]:
        return [
            error(
                "stack.removed_still_declared",
                "Removed component still exists",
                f"{name} is asked for by a component block, and said to be removed by this one.",
                blocks[name][0].span,
            )
            for name in decided.declared_and_removed
        ]

    # ------------------------------------------------------------ applying

    def apply(self, approved: DeploymentPlan) -> tuple[list[Diagnostic], dict[str, Value]]:
        """Do what a plan says, and give the outputs. What was planned with unknown values is planned again with what is
        known by then, and done if that is nothing that was not approved."""
        problems: list[Diagnostic] = []
        self._note(approved)
        failed: set[str] = set()
        ending = [step for step in approved.steps if step.what in ("destroy", "forget")]
        for step in ending:
            waits = {b for a, b in (approved.decided.follows if approved.decided else ()) if a == str(step.name)}
            if waits & failed:
                failed.add(str(step.name))
                continue
            found = self._end(step)
            problems += found
            if has_errors(found):
                failed.add(str(step.name))
        outputs: dict[str, Value] = {}
        if approved.mode == "destroy" or has_errors(problems):
            if approved.mode == "destroy" and not has_errors(problems):
                problems += self.states.write_outputs({})
            return problems, outputs
        flow = Flow(self.stack, self.inputs, _Applying(self, approved))
        instances, found = flow.instances()
        problems += found
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

    def _end(self, step: Step) -> list[Diagnostic]:
        if step.what == "forget":
            step.applied = True
            return self.states.forget(step.name)
        assert step.planned is not None
        applied = apply(self.options, step.planned, self.heard(step.name))
        step.applied, step.counts = True, applied.counts
        problems = [*applied.diagnostics, *self.states.store(step.name).unlock()]
        if not has_errors(problems):
            problems += self.states.forget(step.name)
        return problems

    def _note(self, plan: DeploymentPlan) -> None:
        """What each instance is made from, before anything is done that an interruption could leave behind."""
        made_from = dict(self.states.notes().made_from)
        for name, asked in self.asked.items():
            made_from[name] = tuple(map(str, asked.awaited))
        self.states.note(Notes(made_from))

    def release(self) -> list[Diagnostic]:
        """Give back what is held."""
        self.schemas.close()
        return self.states.leave()


def judged(planned: Planned[Start]) -> tuple[Planned[Start], Verdict | None]:
    """A plan as policies find it, with what they say among its problems."""
    if planned.complete is None or not planned.complete.loaded.options.judges:
        return planned, None
    return _judged(planned, planned.complete)


def _judged(planned: Planned[Start], complete: Made[Start]) -> tuple[Planned[Start], Verdict | None]:
    from planner.operations import policies

    made, verdict, problems = policies.judged(complete)
    said = [] if verdict is None else policies.diagnostics(verdict)
    return Planned(made, (*planned.diagnostics, *problems, *said)), verdict


def workers(options: OperationOptions) -> int:
    """How many instances are worked on at once."""
    return max(1, min(4, options.parallelism))


class _Planning:
    def __init__(self, runner: Runner) -> None:
        self.runner = runner

    def component(self, asked: Asked) -> Mapping[str, Value]:
        runner = self.runner
        before = {name: step.put_off for name, step in list(runner.steps.items()) if step.put_off}
        why = put_off(asked, runner.options.mode, before)
        if why:
            runner.settle(asked, Step(asked.name, "defer", None, why))
            return dict.fromkeys(asked.config.root.outputs, UNKNOWN)
        planned, verdict = judged(runner.instance(asked, runner.options.mode))
        runner.settle(asked, Step(asked.name, "plan", planned, verdict=verdict))
        if planned.complete is None:
            raise Failure(planned.diagnostics)
        return planned_outputs(planned.complete)


class _Applying:
    def __init__(self, runner: Runner, approved: DeploymentPlan) -> None:
        self.runner = runner
        self.steps = {str(step.name): step for step in approved.steps}
        self.later = {declaration(step.name) for step in approved.steps if step.name.is_wild}

    def component(self, asked: Asked) -> Mapping[str, Value]:
        runner, step = self.runner, self.steps.get(str(asked.name))
        if step is None and declaration(asked.name) in self.later:  # it has just turned out to be there
            return dict.fromkeys(asked.config.root.outputs, UNKNOWN)
        if step is None:
            detail = f"{asked.name} was no part of the plan that was approved: plan again."
            raise Failure(error("stack.not_planned", "Not what was approved", detail, asked.span))
        if step.what == "defer" or step.planned is None or step.plan is None:
            return dict.fromkeys(asked.config.root.outputs, UNKNOWN)
        planned = step.planned
        made = planned.complete
        if made is not None and not same_values(asked, made):
            planned = runner.instance(asked, runner.options.mode)
            if planned.complete is None:
                raise Failure(planned.diagnostics)
            differences = compared(step.plan, planned.complete.plan)
            if differences:
                raise Failure(_other(asked, differences))
        result = apply(runner.options, planned, runner.heard(asked.name))
        step.applied, step.counts = True, result.counts
        if has_errors(result.diagnostics) or result.state is None:
            raise Failure(result.diagnostics)
        return recorded_outputs(asked.config, result.state)


def same_values(asked: Asked, made: Made[Any]) -> bool:
    """Whether a plan was made with the values and provider configurations that there are now."""
    if any(provider.is_unknown for provider in asked.providers):
        return False
    pairs = [(asked.variables[name].value, made.variables[name].value) for name in asked.variables]
    return all(unmark_deep(now)[0] == unmark_deep(then)[0] for now, then in pairs)


def _other(asked: Asked, differences: Iterable[tuple[str, str]]) -> Diagnostic:
    lines = "".join(f"\n  - {address}: another {how}" for address, how in differences)
    detail = f"With values that were not known before, {asked.name} is planned with:{lines}\n\nPlan again."
    return error("stack.not_approved", "Not what was approved", detail, asked.span)


def planned_outputs(made: Made[Any]) -> dict[str, Value]:
    """The outputs of a module as a plan makes them."""
    found: dict[str, Value] = dict.fromkeys(made.loaded.config.root.outputs, UNKNOWN)
    for output in made.plan.outputs:
        found[output.name] = mark(output.after, frozenset((SENSITIVE,))) if output.sensitive else output.after
    return {name: found[name] for name in made.loaded.config.root.outputs}


def removed_instances(flow: Flow, block: RemovedComponent, path: Any, recorded: list[Name]) -> list[tuple[Name, Value]]:
    """The recorded instances that a removed block is about, with the values that go with its for_each. Raises
    Failure."""
    depth = len(path)
    if block.kind == "component":
        mine = [name for name in recorded if name.path == path and name.name == block.name]
    else:
        below = [name for name in recorded if name.path[:depth] == path and len(name.path) > depth]
        mine = [name for name in below if name.path[depth][0] == block.name]
    if block.key is None:
        return [(name, UNKNOWN) for name in mine]
    items: dict[Any, Value] = {None: UNKNOWN}
    if block.for_each is not None:
        value = repeated(flow.evaluate(block.for_each, flow.scope(path)), block.for_each)
        items = dict(value) if isinstance(value, dict) else {}
    found: list[tuple[Name, Value]] = []
    for key, each in items.items():
        wanted, _ = unmark_deep(flow.evaluate(block.key, flow.scope(path, key, each)))
        for name in mine:
            own = name.key if block.kind == "component" else name.path[depth][1]
            if own == wanted:
                found.append((name, each))
    return found


def _advice(name: Name) -> str:
    return _advice_text(str(name))


def _advice_text(name: str) -> str:
    return (
        " If it is to go, say so, with the module and providers that it was made with:\n\n"
        f'  removed {{\n    from   = {name}\n    source = "..."\n  }}'
    )
