"""Apply and destroy over a fleet: at once, or wave by wave with somebody's approval.

At once: each unit is planned and applied as soon as everything before it is done, so nothing is ever planned on unknown
inputs. By waves: first everything is planned, unknown inputs and all; then, wave by wave, units that were incomplete
are planned again on what is real by now, the plans are shown, and what is approved is applied, exactly as shown.
"""

from __future__ import annotations

import time
from collections.abc import Callable

from planner.batch.batch import BatchOptions
from planner.batch.decide import decide
from planner.batch.model import Done
from planner.batch.run import Report, Run, begin, finish
from planner.batch.schedule import Listener, earlier
from planner.vocabulary.records import evolve

Approve = Callable[[str, list[Done]], bool]
"""asks whether the plans of a wave ("wave 1 of 3") shall be applied"""


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
