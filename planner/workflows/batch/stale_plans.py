"""Explains why a saved plan of a fleet is stale: lists the states, files, plan files and units that changed since the
plan was made."""

from __future__ import annotations

import os
import time
from collections.abc import Iterable
from hashlib import sha256
from pwd import getpwuid

from planner.foundation.vocabulary.diagnostic import Diagnostic, Failure, error
from planner.foundation.vocabulary.nearest import did_you_mean
from planner.logic.datalog.engine.evaluate import evaluate
from planner.logic.datalog.engine.fact_base import FactBuilder
from planner.logic.programs.rule_programs import batch_program
from planner.workflows.batch import saved_plan
from planner.workflows.batch.analyse import Analysis
from planner.workflows.batch.earlier_runs import Before, before_of, state_request
from planner.workflows.batch.files_read import digest
from planner.workflows.batch.model import UnitResult
from planner.workflows.batch.record import Record
from planner.workflows.batch.remove_records import runs
from planner.workflows.batch.saved_plan import Saved, SavedManifest
from planner.workflows.batch.session import Batch

Moved = tuple[str, str, str, str]
"""an input that changed since the plan was made, as (unit, kind, name, description)"""


def refusals(
    batch: Batch, analysis: Analysis, manifest: SavedManifest, folder: str, plans: dict[str, bytes]
) -> tuple[Before, list[Diagnostic]]:
    """The progress of earlier runs of a saved plan, and errors with all reasons why the plan cannot be applied. The
    content of each unchanged plan file is added to `plans` as {unit: content}. Raises Failure."""
    moved: list[Moved] = []
    facts = FactBuilder()
    for unit, saved in manifest.units.items():
        facts.add("saved_plan", unit, saved.outcome)
        if unit not in analysis.selected:
            hint = did_you_mean(unit, analysis.fleet.units)
            moved.append((unit, "folder", saved.folder, f"The fleet has no unit {unit} any more.{hint}"))
            continue
        moved += _places(analysis, saved)
        moved += _plan(saved, folder, plans)
        moved += _files(batch, saved)
    there = [saved for unit, saved in manifest.units.items() if unit in analysis.selected]
    looks = batch.run_all([state_request(batch, saved.unit) for saved in there])
    states = {saved.unit: now for saved, now in zip(there, looks, strict=True)}
    before = before_of(batch, manifest, folder, states, frozenset(plans))
    for unit in before.applied:
        facts.add("applied_before", unit, before.how[unit])
    for unit in before.begun:
        facts.add("begun_before", unit)
        if not manifest.units[unit].goes_on:
            text = (
                "Its apply was interrupted, and the rest cannot be planned with the same options, because -replace "
                "would replace again or because the manifest does not contain all options."
            )
            moved.append((unit, "options", "of the command line", text))
    moved += _states(batch, there, states, manifest.made)
    for unit, what, name, _ in moved:
        facts.add("moved_on", unit, what, name)
    refused = set(evaluate(batch_program(), facts.build(), ("refused",))["refused"])
    counted = [(unit, text) for unit, what, name, text in moved if (unit, what, name) in refused]
    problems = [error("batch.refused", f"{unit}: the saved plan is stale", text) for unit, text in counted]
    if problems:
        made = f"It was made {manifest.made} by {manifest.by}. Nothing was changed. Make the plan again."
        problems.append(error("batch.refused", "The saved plan was not applied", made))
    return before, problems


def _places(analysis: Analysis, saved: Saved) -> Iterable[Moved]:
    unit = analysis.fleet.units[saved.unit]
    if (unit.folder, unit.workspace) != (saved.folder, saved.workspace):
        text = f"The plan was made for the directory {saved.folder} with the workspace {saved.workspace or 'default'}."
        yield saved.unit, "folder", saved.folder, text
    if analysis.state_of.get(saved.unit, "") and os.path.basename(analysis.state_of[saved.unit]) != os.path.basename(
        saved.state
    ):
        text = f"Its state is now {analysis.state_of[saved.unit]}, and not {saved.state}."
        yield saved.unit, "state", saved.state, text
    if sorted(analysis.before.get(saved.unit, ())) != sorted(saved.before):
        before = ", ".join(saved.before) or "no other unit"
        text = f"When the plan was made, the unit ran after {before}; this order has changed."
        yield saved.unit, "order", ", ".join(saved.before), text


