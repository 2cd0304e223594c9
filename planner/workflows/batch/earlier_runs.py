"""Finds earlier runs of a saved plan, so that a killed or partly failed run is continued by applying the plan again.
The record of a run lists the units that were started and those that were completed, with the serial of each state. The
record exists only on the machine of that run. On another machine, a unit's state shows whether its complete plan was
applied, but not whether the plan was applied in part."""

from __future__ import annotations

import os
from collections.abc import Mapping

from planner.foundation.vocabulary.diagnostic import Failure
from planner.foundation.vocabulary.records import evolve, field, frozen
from planner.workflows.batch import saved_plan
from planner.workflows.batch.analyse import survey_request
from planner.workflows.batch.model import Request, UnitResult
from planner.workflows.batch.record import Record
from planner.workflows.batch.remove_records import runs
from planner.workflows.batch.saved_plan import Saved, SavedManifest
from planner.workflows.batch.session import Batch


@frozen(eq=False)
class Before:
    """The progress of earlier runs. `applied`: {completed unit: result of reading its current state, with outputs}.
    `how`: {completed unit: whether a "record" or the "state" shows that it is completed}. `begun`: units whose apply
    started and did not complete."""

    applied: dict[str, UnitResult] = field(factory=dict)
    how: dict[str, str] = field(factory=dict)
    begun: tuple[str, ...] = ()


@frozen(eq=False)
class _RunHistory:
    """The progress of earlier runs of a saved plan, according to the records of these runs. `applied`: {unit: result of
    its last apply}. `begun`: units that were started and not completed."""

    applied: dict[str, UnitResult]
    begun: frozenset[str]


def before_of(
    batch: Batch, manifest: SavedManifest, folder: str, states: Mapping[str, UnitResult], plans: frozenset[str]
) -> Before:
    """The progress of earlier runs of a saved plan. `states`: the current states of the units. `plans`: the units whose
    plan files are unchanged since the plan was saved. Raises Failure."""
    recorded = _recorded_history(batch.fleet.root, manifest.sum)
    doubtful = [
        unit
        for unit, now in states.items()
        if now.result != "error" and unit in plans and (unit in recorded.begun or _has_moved(manifest.units[unit], now))
    ]
    requests = [_request(batch, manifest.units[unit], folder) for unit in doubtful]
    applied, how = {}, {}
    for unit, now in zip(doubtful, batch.run_all(requests), strict=True):
        known = recorded.applied.get(unit) if unit not in recorded.begun else None
        if known is not None and (known.lineage, known.serial) == (now.lineage, now.serial):
            how[unit] = "record"
        elif now.result == "applied":
            how[unit] = "state"
        if unit in how:
            applied[unit] = now
    begun = tuple(sorted(unit for unit in recorded.begun if unit in manifest.units and unit not in applied))
    return Before(applied, how, begun)


def _has_moved(saved: Saved, now: UnitResult) -> bool:
    return (saved.lineage, saved.serial) != (now.lineage, now.serial)


def _request(batch: Batch, saved: Saved, folder: str) -> Request:
    """A request to read the state and outputs of a unit. If the saved plan of the unit is complete, the result also
    shows whether this plan was applied."""
    path = saved_plan.plan_path(os.path.abspath(folder), saved.unit) if saved.outcome == "changes" else ""
    return evolve(state_request(batch, saved.unit), approved_file=path, is_read=True)


def state_request(batch: Batch, unit: str) -> Request:
    request: Request = survey_request(batch.fleet, batch.fleet.units[unit], batch.environment)
    return evolve(request, command="state")


def _recorded_history(root: str, saved_plan: str) -> _RunHistory:
    applied: dict[str, UnitResult] = {}
    begun: set[str] = set()
    for name in runs(root):
        record = Record(root, name)
        try:
            if record.asked().get("saved_plan_sum") != saved_plan:
                continue
        except Failure:
            continue  # the run was interrupted before its first unit
        for event in record.events():
            if event["event"] == "started" and event.get("command") == "apply_plan":
                begun.add(event["unit"])
        for unit, done in record.finished().items():
            if done.outcome == "applied" and done.result is not None:
                applied[unit] = done.result
                begun.discard(unit)
    return _RunHistory(applied, frozenset(begun))
