"""Plans the removal of component instances that have states: of all of them, or only of instances that are no longer in
the configuration."""

from __future__ import annotations

from collections.abc import Container, Iterable, Mapping
from typing import Any, Protocol

from planner.foundation.values.value import UNKNOWN, Unknown, Value, unmark_deep
from planner.foundation.vocabulary.diagnostic import Diagnostic, Failure, error, warning
from planner.foundation.vocabulary.limits import Mode
from planner.language.config.stack_files.model import RemovedComponent, StackConfig
from planner.logic.datalog.engine.fact_base import FactBuilder
from planner.logic.model.plan import deferral_cause
from planner.operations.options import OperationOptions
from planner.operations.plan import Planned, Start
from planner.workflows.stacks.decisions import Decided, data_flow, decide, declaration, facts_of
from planner.workflows.stacks.flow import ComponentInstance, Flow, repeated
from planner.workflows.stacks.names import PromiseName
from planner.workflows.stacks.states import Notes, States
from planner.workflows.stacks.steps import InstancesOfStates, InstanceStep, judged

Blocks = Mapping[str, tuple[RemovedComponent, PromiseName, Value]]


class Planner(Protocol):
    """The part of Runner (deploy.py) that is needed to plan removals."""

    stack: StackConfig
    deployment: str
    inputs: Mapping[str, Value]
    states: States
    options: OperationOptions
    steps: dict[str, InstanceStep]
    asked: dict[str, ComponentInstance]

    def instance(self, instance: ComponentInstance, mode: Mode) -> Planned[Start]: ...

    def settle(self, instance: ComponentInstance, step: InstanceStep) -> None: ...


def plan_removals(
    planner: Planner, recorded: list[PromiseName], planned_by: Flow | None, left_out: Iterable[str] = ()
) -> tuple[Decided, list[Diagnostic]]:
    """Plan the removal of recorded instances (instances with a state). In the mode destroy, all of them are removed.
    Otherwise, an instance is removed if `planned_by` has not evaluated it and it is not in `left_out`. Adds steps to
    `planner`. Returns the decisions about instances, and diagnostics. Raises Failure."""
    flow = Flow(planner.stack, planner.inputs, InstancesOfStates(planner.states))
    # a directory without a state is not an instance: another program or a killed apply created the directory
    recorded = [name for name in recorded if str(name) in planner.asked or planner.states.read(name) is not None]
    mode = planner.options.mode
    blocks: dict[str, tuple[RemovedComponent, PromiseName, Value]] = {}
    facts = FactBuilder()
    facts.add("deployment_mode", mode)
    if planned_by is not None:
        data_flow(facts, planned_by)
    for asked in planner.asked.values():
        for predicate, *columns in facts_of(asked):
            facts.add(predicate, *columns)
    for step in planner.steps.values():
        if step.plan is not None and step.plan.deferred:
            facts.add("partial_plan", str(step.name))
            for left, argument, place in step.plan.deferred:
                at = f"{argument} at {place}" if place else argument
                cause = deferral_cause(argument)
                facts.add("answered_later" if cause else "left_for_later", str(step.name), left, cause or at)
        if step.has_changes:
            facts.add("is_going_to_change", str(step.name))
    for name in recorded:
        facts.add("recorded", str(name), declaration(name))
    for one in left_out:
        facts.add("not_chosen", one)
    for path in flow.paths() if mode != "destroy" or planner.stack.root.removed else [()]:
        for block in flow.module(path).removed:
            for name, each in removed_instances(flow, block, path, recorded):
                blocks[str(name)] = (block, name, each)
                how = "destroy" if block.destroy else "forget"
                facts.add("removal_block", str(name), how, source=block.from_span)
            for name in perhaps_removed(flow, block, path, recorded):
                facts.add("perhaps_removed", str(name), source=block.from_span)
    if mode == "normal":
        _providers_of_removed(flow, blocks, planner.asked, facts)
    notes = planner.states.notes() if recorded else Notes({})
    for name in recorded:
        if str(name) not in planner.asked:
            noted: Iterable[object] | None = notes.made_from.get(str(name))
            for other in _as_configured(flow, name) if noted is None else noted:
                facts.add("made_before", str(name), str(other))
    decided = decide(facts)
    problems = [*_unclaimed(decided, planner.deployment), *_contradicting(decided, blocks)]
    if notes.is_damaged and "destroy" in decided.does.values():
        problems.append(_damaged(planner.deployment))
    for name in recorded:
        what = decided.does.get(str(name))
        if what == "defer" and str(name) not in planner.asked:
            rows = [row for row in decided.database.sorted("put_off") if row[0] == str(name)]
            planner.steps[str(name)] = InstanceStep(
                name, "defer", None, tuple((str(why), str(on)) for _, why, on in rows)
            )
        elif what == "forget":
            planner.steps[str(name)] = InstanceStep(name, "forget", objects=_objects(planner.states, name))
        elif what == "destroy":
            try:
                asked = _asked_to_destroy(flow, name, blocks.get(str(name)))
                planned, verdict = judged(planner.instance(asked, "destroy"))
            except Failure as failure:
                problems += failure.diagnostics
                continue
            planner.settle(asked, InstanceStep(name, "destroy", planned, verdict=verdict))
    return decided, problems


