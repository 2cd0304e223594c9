"""Compares a plan with the approved plan. An unknown value in the approved plan matches any value."""

from __future__ import annotations

from typing import Any

from planner.answers.documents.applied import was_applied
from planner.answers.documents.plan_file import read_plan
from planner.foundation.vocabulary.address import format_key
from planner.foundation.vocabulary.diagnostic import Failure
from planner.operations.plan import MadePlan, Start
from planner.operations.plan_files import Differences, compared, counted_changes
from planner.operations.state_access import Stored
from planner.world.state.model import State


def differences(path: str, made: MadePlan[Start]) -> Differences:
    """The changes of a plan that the approved plan in a file does not contain, as (address, "action" or "value").
    Approved changes that are no longer needed do not count. Raises Failure if the file cannot be read."""
    approved, _, problems = read_plan(path, made.loaded.encryption.plan)
    if approved is None:
        raise Failure(problems)
    return compared(approved, made.plan)


def is_applied(path: str, stored: Stored[Any]) -> bool:
    """Whether the complete plan in a file was already applied. Then the stored state has all planned values, and each
    object with a planned change differs from the plan's previous state and from its refreshed state. Raises Failure if
    the file cannot be read."""
    plan, _, problems = read_plan(path, stored.encryption.plan)
    if plan is None:
        raise Failure(problems)
    now = _objects(stored.state)
    earlier = (_objects(plan.previous_state), _objects(plan.prior_state))
    changes = [(change.address, change.deposed) for change in counted_changes(plan)]
    has_moved = all(before.get(place) != now.get(place) for place in changes for before in earlier)
    return has_moved and was_applied(plan, stored.state)


def _objects(state: State) -> dict[tuple[str, str], Any]:
    """{(address, deposed key): attributes} of all objects."""
    return {
        (resource.address + format_key(instance.key), deposed): record.attributes
        for resource, instance in state.instances()
        for deposed, record in (("", instance.current), *instance.deposed.items())
        if record is not None
    }
