"""The report of a batch as plain data, format 1.0: the output of `-json`, from which other reports are made.

    {"format_version": "1.0", "command", "mode", "run", "seconds", "workers", "peak_memory", "succeeded",
     "outcomes": {"changes": 2, ...}, "in_flight": [unit...],
     "units": [{"unit", "folder", "tags", "groups", "wave", "outcome", "because", "because_all", "reused",
                "age", "state_age", "attempts",
                "selected_by": [{"selector", "way"}...], "waits_for": [unit...],
                "counts": {"add", "change", "remove", "import", "forget", and if there are any "invoke", "failed"},
                "changes": [{"address", "action", "reason"}...], "outputs": [{"name", "action"}...],
                "changed_outputs": [name...], "unknown_outputs": [{"name", "path"}...],
                "awaits": [{"used_by", "unit", "output", "path"}...],
                "diagnostics": [...], "seconds", "plan_file"}...],
     "orphaned": [{"unit", "state"}...], "edges": [[dependent, dependency]...], "diagnostics": [...],
     "shard": null or {"number", "of", "units", "fleet", "before": {unit: [unit...]}, "made_as": {unit: digest},
                       "beside": [{"unit", "outcome", "made_as", "diagnostics"}...]}}

`age`: for a reused result, seconds since an earlier run read objects or states that may have changed since then.
`state_age`: seconds since the state was written, if objects were not read (-refresh=false). Units are ordered by wave
and name. `because`: the unit that caused the outcome, or "". `because_all`: all such units; for an incomplete plan, the
units for which it waits. `way`: all, named, dependency or dependent. `changed_outputs`: if other units read the unit's
outputs, the outputs that will change. `unknown_outputs`: the unknown parts of these outputs. `awaits`: parts of the
unit's plan that are computed from unknown outputs of other units. `orphaned`: removed units whose states still have
objects. Diagnostics have the form of `validate -json`. `shard`: not null if several jobs share the work (-shard). In
`shard`, `units` is the total number of units in all shards, and `fleet` is a digest of the units and their files.
`beside` has the units of other shards that were planned to obtain their outputs. `made_as` identifies the state from
which a unit was planned and the outputs that its plan changes."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Mapping
from typing import Any

from planner.logic.programs.actions import Counts, does
from planner.workflows.batch.model import OUTCOMES, FinishedUnit, ShardSummary, diagnostics_json, units_text
from planner.workflows.batch.run import BatchReport
from planner.workflows.batch.saved_plan import seen_as

COUNTS = tuple(Counts().by_name)
PENDING = {**{name: f"to {'destroy' if name == 'remove' else name}" for name in COUNTS}, "invoke": "to invoke"}
DONE = {
    "add": "added",
    "change": "changed",
    "remove": "destroyed",
    "import": "imported",
    "forget": "forgotten",
    "invoke": "invoked",
    "failed": "failed",
}


def report_json(report: BatchReport, is_brief: bool = False) -> dict[str, Any]:
    """The report as plain data. If `is_brief`, the changes and outputs of units are omitted."""
    units = [_unit(report, done, is_brief) for done in report.done.values()]
    outcomes = Counter(done.outcome for done in report.done.values())
    analysis = report.analysis
    edges: list[list[str]] = []
    if analysis is not None:
        edges = [[a, b] for a in sorted(analysis.edges) for b in analysis.edges[a]]
    return {
        "format_version": "1.0",
        "command": report.command,
        "mode": report.mode,
        "run": report.run,
        "seconds": round(report.seconds, 3),
        "workers": report.workers,
        "peak_memory": report.peak,
        "succeeded": not report.failed,
        "outcomes": {outcome: outcomes[outcome] for outcome in OUTCOMES if outcomes[outcome]},
        "in_flight": list(report.in_flight),
        "units": units,
        "orphaned": [{"unit": u, "state": s} for u, s in (analysis.orphaned if analysis is not None else ())],
        "edges": edges,
        "diagnostics": list(diagnostics_json(list(report.diagnostics))),
        "shard": _shard(report.part, report.done) if report.part is not None else None,
    }


def _shard(part: ShardSummary, done: Mapping[str, FinishedUnit]) -> dict[str, Any]:
    return {
        "number": part.number,
        "of": part.count,
        "units": part.total,
        "fleet": part.fleet,
        "before": {unit: list(others) for unit, others in part.before.items()},
        "made_as": {unit: _made_as(done[unit]) for unit in sorted(done)},
        "beside": [
            {
                "unit": unit,
                "outcome": end.outcome,
                "made_as": _made_as(end),
                "diagnostics": list(end.result.diagnostics) if end.result is not None else [],
            }
            for unit, end in part.beside.items()
        ],
    }


def _made_as(end: FinishedUnit) -> str:
    return seen_as(end.result, ()) if end.result is not None else ""


def _unit(report: BatchReport, done: FinishedUnit, is_brief: bool) -> dict[str, Any]:
    analysis, result = report.analysis, done.result
    assert analysis is not None
    unit = analysis.fleet.units[done.unit]
    counts = result.counts if result is not None else Counts()
    return {
        "unit": done.unit,
        "folder": unit.folder,
        "tags": list(unit.tags),
        "groups": list(unit.groups),
        "wave": analysis.waves.get(done.unit, 0),
        "outcome": done.outcome,
        "because": done.because,
        "because_all": list(done.causes),
        "reused": done.reused,
        "age": round(time.time() - done.seen_at, 3) if done.seen_at else None,
        "state_age": round(max(0.0, time.time() - result.state_at), 3) if result and result.state_at else None,
        "attempts": done.attempts,
        "selected_by": [{"selector": s, "way": w} for s, w in analysis.selected.get(done.unit, [])],
        "waits_for": list(analysis.edges.get(done.unit, ())),
        "counts": counts.by_name,
        "changes": [
            {"address": a, "action": b, "reason": c} for a, b, c in (result.changes if result and not is_brief else ())
        ],
        "outputs": [{"name": n, "action": a} for n, a in (result.outputs if result and not is_brief else ())],
        "changed_outputs": list(result.changed if result else ()),
        "unknown_outputs": [{"name": n, "path": p} for n, p in (result.unknown if result else ())],
        "awaits": [
            {"used_by": used, "unit": u, "output": o, "path": p}
            for used, u, o, p in (result.rests_on if result else ())
        ],
        "diagnostics": list(result.diagnostics) if result is not None else [],
        "seconds": round(result.seconds, 3) if result is not None else 0.0,
        "plan_file": result.plan_file if result is not None else "",
    }


def because_text(unit: dict[str, Any]) -> str:
    """The units that caused a unit's outcome, such as `because of dns, network and 2 more`; "" if there are none."""
    return units_text(unit.get("because_all") or [unit["because"]]) if unit["because"] else ""