def _plan(saved: Saved, folder: str, plans: dict[str, bytes]) -> Iterable[Moved]:
    if not saved.plan:
        return
    path = saved_plan.plan_path(folder, saved.unit)
    if os.path.realpath(path) != os.path.join(os.path.realpath(folder), saved_plan.PLANS, os.path.basename(path)):
        yield saved.unit, "plan", path, f"{path} is a link, or its directory is a link."
        return
    try:
        data = saved_plan.read_bounded(path)
    except OSError as problem:
        yield saved.unit, "plan", path, f"{path}: {problem.strerror or problem}."
        return
    if sha256(data).hexdigest() != saved.plan:
        yield saved.unit, "plan", path, f"{path} is not the saved file: its SHA-256 differs."
        return
    plans[saved.unit] = data


def _files(batch: Batch, saved: Saved) -> Iterable[Moved]:
    base = saved_plan.base_of(batch.fleet.root)
    now = saved_plan.files_of(batch.fleet.root, batch.surveyed(saved.unit), ())
    for name, content in saved.files.items():
        path = os.path.join(base, name)
        if os.path.relpath(os.path.realpath(path), base).startswith(".."):
            yield saved.unit, "file", name, f"{name} is a link to a target outside {base}."
        elif digest(path, "file") != content:
            changed = "does not exist any more" if not os.path.exists(path) else f"has changed{_when(path)}"
            yield saved.unit, "file", name, f"The file {name} {changed}."
    for name in sorted(set(now) - set(saved.files)):
        yield saved.unit, "file", name, f"The file {name} is new{_when(os.path.join(base, name))}."


def _when(path: str) -> str:
    """The time of a file's last change and the file's owner, such as ` (2026-01-31T12:00:00Z, a file of ann)`; "" if
    the file system does not provide these."""
    try:
        status = os.stat(path)
        owner = getpwuid(status.st_uid).pw_name
    except (OSError, KeyError):
        return ""
    return f" ({time.strftime('%Y-%m-%dT%H:%M:%SZ', time.gmtime(status.st_mtime))}, a file of {owner})"


def _applied_by(root: str, unit: str, made: str) -> str:
    """A clause that names the batch that applied the unit since `made`, and its user, from the records on this machine;
    "" if no batch applied it."""
    for name in reversed(runs(root)):
        record = Record(root, name)
        try:
            request = record.asked()
        except Failure:
            continue
        for event in record.events():
            if (event["event"], event.get("unit"), event.get("outcome")) != ("finished", unit, "applied"):
                continue
            at = str(event.get("at", ""))
            if at >= made:
                return f"; the batch {name} of {request.get('by', 'an unknown user')} applied {unit} at {at}"
    return ""


def _states(batch: Batch, units: list[Saved], states: dict[str, UnitResult], made: str) -> Iterable[Moved]:
    """The states that cannot be read, or that have a different lineage or serial than in the saved plan."""
    for saved in units:
        now = states[saved.unit]
        place = saved.state or saved.unit
        if now.result == "error":
            text = "; ".join(f"{d['summary']}: {d['detail']}" for d in now.diagnostics if d["severity"] == "error")
            yield saved.unit, "state", place, f"Its state cannot be read: {text}"
        elif (now.lineage, now.serial) != (saved.lineage, saved.serial):
            whose = _applied_by(batch.fleet.root, saved.unit, made)
            yield saved.unit, "state", place, f"The state {place} {_moved_state(saved, now)}{_when(place)}{whose}."


def _moved_state(saved: Saved, now: UnitResult) -> str:
    by = f", {now.text}" if now.text else ""
    if not now.lineage:
        return f"had serial {saved.serial}, and does not exist any more"
    if not saved.lineage:
        return f"did not exist, and now has serial {now.serial}{by}"
    if now.lineage != saved.lineage:
        return f"now has a different lineage{by}"
    return f"had serial {saved.serial}, and now has serial {now.serial}{by}"
