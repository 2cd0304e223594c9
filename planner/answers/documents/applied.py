"""Determines whether a plan was already applied."""

from __future__ import annotations

from typing import Any

from planner.foundation.values.json_codec import to_json
from planner.foundation.values.value import Value, is_wholly_known, type_of, unmark_deep
from planner.foundation.vocabulary.address import format_key
from planner.logic.model.plan import Plan
from planner.logic.programs.actions import does, steps
from planner.world.state.model import State


def was_applied(plan: Plan, current: State) -> bool:
    """Whether a state looks like the result of applying a plan. In such a state, each created or updated object exists,
    is not tainted, and has all planned values that were known. No destroyed or forgotten object exists. False for a
    plan without changes."""
    # decided in Python: whether a stale plan has been applied -- a comparison of a state with a plan, value by value
    objects = {
        (resource.address + format_key(instance.key), deposed): record
        for resource, instance in current.instances()
        for deposed, record in (("", instance.current), *instance.deposed.items())
        if record is not None
    }
    changes = [change for change in plan.changes if any(step != "read" for step in steps(change.action))]
    for change in changes:
        recorded = objects.get((change.address, change.deposed))
        if does(change.action, "ends"):
            if recorded is not None:
                return False
            continue
        after = unmark_deep(change.after)[0]
        if recorded is None or recorded.tainted or not isinstance(after, dict):
            return False
        if not all(_is_recorded(value, recorded.attributes.get(name)) for name, value in after.items()):
            return False
    return bool(changes)


def _is_recorded(value: Value, recorded: Any) -> bool:
    """Whether the state records a planned value. A planned value that is not wholly known matches every recorded value.
    A value of type any is recorded as an object with the members `value` and `type`."""
    if not is_wholly_known(value):
        return True
    plain = to_json(value, type_of(value))
    return plain == recorded or (
        isinstance(recorded, dict) and set(recorded) == {"value", "type"} and recorded["value"] == plain
    )
