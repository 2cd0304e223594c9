"""Runs one operation of a provider: announces it, runs it, and checks and records the result."""

from __future__ import annotations

from time import monotonic

from planner.engine.apply.shared_work import ApplyWork
from planner.engine.evaluation.instance import Instance
from planner.engine.evaluation.objects import RemoteObject, object_id, read_object, recorded_identity, write_object
from planner.engine.evaluation.provider_diagnostics import in_body
from planner.engine.evaluation.schemas import combined_marks, schema_marks, sensitive_paths, without_write_only
from planner.engine.plan.action import keeps_object
from planner.foundation.values.convert import path_text
from planner.foundation.values.operations import same_value
from planner.foundation.values.paths import apply_marks, marked_paths, unknown_paths
from planner.foundation.values.sets import unknown_as_null
from planner.foundation.values.value import Null, Value, is_wholly_known, unmark_deep
from planner.foundation.vocabulary.diagnostic import Diagnostic, Failure, error, has_errors
from planner.foundation.vocabulary.records import frozen
from planner.world.provider.conformity import object_problems
from planner.world.provider.interface import ApplyRequest
from planner.world.state.model import ObjectState


@frozen(eq=False)
class Operation:
    """A change that the provider makes. `action`: create, update or delete. `before` and `after`: the object before and
    after the change, with marks. `config`: the configuration without marks, or Null for a delete."""

    action: str
    before: Value
    after: Value
    config: Value
    private: str | None = None
    identity: Value = None
    meta: Value = None


class OperationProgress:
    """Reports the start and the end of an operation to the journal and the hooks, and counts successful operations.
    Raises Failure if the start cannot be recorded in the journal."""

    def __init__(self, walk: ApplyWork, it: Instance, action: str, before: Value) -> None:
        self.walk, self.it, self.action = walk, it, action
        # The record of a pure computation is not flushed to disk immediately: no real object would be lost if the
        # machine crashed.
        self.durable = not walk.is_inline(it.node)
        self.number = walk.record.start(it, action, self.durable)
        self.began = monotonic()
        identity = object_id(before) or object_id(before, "name")
        walk.hooks.apply_start(it.address, action, identity, it.deposed)

    def end(self, problems: list[Diagnostic], value: Value) -> None:
        """Report and count the operation, which has ended. `value`: the current object (Null if there is none)."""
        it, hooks, elapsed = self.it, self.walk.hooks, monotonic() - self.began
        self.walk.record.end(self.number, self.durable)
        if has_errors(problems):
            hooks.apply_errored(it.address, self.action, elapsed, it.deposed)
        else:
            self.walk.record.count(self.action)
            self.walk.record.operated.add(it.node)
            hooks.apply_complete(it.address, self.action, object_id(value), elapsed, it.deposed)


def recorded_object(walk: ApplyWork, it: Instance) -> tuple[RemoteObject | None, list[Diagnostic]]:
    """The object in the state, None if there is none; and warnings about it. Raises Failure if it cannot be read."""
    record = walk.record.state.object(it.resource_address, it.key, it.deposed)
    if record is None:
        return None, []
    current, problems = read_object(it.provider, it.type, it.schema, record, it.address, body=it.body)
    if current is None:
        raise Failure([d.at(it.address) for d in problems])
    return current, problems


def run_operation(
    it: Instance, operation: Operation, current: RemoteObject | None, problems: list[Diagnostic]
) -> RemoteObject | None:
    """Let the provider run the operation. An update that changes only marks is made without the provider. Returns the
    new object with its record; None if it no longer exists. Appends diagnostics to `problems`. If the operation fails,
    the result is the incomplete object that the provider returned, or `current` if the provider returned none. Raises
    Failure if the object cannot be recorded."""
    before, after = unmark_deep(operation.before)[0], unmark_deep(operation.after)[0]
    # decided in Python: whether an update changes only marks -- a comparison of two objects, value by value
    if operation.action == "update" and current is not None and _changes_only_marks(operation, before, after):
        return RemoteObject(operation.after, write_object(operation.after, it.schema, current.record), current.identity)
    request = ApplyRequest(
        it.type, before, after, operation.config, operation.private, operation.identity, operation.meta
    )
    answer = it.provider.apply(request)
    diagnostics = in_body(answer.diagnostics, it.body if operation.action != "delete" else None, it.address)
    value = unmark_deep(answer.value)[0]
    diagnostics += _incomplete(it, value)
    value = unknown_as_null(value)
    kept = False
    if operation.action != "delete":
        kept = keeps_object(it.decl)
        if not has_errors(diagnostics) and not answer.legacy_type_system:
            diagnostics += _inconsistent(it, after, value)
    if not has_errors(diagnostics):
        diagnostics += _presence(it, operation.action, value)
    problems += diagnostics
    if value.__class__ is Null:
        return current if has_errors(diagnostics) else None
    marks = combined_marks(marked_paths(operation.after), schema_marks(it.schema.block, value))
    value = without_write_only(apply_marks(value, marks) if marks else value, it.schema.block)
    base = current.record if current is not None else ObjectState({})
    changes = {"private": answer.private, "create_before_destroy": it.created_first}
    changes |= recorded_identity(answer.identity, it.schema)
    if not has_errors(diagnostics):
        changes |= {"tainted": False, "skip_destroy": kept}
    return RemoteObject(value, write_object(value, it.schema, base, **changes), answer.identity)


def _changes_only_marks(operation: Operation, before: Value, after: Value) -> bool:
    """Whether an operation changes only marks, which the provider does not see."""
    return same_value(before, after) and sensitive_paths(operation.before) != sensitive_paths(operation.after)


def _incomplete(it: Instance, value: Value) -> list[Diagnostic]:
    if is_wholly_known(value):
        return []
    summary = "Provider returned invalid result object after apply"
    return [
        error(
            "provider.unknown_after_apply",
            summary,
            f"{it.configuration} returned an unknown value for {it.address}.{path_text(path)} after the apply. All "
            "other values were saved.",
        )
        for path in unknown_paths(value)
    ]


def _inconsistent(it: Instance, planned: Value, value: Value) -> list[Diagnostic]:
    return [
        error(
            "provider.inconsistent_result",
            "Provider produced inconsistent result after apply",
            f"{it.configuration} returned an object for {it.address} that differs from the planned one: "
            f"{problem}. This is a bug in the provider.",
        )
        for problem in object_problems(it.schema.block, planned, value)
    ]


def _presence(it: Instance, action: str, value: Value) -> list[Diagnostic]:
    absent = value.__class__ is Null
    if absent == (action == "delete"):
        return []
    what = f"no object for {it.address}" if absent else f"an object for {it.address}, although it should be destroyed"
    detail = f"{it.configuration} returned {what} (action: {action})."
    return [error("provider.invalid_object", "Provider returned invalid result object after apply", detail)]