def _providers_of_removed(flow: Flow, blocks: Blocks, known: Container[str], facts: FactBuilder) -> None:
    """Add facts about the providers of removed instances: unknown configurations, and the values from which they
    come."""
    waiting = [one for name, one in sorted(blocks.items()) if name not in known and one[0].kind == "component"]
    is_unknown = False
    for block, name, each in waiting:
        try:
            providers = flow.asked(block, name, each).providers if block.destroy else ()
        except Failure:  # planning its removal reports the problem
            continue
        for provider in providers:
            if provider.is_unknown:
                is_unknown = True
                facts.add("unknown_configuration", str(name), str(provider.name))
    if is_unknown:
        data_flow(facts, flow)


def _objects(states: States, name: PromiseName) -> int:
    """The number of managed resource instances in the state of a component instance. Raises Failure."""
    state = states.read(name)
    resources = state.resources.values() if state is not None else ()
    return sum(len(resource.instances) for resource in resources if resource.mode == "managed")


def _asked_to_destroy(
    flow: Flow, name: PromiseName, removed: tuple[RemovedComponent, PromiseName, Value] | None
) -> ComponentInstance:
    if removed is not None:
        block, _, each = removed
        if block.kind == "stack":  # a stack block does not determine the module and providers
            detail = (
                f"{name} cannot be destroyed by a removed block for a whole child stack. Keep the stack block, "
                "write removed blocks for its components into the child stack, apply, then delete the stack block."
            )
            raise Failure(error("stack.removed_stack", "Child stack cannot be removed", detail, block.span))
        return flow.asked(block, name, each)
    component = flow.declaration(name)
    if component is None:
        detail = f"{name} has a state, but no component block with its module and providers."
        raise Failure(
            error("stack.no_module", "Instance of an undeclared component", f"{detail}{_advice_text(str(name))}")
        )
    return flow.asked(component, name)


def _as_configured(flow: Flow, name: PromiseName) -> tuple[PromiseName, ...]:
    """The dependencies of an instance according to the current configuration; () if its component is not declared. They
    are used if no dependencies were recorded."""
    if flow.declaration(name) is None:
        return ()
    try:
        flow.promises.ask(name)
    except Failure:  # planning the instance reports the problem
        return ()
    return flow.awaited(name)


def _damaged(deployment: str) -> Diagnostic:
    detail = (
        f"The records about the instances of the deployment {deployment} cannot be read. The instances are "
        "destroyed in the order that follows from the current configuration."
    )
    return warning("stack.notes", "Damaged records of a deployment", detail)


def _unclaimed(decided: Decided, deployment: str) -> list[Diagnostic]:
    return [
        error(
            "stack.unclaimed",
            "Component not declared",
            f"{name} has a state in the deployment {deployment}, but is not in the configuration.{_advice_text(name)}",
        )
        for name in decided.unclaimed
    ]


def _contradicting(decided: Decided, blocks: Blocks) -> list[Diagnostic]:
    return [
        error(
            "stack.removed_still_declared",
            "Removed component still exists",
            f"A component block declares {name}, and this block removes it.",
            blocks[name][0].span,
        )
        for name in decided.declared_and_removed
    ]


def removed_instances(
    flow: Flow, block: RemovedComponent, path: Any, recorded: list[PromiseName]
) -> list[tuple[PromiseName, Value]]:
    """(instance, element of for_each) for each recorded instance that a removed block is known to remove. The element
    is unknown if the block has no for_each. Raises Failure."""
    depth, mine = len(path), _matching_names(block, path, recorded)
    if block.key is None:
        return [(name, UNKNOWN) for name in mine]
    items: dict[Any, Value] = {None: UNKNOWN}
    if block.for_each is not None:
        value = repeated(flow.evaluate(block.for_each, flow.scope(path)), block.for_each)
        items = dict(value) if isinstance(value, dict) else {}
    results: list[tuple[PromiseName, Value]] = []
    for key, each in items.items():
        wanted, _ = unmark_deep(flow.evaluate(block.key, flow.scope(path, key, each)))
        for name in mine:
            own = name.key if block.kind == "component" else name.path[depth][1]
            if own == wanted:
                results.append((name, each))
    return results


def perhaps_removed(flow: Flow, block: RemovedComponent, path: Any, recorded: list[PromiseName]) -> list[PromiseName]:
    """The recorded instances that a removed block may remove once its unknown for_each or key is known. Raises
    Failure."""
    if block.key is None:
        return []
    if block.for_each is None:
        key, _ = unmark_deep(flow.evaluate(block.key, flow.scope(path)))
        return _matching_names(block, path, recorded) if isinstance(key, Unknown) else []
    items = repeated(flow.evaluate(block.for_each, flow.scope(path)), block.for_each)
    if not isinstance(items, Unknown):
        keys = [unmark_deep(flow.evaluate(block.key, flow.scope(path, k, each)))[0] for k, each in items.items()]
        if not any(isinstance(key, Unknown) for key in keys):
            return []
    return _matching_names(block, path, recorded)


def _matching_names(block: RemovedComponent, path: Any, recorded: list[PromiseName]) -> list[PromiseName]:
    depth = len(path)
    if block.kind == "component":
        return [name for name in recorded if name.path == path and name.name == block.name]
    below = [name for name in recorded if name.path[:depth] == path and len(name.path) > depth]
    return [name for name in below if name.path[depth][0] == block.name]


def _advice_text(name: str) -> str:
    return (
        " To remove it, add a removed block with its module and providers:\n\n"
        f'  removed {{\n    from   = {name}\n    source = "..."\n  }}'
    )
