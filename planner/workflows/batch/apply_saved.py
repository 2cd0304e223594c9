"""Applies a saved plan of a fleet: exactly as approved, or not at all.

First, the current inputs are compared with the inputs of the saved plan. If they differ, the plan is rejected before
anything is changed. Then the units are applied in order. A unit whose plan was incomplete is planned again with the
current state. The new plan is applied without another approval if it differs from the approved plan only in values that
were unknown there."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Collection, Iterable, Mapping
from typing import TYPE_CHECKING

from planner.foundation.vocabulary.diagnostic import Failure, error, has_errors
from planner.foundation.vocabulary.records import evolve
from planner.logic.datalog.engine.evaluate import evaluate
from planner.logic.datalog.engine.fact_base import FactBuilder
from planner.logic.programs.actions import Counts
from planner.logic.programs.rule_programs import batch_program
from planner.operations.options import Approval, requirements
from planner.workflows.batch import saved_plan
from planner.workflows.batch.analyse import Analysis
from planner.workflows.batch.apply import Approve, decline, deferred, end_stuck, is_overtaken, may_apply
from planner.workflows.batch.earlier_runs import Before, state_request
from planner.workflows.batch.model import FinishedUnit, UnitResult, to_json
from planner.workflows.batch.record import Record
from planner.workflows.batch.run import BatchReport, Run, finish
from planner.workflows.batch.saved_plan import Saved, SavedManifest
from planner.workflows.batch.schedule import BatchListener
from planner.workflows.batch.session import Batch, BatchOptions
from planner.workflows.batch.stale_plans import refusals
from planner.workflows.batch.unit_options import NOTHING, UnitOptions
from planner.world.state.lock import user_at_host

if TYPE_CHECKING:
    from planner.workflows.batch.fleet_policies import FleetPolicies

Moved = tuple[str, str, str, str]
"""an input that changed since the plan was made, as (unit, kind, name, description)"""


def save(run: Run) -> None:
    """Write the manifest of a new plan. Raises Failure."""
    options, analysis = run.batch.options, run.analysis
    base = saved_plan.base_of(analysis.fleet.root)
    part = run.part()
    # the shards of one plan share a key, so that digests of values can be compared across shards
    key = bytes.fromhex(part.fleet) if part is not None else os.urandom(16)
    units = {}
    for unit in run.in_order():
        done = run.done[unit]
        assert done.result is not None
        described = analysis.fleet.units[unit]
        path = saved_plan.plan_path(options.out, unit)
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
            saved_plan.plan_sum(path) if done.outcome != "unchanged" else "",
            saved_plan.files_of(analysis.fleet.root, run.batch.surveyed(unit), run.reads.get(unit, ())),
            evolve(done.result, digests=() if done.result.is_secret else run.handed.digests(unit, key)),
            *_portable(run.asked.get(unit, NOTHING), done, base),
        )
    shard = None
    if part is not None:
        beside = {
            unit: saved_plan.seen_as(done.result, () if done.result.is_secret else run.handed.digests(unit, key))
            for unit, done in part.beside.items()
            if done.result is not None
        }
        shard = saved_plan.Shard(part.number, part.count, part.fleet, beside)
    saved_plan.write(
        options.out,
        SavedManifest(options.operation.mode, options.words, units, key.hex(), options.operation.refresh, shard=shard),
    )


def _portable(options: UnitOptions, done: FinishedUnit, base: str) -> tuple[UnitOptions, bool]:
    """Returns the options with which a unit was planned, with paths relative to the base directory, and whether the
    unit can be planned again with these options. The options cannot be saved if they name files outside the base
    directory or contain values of an encrypted unit. Then the result is (NOTHING, False) for a complete plan. For an
    incomplete plan, Failure is raised, because the apply would have to plan the unit again."""
    try:
        return _as_seen(options, done, base), not options.limits.replace
    except Failure:
        if done.outcome == "incomplete":
            raise
        return NOTHING, False


def _as_seen(options: UnitOptions, done: FinishedUnit, base: str) -> UnitOptions:
    if options.variables and done.result is not None and done.result.is_secret:
        detail = f"{done.unit} is encrypted, but the manifest would contain the values of -var in plain text."
        raise Failure(error("batch.out", "Plans cannot be saved", detail))

    def seen(text: str) -> str:
        name = os.path.relpath(os.path.realpath(text), base)
        if not saved_plan.is_inside(name):
            detail = f"{text} is not below {base}, so it may be missing when the plan is applied."
            raise Failure(error("batch.out", "Plans cannot be saved", detail))
        return name

    return _with_paths(options, seen)


def _with_paths(options: UnitOptions, place: Callable[[str], str]) -> UnitOptions:
    variables = tuple((kind, place(text) if kind == "var-file" else text) for kind, text in options.variables)
    policies = tuple(word if word.startswith("builtin:") else place(word) for word in options.policies)
    return evolve(options, variables=variables, policies=policies)


# ---------------------------------------------------------------- applying


def apply_saved(folder: str, options: BatchOptions, listener: BatchListener, approve: Approve | None) -> BatchReport:
    """Apply a saved plan. If `approve` is None, no approval is requested. Nothing is applied if the fleet has errors or
    the plan is stale; then the report contains the reasons. Raises Failure."""
    started = time.monotonic()
    manifest = saved_plan.read(folder)
    if manifest.shard is not None:
        which = f"shard {manifest.shard.number} of {manifest.shard.count}"
        detail = f"{folder} is {which}. First combine the plans of all shards with planner batch join."
        raise Failure(error("batch.shard", "Cannot apply one shard of a saved plan", detail))
    command = "destroy" if manifest.mode == "destroy" else "apply"
    approval = _approval(folder, manifest, options)
    operation = evolve(
        options.operation, mode=manifest.mode, refresh=manifest.refresh, approval=approval, signatures=()
    )
    accepted = next((saved.asked for saved in manifest.units.values() if saved.asked.overrides), NOTHING)
    arguments = evolve(options.asked, overrides=accepted.overrides, reason=accepted.reason)
    options = evolve(options, words=manifest.words, operation=operation, asked=arguments)
    batch = Batch(options, command, keeps_pool=True)
    batch.hold()
    try:
        analysis = _narrowed(batch.analysis(selected=False), manifest)
        problems = [*batch.fleet.diagnostics, *analysis.diagnostics]
        plans, before = dict[str, bytes](), Before()
        if not has_errors(problems):
            before, refused = refusals(batch, analysis, manifest, folder, plans)
            problems += refused
        report = BatchReport(command, analysis, diagnostics=tuple(problems))
        if has_errors(problems):
            return evolve(report, seconds=time.monotonic() - started)
        run = _begin(batch, analysis, manifest, folder, plans, listener, approve is None, before.begun)
        _go_on(run, manifest, before)
        waves = sorted({run.analysis.waves.get(unit, 0) for unit in run.order}, reverse=command == "destroy")
        if not run.gate.judge(command):
            run.gate.hold()
        for number, level in enumerate(waves, 1):
            if run.gate.is_closed:
                break
            units = [unit for unit in run.order if run.analysis.waves.get(unit, 0) == level]
            _wave(run, command, units, f"wave {number} of {len(waves)}", approve, frozenset(before.begun))
    finally:
        batch.close()
    return finish(run, report, started, before.begun)


def _approval(folder: str, manifest: SavedManifest, options: BatchOptions) -> Approval:
    """The valid signatures of the manifest; () if no signatures are required. Signing the manifest is enough, because
    it contains the digests of the plans. Raises Failure."""
    required = requirements(options.operation.signatures, os.environ)
    if not required:
        return ()
    from planner.operations.signature_check import check

    return check(required, os.path.join(folder, saved_plan.NAME), saved_plan.NAME, manifest.data)


def _narrowed(analysis: Analysis, manifest: SavedManifest) -> Analysis:
    units = {unit: reasons for unit, reasons in analysis.selected.items() if unit in manifest.units}
    before = {unit: tuple(other for other in analysis.before.get(unit, ()) if other in units) for unit in units}
    return evolve(analysis, selected=units, before=before)


def _begin(
    batch: Batch,
    analysis: Analysis,
    manifest: SavedManifest,
    folder: str,
    plans: Mapping[str, bytes],
    listener: BatchListener,
    at_once: bool,
    begun: Collection[str],
) -> Run:
    """A new run of the saved plan. The checked plans are copied into the run's record, so that later changes in the
    directory of the saved plan have no effect. Raises Failure."""
    document = {
        "command": "apply",
        "saved_plan": os.path.abspath(folder),
        "saved_plan_sum": manifest.sum,
        "at_once": at_once,
        "directory": os.getcwd(),
        "options": to_json(batch.options),
        "by": user_at_host(),
    }
    policies = _policies(batch, manifest)
    record = Record.new(batch.fleet.root, document)
    done = {}
    for unit, saved in manifest.units.items():
        path = record.plan_path(unit) if unit in plans else ""
        if path:
            _copy(path, plans[unit])
        done[unit] = saved.done(path)
    # a copy of the manifest, so that a resumed run does not need the directory of the saved plan
    _copy(os.path.join(record.path, saved_plan.NAME), manifest.data)
    run = Run(batch, analysis, record, listener, done, key=bytes.fromhex(manifest.key), policies=policies)
    base = saved_plan.base_of(batch.fleet.root)
    for unit, saved in manifest.units.items():
        if saved.outcome == "incomplete" or unit in begun:  # the plans of other units are complete
            run.asked[unit] = _with_paths(saved.asked, lambda text: os.path.join(base, text))
    return run


def _policies(batch: Batch, manifest: SavedManifest) -> FleetPolicies | None:
    """The policies that check all saved plans together; None if there are none, or if a plan with changes has secret
    contents. In that case the plans were already checked when they were made. Raises Failure if a policy was added
    since then."""
    policies = batch.standing_policies()
    changed = [saved.result for saved in manifest.units.values() if saved.outcome != "unchanged"]
    if policies is None or any(result.is_secret for result in changed):
        return None
    if any(not set(policies.contents) <= set(result.facts) for result in changed):
        detail = "The fleet now has policies that did not check the saved plan. Make the plan again."
        raise Failure(error("batch.stale", "Saved plan is stale", detail))
    return policies


def _copy(path: str, data: bytes) -> None:
    with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600), "wb") as file:
        file.write(data)


def _go_on(run: Run, manifest: SavedManifest, before: Before) -> None:
    """Mark as done the units that earlier runs of the plan applied, and pass their outputs to dependents."""
    for unit, now in before.applied.items():
        planned = run.planned[unit] = manifest.units[unit].result
        result = evolve(planned, result="applied", planned=now.planned, lineage=now.lineage, serial=now.serial)
        run.done[unit] = FinishedUnit(unit, "applied", reused=True, result=run.handed.take(result, ""))
        run.record.finish(run.done[unit])
    if before.applied or before.begun:
        run.listener.goes_on(sorted(before.applied), list(before.begun))


def _wave(run: Run, command: str, units: list[str], title: str, approve: Approve | None, begun: frozenset[str]) -> None:
    facts = FactBuilder()
    moved = {unit: run.moved(unit) for unit in units}
    for unit in units:
        facts.add("saved_plan", unit, run.done[unit].outcome)
        about = {"turned_out": moved[unit], "begun_before": unit in begun, "overtaken": is_overtaken(run, unit)}
        for name in filter(about.get, about):
            facts.add(name, unit)
    derived = evaluate(batch_program(), facts.build(), ("outdated", "planned_again"))
    for unit in units:
        if (unit,) in derived["outdated"]:
            run.end(evolve(run.done[unit], outcome="failed", result=_turned_out(unit, moved[unit])))
    again = [unit for unit in units if (unit,) in derived["planned_again"]]
    approved = {u: run.done[u].result for u in again if run.done[u].outcome == "incomplete" or u in begun}
    run.approved = {unit: result.plan_file for unit, result in approved.items() if result is not None}
    for unit in again:
        run.set_aside(unit)
    run.plan(again, command, "destroy" if command == "destroy" else "plan")
    run.approved = {}
    if again and not run.gate.judge(command):
        run.gate.hold()
        return
    _settle(run, [unit for unit in again if unit in begun])
    end_stuck(run, units)
    to_apply = [unit for unit in units if may_apply(run, command, run.done[unit])]
    verdicts = {unit: _judged(run.done[unit], unit in begun) for unit in to_apply if unit in approved}
    waiting = [unit for unit, verdict in verdicts.items() if verdict["asks_again"]]
    if approve is None:
        for unit in [unit for unit in waiting if verdicts[unit]["spared"]]:
            run.end(evolve(run.done[unit], outcome="failed", result=_spared(run.done[unit])))
            to_apply.remove(unit)
    if (
        waiting
        and approve is not None
        and not approve(f"{title}, which differs from the approved plan", _finished_units(run, waiting))
    ):
        decline(run, command, waiting)
        to_apply = [unit for unit in to_apply if unit not in waiting]
    if to_apply:
        run.apply_plans(to_apply, command)
        _rest(run, command, [unit for unit in to_apply if run.done[unit].outcome == "incomplete"], title, approve)


def _rest(run: Run, command: str, units: list[str], title: str, approve: Approve | None) -> None:
    """Apply the deferred changes of these units. The approved plan does not contain these changes, so if `approve` is
    None, the units fail."""
    if approve is not None:
        deferred(run, command, units, title, approve)
        return
    for unit in units:
        done = run.done[unit]
        detail = f"{unit} has deferred changes that were not approved. Make a new plan and apply it."
        problem = {"severity": "error", "summary": "Changes remain", "detail": detail, "code": "batch.deferred"}
        result = done.result or UnitResult(unit, "error")
        ended = evolve(result, result="error", diagnostics=(*result.diagnostics, problem))
        run.end(evolve(done, outcome="failed", result=ended))


def _finished_units(run: Run, units: Iterable[str]) -> list[FinishedUnit]:
    return [run.done[unit] for unit in units]


def _settle(run: Run, begun: list[str]) -> None:
    """Mark as applied each interrupted unit whose new plan has no changes, and pass its outputs to dependents."""
    settled = [unit for unit in begun if run.done[unit].outcome == "unchanged"]
    requests = [evolve(state_request(run.batch, unit), is_read=True) for unit in settled]
    for unit, now in zip(settled, run.batch.run_all(requests), strict=True):
        done = run.done[unit]
        assert done.result is not None
        result = run.handed.take(evolve(done.result, result="applied", planned=now.planned), "")
        run.done[unit] = evolve(done, outcome="applied", result=result)
        run.record.finish(run.done[unit])


def _judged(done: FinishedUnit, is_begun: bool) -> dict[str, bool]:
    """The decisions of the rules about a unit that was planned again, as {name: bool}. `asks_again`: the new plan needs
    approval. `spared`: if approval cannot be requested, the unit fails and its changes are not applied."""
    facts = FactBuilder()
    facts.add("saved_plan", done.unit, "incomplete")
    if is_begun:
        facts.add("begun_before", done.unit)
    for address, how in done.result.differs if done.result is not None else ():
        facts.add("differs_from_approved", done.unit, address, how)
    result = evaluate(batch_program(), facts.build(), ("asks_again", "spared"))
    return {name: bool(result[name]) for name in ("asks_again", "spared")}


def _spared(done: FinishedUnit) -> UnitResult:
    assert done.result is not None
    what = "".join(f"\n  - {address} ({_HOW.get(how, how)})" for address, how in done.result.differs)
    detail = (
        f"The apply of {done.unit} was interrupted, and its remaining changes were not approved:{what}\n\nThe unit "
        "was skipped. Apply the saved plan without -auto-approve to approve them, or make the plan again."
    )
    problem = {"severity": "error", "summary": "Changes were not approved", "detail": detail, "code": "batch.spared"}
    return evolve(done.result, result="error", counts=Counts(), diagnostics=(*done.result.diagnostics, problem))


_HOW = {"action": "with a different action", "value": "with different values"}


def _turned_out(unit: str, moved: Mapping[str, list[str]]) -> UnitResult:
    outputs = "; ".join(f"{', '.join(names)} of {other}" for other, names in sorted(moved.items()))
    detail = f"The plan of {unit} used outputs whose values are different now: {outputs}. Plan the fleet again."
    problem = {"severity": "error", "summary": "Saved plan is stale", "detail": detail, "code": "batch.stale"}
    return UnitResult(unit, "error", diagnostics=(problem,))
