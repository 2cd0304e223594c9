"""Applying a saved plan of a fleet: exactly what was approved, or nothing.

First everything is compared with what the plan was made from; one difference refuses the whole, before anything is
touched. Then the units are applied in their order. One whose plan was incomplete is planned again on what is there by
then: where that says what was approved, with values filled in that nobody knew, it is applied; else somebody is asked.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterable, Mapping
from hashlib import sha256

from attrs import evolve

from planner.batch import artefact
from planner.batch.analyse import Analysis, survey_request
from planner.batch.artefact import Manifest, Saved
from planner.batch.asked import NOTHING, OfUnit
from planner.batch.batch import Batch, BatchOptions
from planner.batch.clean import runs
from planner.batch.converge import Approve, decline, is_overtaken, may_apply
from planner.batch.model import Done, Request, Result
from planner.batch.reads import digest
from planner.batch.record import Record
from planner.batch.run import Report, Run, finish
from planner.batch.schedule import Listener
from planner.datalog.engine.evaluate import evaluate
from planner.datalog.engine.fact_base import FactBuilder
from planner.programs.fleet import batch_program
from planner.state.lock import myself
from planner.vocabulary.diagnostic import Diagnostic, Failure, error, has_errors
from planner.vocabulary.nearest import did_you_mean

Moved = tuple[str, str, str, str]
"""(unit, what, name, in words): something that is not as it was when the plan was made"""


def save(run: Run) -> None:
    """Write the manifest of a plan that has just been made, with a part for each unit. Raises Failure."""
    options, analysis = run.batch.options, run.analysis
    base = artefact.base_of(analysis.fleet.root)
    part = run.part()
    # the parts of one plan have one key, so that it can be told whether they saw the same values
    key = bytes.fromhex(part.fleet) if part is not None else os.urandom(16)
    units = {}
    for unit in run.in_order():
        done = run.done[unit]
        assert done.result is not None
        described = analysis.fleet.units[unit]
        path = artefact.plan_path(options.out, unit)
        units[unit] = Saved(
            unit,
            described.folder,
            described.workspace,
            done.outcome,
            done.because,
            analysis.before.get(unit, ()),
            analysis.state_of.get(unit, ""),
            done.result.lineage,
            done.result.serial,
            artefact.plan_sum(path) if done.outcome != "unchanged" else "",
            artefact.files_of(analysis.fleet.root, run.batch.surveyed(unit), run.reads.get(unit, ())),
            evolve(done.result, digests=() if done.result.is_secret else run.handed.digests(unit, key)),
            _portable(run.asked.get(unit, NOTHING), done, base),
        )
    shard = None
    if part is not None:
        beside = {
            unit: artefact.seen_as(done.result, () if done.result.is_secret else run.handed.digests(unit, key))
            for unit, done in part.beside.items()
            if done.result is not None
        }
        shard = artefact.Shard(part.number, part.count, part.fleet, beside)
    artefact.write(options.out, Manifest(options.mode, options.words, units, key.hex(), options.refresh, shard=shard))


def _portable(asked: OfUnit, done: Done, base: str) -> OfUnit:
    """What is asked of a unit that is going to be planned again, with paths as seen from the base. Raises Failure for
    files elsewhere, and for values of a unit that is encrypted."""
    if done.outcome != "incomplete":
        return NOTHING
    if asked.variables and done.result is not None and done.result.is_secret:
        detail = f"{done.unit} is encrypted, and the values given with -var would stand in the manifest in clear."
        raise Failure(error("batch.out", "Plans cannot be saved", detail))

    def seen(text: str) -> str:
        name = os.path.relpath(os.path.realpath(text), base)
        if not artefact.is_inside(name):
            detail = f"{text} is not below {base}, so whoever applies the plan may not have it."
            raise Failure(error("batch.out", "Plans cannot be saved", detail))
        return name

    return _moved(asked, seen)


def _moved(asked: OfUnit, place: Callable[[str], str]) -> OfUnit:
    """The same, with what `place` makes of its paths."""
    variables = tuple((kind, place(text) if kind == "var-file" else text) for kind, text in asked.variables)
    policies = tuple(word if word.startswith("builtin:") else place(word) for word in asked.policies)
    return evolve(asked, variables=variables, policies=policies)


# ---------------------------------------------------------------- applying


def apply_saved(folder: str, options: BatchOptions, listener: Listener, approve: Approve | None) -> Report:
    """Apply a saved plan; without `approve` nobody is asked. Raises Failure."""
    started = time.monotonic()
    manifest = artefact.read(folder)
    if manifest.shard is not None:
        which = f"the shard {manifest.shard.number} of {manifest.shard.count}"
        detail = f"{folder} is {which}: planner batch join makes one plan of all of them."
        raise Failure(error("batch.shard", "A part of a saved plan is not applied", detail))
    command = "destroy" if manifest.mode == "destroy" else "apply"
    options = evolve(options, words=manifest.words, mode=manifest.mode, refresh=manifest.refresh)
    batch = Batch(options, command, keeps_pool=True)
    batch.hold()
    try:
        analysis = _narrowed(batch.analysis(selected=False), manifest)
        problems = [*batch.fleet.diagnostics, *analysis.diagnostics]
        plans = dict[str, bytes]()
        if not has_errors(problems):
            problems += _refusals(batch, analysis, manifest, folder, plans)
        report = Report(command, analysis, diagnostics=tuple(problems))
        if has_errors(problems):
            return evolve(report, seconds=time.monotonic() - started)
        run = _begin(batch, analysis, manifest, folder, plans, listener)
        _carry_out(run, command, approve)
    finally:
        batch.close()
    return finish(run, report, started)


def _narrowed(analysis: Analysis, manifest: Manifest) -> Analysis:
    """The analysis with the units of the saved plan alone."""
    units = {unit: reasons for unit, reasons in analysis.selected.items() if unit in manifest.units}
    before = {unit: tuple(other for other in analysis.before.get(unit, ()) if other in units) for unit in units}
    return evolve(analysis, selected=units, before=before)


def _begin(
    batch: Batch, analysis: Analysis, manifest: Manifest, folder: str, plans: Mapping[str, bytes], listener: Listener
) -> Run:
    """The run, with the plans copied into its record: whatever happens to the folder, what was looked at is applied."""
    document = {"command": "apply", "saved_plan": os.path.abspath(folder), "directory": os.getcwd(), "options": {}}
    document["by"] = myself()
    record = Record.new(batch.fleet.root, document)
    done = {}
    for unit, saved in manifest.units.items():
        path = record.plan_path(unit) if unit in plans else ""
        if path:
            with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600), "wb") as file:
                file.write(plans[unit])
        done[unit] = saved.done(path)
    run = Run(batch, analysis, record, listener, done, key=bytes.fromhex(manifest.key))
    base = artefact.base_of(batch.fleet.root)
    for unit, saved in manifest.units.items():
        run.asked[unit] = _moved(saved.asked, lambda text: os.path.join(base, text))
    return run


def _carry_out(run: Run, command: str, approve: Approve | None) -> None:
    waves = sorted({run.analysis.waves.get(unit, 0) for unit in run.order}, reverse=command == "destroy")
    for number, wave in enumerate(waves, 1):
        units = [unit for unit in run.order if run.analysis.waves.get(unit, 0) == wave]
        _wave(run, command, units, f"wave {number} of {len(waves)}", approve)


def _wave(run: Run, command: str, units: list[str], title: str, approve: Approve | None) -> None:
    again = []
    for unit in units:
        moved = run.moved(unit) if run.done[unit].outcome in ("changes", "unchanged") else {}
        if moved:
            run.end(evolve(run.done[unit], outcome="failed", result=_turned_out(unit, moved)))
        elif run.done[unit].outcome == "incomplete" or is_overtaken(run, unit):
            again.append(unit)
    approved = {unit: run.done[unit].result for unit in again if run.done[unit].outcome == "incomplete"}
    run.approved = {unit: result.plan_file for unit, result in approved.items() if result is not None}
    for unit in again:
        run.set_aside(unit)
    run.plan(again, command, "destroy" if command == "destroy" else "plan")
    run.approved = {}
    to_apply = [u for u in units if run.done[u].outcome == "changes" and may_apply(run, command, run.done[u])]
    asked = [unit for unit in to_apply if unit in approved and _asks_again(run.done[unit])]
    if asked and approve is not None and not approve(f"{title}, which is not as approved", _shown(run, asked)):
        decline(run, command, asked)
        to_apply = [unit for unit in to_apply if unit not in asked]
    if to_apply:
        run.apply_plans(to_apply, command)


def _shown(run: Run, units: Iterable[str]) -> list[Done]:
    return [run.done[unit] for unit in units]


def _asks_again(done: Done) -> bool:
    """Whether what was planned again needs an approval of its own."""
    facts = FactBuilder()
    facts.add("saved_plan", done.unit, "incomplete")
    for address, how in done.result.differs if done.result is not None else ():
        facts.add("differs_from_approved", done.unit, address, how)
    return bool(evaluate(batch_program(), facts.build(), ("asks_again",))["asks_again"])


def _turned_out(unit: str, moved: Mapping[str, list[str]]) -> Result:
    outputs = "; ".join(f"{', '.join(names)} of {other}" for other, names in sorted(moved.items()))
    detail = f"The plan of {unit} was made with outputs that turned out differently: {outputs}. Plan the fleet again."
    said = {"severity": "error", "summary": "Saved plan is stale", "detail": detail, "code": "batch.stale"}
    return Result(unit, "error", diagnostics=(said,))


# ---------------------------------------------------------------- refusing


def _refusals(
    batch: Batch, analysis: Analysis, manifest: Manifest, folder: str, plans: dict[str, bytes]
) -> list[Diagnostic]:
    """Why a saved plan is not applied, each reason; `plans` gets the plan files that are as they were."""
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
    moved += _states(batch, there, manifest.made)
    for unit, what, name, _ in moved:
        facts.add("moved_on", unit, what, name)
    refused = set(evaluate(batch_program(), facts.build(), ("refused",))["refused"])
    counted = [(unit, text) for unit, what, name, text in moved if (unit, what, name) in refused]
    told = [error("batch.refused", f"{unit}: the saved plan is stale", text) for unit, text in counted]
    if told:
        made = f"It was made {manifest.made} by {manifest.by}. Nothing was touched. Make the plan again."
        told.append(error("batch.refused", "The saved plan is not applied", made))
    return told


def _places(analysis: Analysis, saved: Saved) -> Iterable[Moved]:
    unit = analysis.fleet.units[saved.unit]
    if (unit.folder, unit.workspace) != (saved.folder, saved.workspace):
        text = f"It was the folder {saved.folder} with the workspace {saved.workspace or 'default'}."
        yield saved.unit, "folder", saved.folder, text
    if analysis.state_of.get(saved.unit, "") and os.path.basename(analysis.state_of[saved.unit]) != os.path.basename(
        saved.state
    ):
        yield saved.unit, "state", saved.state, f"Its state is {analysis.state_of[saved.unit]} now."
    if sorted(analysis.before.get(saved.unit, ())) != sorted(saved.before):
        text = f"It came after {', '.join(saved.before) or 'nothing'}; now that has changed."
        yield saved.unit, "order", ", ".join(saved.before), text


def _plan(saved: Saved, folder: str, plans: dict[str, bytes]) -> Iterable[Moved]:
    if not saved.plan:
        return
    path = artefact.plan_path(folder, saved.unit)
    if os.path.realpath(path) != os.path.join(os.path.realpath(folder), artefact.PLANS, os.path.basename(path)):
        yield saved.unit, "plan", path, f"{path} is a link, or its folder is."
        return
    try:
        data = artefact.read_bounded(path)
    except OSError as problem:
        yield saved.unit, "plan", path, f"{path}: {problem.strerror or problem}."
        return
    if sha256(data).hexdigest() != saved.plan:
        yield saved.unit, "plan", path, f"{path} is not the file that was saved: its SHA-256 is another."
        return
    plans[saved.unit] = data


def _files(batch: Batch, saved: Saved) -> Iterable[Moved]:
    base = artefact.base_of(batch.fleet.root)
    now = artefact.files_of(batch.fleet.root, batch.surveyed(saved.unit), ())
    for name, content in saved.files.items():
        path = os.path.join(base, name)
        if os.path.relpath(os.path.realpath(path), base).startswith(".."):
            yield saved.unit, "file", name, f"{name} is a link that leads out of {base}."
        elif digest(path, "file") != content:
            changed = "is not there any more" if not os.path.exists(path) else f"has changed{_when(path)}"
            yield saved.unit, "file", name, f"The file {name} {changed}."
    for name in sorted(set(now) - set(saved.files)):
        yield saved.unit, "file", name, f"The file {name} is new{_when(os.path.join(base, name))}."


def _when(path: str) -> str:
    """When a file was written last, and by whose hand, as far as the file system knows."""
    from pwd import getpwuid

    try:
        status = os.stat(path)
        owner = getpwuid(status.st_uid).pw_name
    except (OSError, KeyError):
        return ""
    return f" ({time.strftime('%Y-%m-%dT%H:%M:%SZ', time.gmtime(status.st_mtime))}, a file of {owner})"


def _applied_by(root: str, unit: str, made: str) -> str:
    """Which batch has applied the unit since, and whose that was, as far as there are records of it here."""
    for name in reversed(runs(root)):
        record = Record(root, name)
        try:
            asked = record.asked()
        except Failure:
            continue
        for event in record.events():
            if (event["event"], event.get("unit"), event.get("outcome")) != ("finished", unit, "applied"):
                continue
            if str(event["at"]) >= made:
                return f"; the batch {name} of {asked.get('by', 'somebody')} applied {unit} at {event['at']}"
    return ""


def _states(batch: Batch, units: list[Saved], made: str) -> Iterable[Moved]:
    """States that have other serials or histories than those that the plan was made from."""
    requests = [_state_request(batch, saved.unit) for saved in units]
    for saved, now in zip(units, batch.run_all(requests), strict=True):
        place = saved.state or saved.unit
        if now.result == "error":
            said = "; ".join(f"{d['summary']}: {d['detail']}" for d in now.diagnostics if d["severity"] == "error")
            yield saved.unit, "state", place, f"Its state cannot be read: {said}"
        elif (now.lineage, now.serial) != (saved.lineage, saved.serial):
            whose = _applied_by(batch.fleet.root, saved.unit, made)
            yield saved.unit, "state", place, f"The state {place} {_moved_state(saved, now)}{_when(place)}{whose}."


def _moved_state(saved: Saved, now: Result) -> str:
    by = f", {now.text}" if now.text else ""
    if not now.lineage:
        return f"had serial {saved.serial}, and is not there any more"
    if not saved.lineage:
        return f"was not there, and has serial {now.serial} by now{by}"
    if now.lineage != saved.lineage:
        return f"has another history (lineage) by now{by}"
    return f"had serial {saved.serial}, and has serial {now.serial} by now{by}"


def _state_request(batch: Batch, unit: str) -> Request:
    request: Request = survey_request(batch.fleet, batch.fleet.units[unit], batch.environment)
    return evolve(request, command="state")