def note(unit: dict[str, Any]) -> str:
    """A remark about a unit: the number of invoked actions, the units that caused its outcome, and the ages of a reused
    result and of the state; "" if there are none of these."""
    because = because_text(unit)
    seen = "reused" if unit["reused"] else ""
    if unit["age"] is not None and unit["reused"]:
        seen = f"reused, read {age_text(unit['age'])} ago"
    state = f"state {age_text(unit['state_age'])} old" if unit["state_age"] is not None else ""
    ages = "; ".join(filter(None, (seen, state)))
    invoked = sum(unit["counts"].get(name) or 0 for name in ("invoke", "failed"))
    actions = f"{invoked} action{'s' * (invoked != 1)}" if invoked else ""
    return "; ".join(filter(None, (actions, f"{because} ({ages})".strip() if ages else because)))


def age_text(seconds: float) -> str:
    """A duration such as `2h 5m`."""
    if seconds < 60:
        return f"{int(seconds)}s"
    hours, minutes = divmod(int(seconds) // 60, 60)
    return f"{hours}h {minutes}m" if hours else f"{minutes}m"


def summary_line(document: dict[str, Any]) -> str:
    """A line such as `Batch plan: 3 units change, 2 unchanged (1 reused).`"""
    parts = [_outcome_text(document, outcome, number) for outcome, number in document["outcomes"].items()]
    reused = sum(unit["reused"] for unit in document["units"])
    ages = [unit["age"] for unit in document["units"] if unit["age"] is not None]
    oldest = f", read up to {age_text(max(ages))} ago" if ages else ""
    states = [unit["state_age"] for unit in document["units"] if unit["state_age"] is not None]
    words = [f"{reused} reused{oldest}"] if reused else []
    words += [f"states up to {age_text(max(states))} old"] if states else []
    more = f" ({'; '.join(words)})" if words else ""
    about = document.get("about", "Batch")
    if is_drift(document):
        return f"{_drift_line(document)}{more}."
    return f"{about} {document['command']}: {', '.join(parts) or f'no {noun_of(document)}s'}{more}."


def _outcome_text(document: Mapping[str, Any], outcome: str, number: int) -> str:
    """The number of units with an outcome, such as `3 units change` or `2 unchanged`."""
    if outcome != "changes":
        return f"{number} {outcome}"
    return f"{number:,} {noun_of(document)}{' changes' if number == 1 else 's change'}"


def is_drift(document: Mapping[str, Any]) -> bool:
    """Whether the report shows changes made outside planner."""
    return bool(document.get("mode") == "refresh-only" and document["command"] == "plan")


def _drift_line(document: dict[str, Any]) -> str:
    """A line such as `Drift: 2 objects changed outside planner in 1 of 40 units, 1 failed`."""
    outcomes, noun = document["outcomes"], noun_of(document)
    units, number = len(document["units"]), sum(totals(document).values())
    others = [f"{count} {name}" for name, count in outcomes.items() if name not in ("changes", "unchanged")]
    if number:
        changed = sum(any(unit["counts"].values()) for unit in document["units"])
        objects = f"{number:,} object{'s' * (number != 1)} changed outside planner"
        text = f"Drift: {objects} in {changed} of {units} {noun}{'s' * (units != 1)}"
    else:
        text = f"No drift in {units} {noun}{'s' * (units != 1)}"
    return ", ".join([text, *others])


def noun_of(document: Mapping[str, Any]) -> str:
    """The noun for the rows of a report: "unit" for a fleet, "component" for a stack."""
    return str(document.get("noun", "unit"))


def totals_text(document: dict[str, Any], mark: str = "") -> str:
    """The totals of actions, such as `1 to add, 2 to destroy`; for a refresh-only plan, changes made outside planner.
    `mark` surrounds numbers."""
    numbers = {name: number for name, number in totals(document).items() if number}
    if document.get("mode") == "refresh-only":
        words = {"change": "changed outside planner", "remove": "destroyed outside planner"}
    elif document["command"] == "plan":
        words = PENDING
    else:
        words = DONE
    return ", ".join(f"{mark}{number}{mark} {words[name]}" for name, number in numbers.items() if name in words)


def totals(document: dict[str, Any]) -> dict[str, int]:
    """{name of a count: sum over all units whose changes were not rejected}."""
    result = dict.fromkeys(COUNTS, 0)
    for unit in document["units"]:
        if not _is_rejected(document, unit):
            for name, number in unit["counts"].items():
                result[name] = result.get(name, 0) + (number or 0)
    return result


def _is_rejected(document: Mapping[str, Any], unit: Mapping[str, Any]) -> bool:
    """Whether the changes of a unit were rejected. Then its counts are about planned changes, not about applied
    changes."""
    outcome, command = str(unit["outcome"]), str(document["command"])
    return outcome == "declined" or (outcome == "denied" and command != "plan")


def replaced_text(document: Mapping[str, Any]) -> str:
    """The number of replaced objects, such as ` (3 replaced)`, because the totals count a replaced object twice: as
    added and as destroyed. "" if there are none, or if the report is not about a plan."""
    changes = (one for unit in document["units"] if not _is_rejected(document, unit) for one in unit["changes"])
    number = sum(one["action"] != "defer" and does(one["action"], "replaces") for one in changes)
    return f" ({number:,} replaced)" if number and document["command"] == "plan" else ""
