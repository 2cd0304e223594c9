"""Apply and destroy over a fleet: at once, or wave by wave with somebody's approval; and resume what was cut off.

At once: each unit is planned and applied as soon as everything before it is done, so nothing is ever planned on unknown
inputs. By waves: first everything is planned, unknown inputs and all; then, wave by wave, units that were incomplete
are planned again on what is real by now, the plans are shown, and what is approved is applied, exactly as shown.
"""

from __future__ import annotations

import time
from collections.abc import Callable

from attrs import evolve

from planner.batch.batch import Batch, BatchOptions
from planner.batch.decide import decide
from planner.batch.handed import can_be_read
from planner.batch.model import Done, from_json
from planner.batch.record import Record
from planner.batch.run import Report, Run, begin, finish
from planner.batch.schedule import Listener, earlier
from planner.vocabulary.diagnostic import Failure, error, has_errors

Approve = Callable[[str, list[Done]], bool]
"""asks whether the plans of a wave ("wave 1 of 3") shall be applied"""
KEPT = {
    "plan": frozenset(("changes", "incomplete", "unchanged")),
    "validate": frozenset(("unchanged",)),
    "apply": frozenset(("applied", "unchanged")),
    "destroy": frozenset(("applied", "unchanged")),
}
"""the outcomes of a run that was cut off which its resumption does not touch again"""
PATIENCE = 90.0
"""seconds that a resumed run waits for the lock of a state: an orphaned process may still be at its unit's end"""


def converge(command: str, options: BatchOptions, listener: Listener, approve: Approve | None) -> Report:
    """Apply or destroy the selected units; without `approve` at once. Raises Failure."""
    started = time.monotonic()
    run, report = begin(command, options, listener, asked={"at_once": approve is None})
    if run is None:
        return report
    carry_on(run, command, approve)
    return finish(run, report, started)


def carry_on(run: Run, command: str, approve: Approve | None) -> None:
    """Bring everything of a run to an end that has none yet."""
    if approve is None:
        run.apply(run.order, command)
        return
    kept = dict(run.done)
    left = [unit for unit in run.order if unit not in kept]
    run.plan(left, "plan" if command == "apply" else command, "plan" if command == "apply" else "destroy")
    waves = sorted({run.analysis.waves.get(unit, 0) for unit in left}, reverse=command == "destroy")
    for number, wave in enumerate(waves, 1):
        units = [unit for unit in left if run.analysis.waves.get(unit, 0) == wave]
        _wave(run, command, units, f"wave {number} of {len(waves)}", approve)


def _wave(run: Run, command: str, units: list[str], title: str, approve: Approve) -> None:
    """Plan again what was incomplete, ask, and apply what is approved."""
    again = [unit for unit in units if run.done[unit].outcome in ("incomplete", "skipped") or is_overtaken(run, unit)]
    for unit in again:
        run.set_aside(unit)
    # on what has been applied by now nothing is pending any more; what was not applied keeps its dependents waiting
    run.plan(again, command, "plan" if command == "apply" else "destroy")
    planned = [run.done[unit] for unit in units]
    to_apply = [done.unit for done in planned if done.outcome == "changes" and may_apply(run, command, done)]
    if not to_apply:
        return
    if approve(title, [run.done[unit] for unit in units]):
        run.apply_plans(to_apply, command)
        return
    decline(run, command, to_apply)


def decline(run: Run, command: str, units: list[str]) -> None:
    """Nobody approved the plans of these units."""
    for unit in units:
        run.end(evolve(run.done[unit], outcome=decide(command, {}, result="declined").outcome))


def is_overtaken(run: Run, unit: str) -> bool:
    """Whether a complete plan does not count any more: something that it comes after was not done, or an output that it
    was made with turned out differently."""
    if run.done[unit].outcome != "changes":
        return False
    before = earlier(run.done, run.analysis.before.get(unit, ()), ())
    return bool(decide("apply", before).skipped) or bool(run.moved(unit))


def may_apply(run: Run, command: str, done: Done) -> bool:
    """Whether a plan may be applied now: it is complete, and all that it comes after is done."""
    before = earlier(run.done, run.analysis.before.get(done.unit, ()), ())
    return done.result is not None and decide(command, before, result=done.result.result).appliable


# ---------------------------------------------------------------- resuming


def resume(
    name: str,
    root: str,
    listener: Listener,
    approve: Approve | None,
    began: Callable[[str, list[str]], None],
) -> Report:
    """Go on with a run that was cut off, the last one unless named: what had ended stays as it is, what was in work is
    named (`began`) and run again. Raises Failure."""
    started = time.monotonic()
    record = Record(root, name) if name else Record.last(root)
    asked = record.asked()
    command = str(asked["command"])
    if command not in KEPT:
        raise Failure(error("batch.resume", "Nothing to resume", f"A run of {command} cannot be resumed."))
    if asked.get("is_given_variables"):
        detail = "The run was given values with -var or -var-file, which are on no record. Begin it anew with these."
        raise Failure(error("batch.resume_variables", "Nothing to resume", detail))
    if "saved_plan" in asked:
        detail = (
            f"The run applied the plan saved in {asked['saved_plan']}. What it did counts; of what is left a new plan "
            "has to be made and approved."
        )
        raise Failure(error("batch.resume_saved", "A saved plan is not resumed", detail))
    options: BatchOptions = from_json(BatchOptions, asked["options"])
    options = evolve(options, lock_timeout=max(options.lock_timeout, PATIENCE), is_brief=False)
    batch = Batch(options, command)
    batch.hold()
    analysis = batch.analysis()
    problems = (*batch.fleet.diagnostics, *analysis.diagnostics)
    if has_errors(problems):
        batch.close()
        return Report(command, analysis, diagnostics=problems)
    in_flight = record.in_flight()
    kept = {
        u: d
        for u, d in record.finished().items()
        if d.outcome in KEPT[command] and d.result and u not in in_flight and can_be_read(d.result)
    }
    record.add("resumed", kept=len(kept), in_flight=in_flight)
    began(record.name, in_flight)
    done = {u: d for u, d in kept.items() if u in analysis.selected}
    run = Run(batch, analysis, record, listener, done, cut_off=frozenset(in_flight))
    if command in ("plan", "validate"):
        run.plan(run.order, command, command)
    else:
        carry_on(run, command, None if asked.get("at_once") else approve)
    report = Report(command, analysis, diagnostics=problems)
    return finish(run, report, started, tuple(in_flight))
