"""Applying the end of objects: destroying and forgetting, current and deposed."""

from __future__ import annotations

from typing import TYPE_CHECKING

from planner.engine.apply.operation import Operation, OperationProgress, carry_out, recorded_object
from planner.engine.apply.provision import provision_departing
from planner.engine.evaluation.instance import Instance
from planner.engine.evaluation.objects import RemoteObject
from planner.engine.evaluation.provider_diagnostics import in_body
from planner.foundation.values.types import DYNAMIC
from planner.foundation.values.value import Null, Value, unmark_deep
from planner.foundation.vocabulary.diagnostic import Diagnostic, error, has_errors
from planner.foundation.vocabulary.records import evolve
from planner.logic.model.plan import ResourceChange
from planner.world.provider.interface import PlanRequest

if TYPE_CHECKING:
    from planner.engine.apply.shared_work import ApplyWork


def destroy_current(walk: ApplyWork, it: Instance, change: ResourceChange) -> list[Diagnostic]:
    """Destroy the current object as planned; of a data source only the record goes. Raises Failure."""
    if it.mode != "managed":
        walk.record.write(it, None)
        return []
    current, problems = recorded_object(walk, it)
    if current is None:
        return problems
    report = OperationProgress(walk, it, "delete", current.value)
    found = [] if current.record.tainted else provision_departing(walk, it, current.value)
    if has_errors(found):
        report.end(found, current.value)
        return problems + found
    after = _destroy(walk, it, current, change.private, change.after_identity, found)
    if after is None and it.objects is not None:
        it.objects.remove(it.key)
    report.end(found, after.value if after is not None else Null(it.object_type))
    return problems + found


def destroy_deposed(walk: ApplyWork, it: Instance) -> list[Diagnostic]:
    """Destroy a deposed object. Raises Failure."""
    current, problems = recorded_object(walk, it)
    if current is None:
        detail = f"The state has no deposed object {it.deposed} of {it.address}."
        return [*problems, error("apply.missing_deposed", "Deposed object not present", detail)]
    absent = Null(it.object_type)
    request = PlanRequest(it.type, unmark_deep(current.value)[0], absent, absent, current.record.private)
    request = evolve(request, prior_identity=current.identity, meta=walk.meta(it))
    answer = it.provider.plan(request)
    problems += in_body(answer.diagnostics, it.body, it.address)
    if has_errors(problems):
        return problems
    report = OperationProgress(walk, it, "delete", current.value)
    found: list[Diagnostic] = []
    after = _destroy(walk, it, current, answer.private, answer.identity, found)
    if not has_errors(found):
        report.end(found, Null(it.object_type))
    elif after is not None:
        report.end(found, after.value)
    return problems + found


def _destroy(
    walk: ApplyWork,
    it: Instance,
    current: RemoteObject,
    private: str | None,
    identity: Value,
    problems: list[Diagnostic],
) -> RemoteObject | None:
    absent, meta = Null(it.object_type), walk.meta(it)
    operation = Operation("delete", current.value, absent, Null(DYNAMIC), private, identity, meta)
    after = carry_out(it, operation, current, problems)
    walk.record.write(it, after.record if after is not None else None, it.deposed)
    return after


def forget_instance(walk: ApplyWork, it: Instance) -> list[Diagnostic]:
    """Take an instance with all its objects out of the state."""
    instance = walk.record.state.instance(it.resource_address, it.key)
    if instance is None or instance.current is None:
        return []
    for deposed in instance.deposed:
        walk.record.write(it, None, deposed)
    walk.record.write(it, None)
    if it.objects is not None:
        it.objects.remove(it.key)
    return []


def forget_deposed(walk: ApplyWork, it: Instance) -> list[Diagnostic]:
    """Take a deposed object out of the state."""
    walk.record.write(it, None, it.deposed)
    return []
