"""Applies or destroys a fleet, either at once or wave by wave with approval.

Without waves, each unit is planned and applied when its dependencies are done, so no unit is planned with unknown
inputs. With waves, all units are planned first, even units with unknown inputs. Then the waves are applied one after
the other. In each wave, units with incomplete or outdated plans are planned again with the outputs of the earlier
waves. Then approval is requested for the whole wave, and the approved plans are applied exactly as shown."""

from __future__ import annotations

import time
from collections.abc import Callable

from planner.foundation.vocabulary.records import evolve
from planner.workflows.batch.model import FinishedUnit
from planner.workflows.batch.run import BatchReport, Run, begin, finish
from planner.workflows.batch.schedule import BatchListener, earlier
from planner.workflows.batch.session import BatchOptions
from planner.workflows.batch.unit_decisions import UnitDecision, decide

Approve = Callable[[str, list[FinishedUnit]], bool]
"""requests approval for the plans of a wave; receives a title such as "wave 1 of 3" and the wave's units"""


def converge(command: str, options: BatchOptions, listener: BatchListener, approve: Approve | None) -> BatchReport:
    """Apply or destroy the selected units. This is done at once if `approve` is None and no policies check the plans of
    all units together; otherwise wave by wave. Raises Failure."""
    started = time.monotonic()
    run, report = begin(command, options, listener, asked={"at_once": approve is None})
    if run is None:
        return report
    carry_on(run, command, approve)
    return finish(run, report, started)


def carry_on(run: Run, command: str, approve: Approve | None) -> None:
    if approve is None:
        if run.gate.policies is None:
            run.apply(run.order, command)
            return
        approve = _approved  # the policies check all plans together before any plan is applied
    kept = dict(run.done)
    left = [unit for unit in run.order if unit not in kept]
    run.plan(left, "plan" if command == "apply" else command, "plan" if command == "apply" else "destroy")
    if not run.gate.judge(command):
        run.gate.hold()
        return
    waves = sorted({run.analysis.waves.get(unit, 0) for unit in left}, reverse=command == "destroy")
    for number, level in enumerate(waves, 1):
        units = [unit for unit in left if run.analysis.waves.get(unit, 0) == level]
        wave(run, command, units, f"wave {number} of {len(waves)}", approve)
        if run.gate.is_closed:
            return


def _approved(title: str, wave: list[FinishedUnit]) -> bool:
    return True


def wave(run: Run, command: str, units: list[str], title: str, approve: Approve) -> None:
    """Plan incomplete and outdated units again, request approval if a plan needs it, and apply the approved plans, then
    their deferred changes. Nothing is applied if the fleet's policies deny a new plan."""
    again = [unit for unit in units if _is_open(run.done[unit]) or is_overtaken(run, unit)]
    for unit in again:
        run.set_aside(unit)
    # the units may run now; dependents of units that were not applied keep waiting
    run.plan(again, command, "plan" if command == "apply" else "destroy")
    if again and not run.gate.judge(command):
        run.gate.hold()
        return
    end_stuck(run, units)
    to_apply = [unit for unit in units if may_apply(run, command, run.done[unit])]
    waiting = [unit for unit in to_apply if asks(run, command, run.done[unit])]
    if waiting and not approve(title, [run.done[unit] for unit in units]):
        decline(run, command, waiting)
        to_apply = [unit for unit in to_apply if unit not in waiting]
    if not to_apply:
        return
    run.apply_plans(to_apply, command)
    left = [unit for unit in to_apply if run.done[unit].outcome == "incomplete"]
    if left:
        deferred(run, command, left, title, approve)


def deferred(run: Run, command: str, units: list[str], title: str, approve: Approve) -> None:
    """Plan and apply the deferred changes of these units, because the values for which the changes waited may be known
    now."""
    before = {unit: run.done[unit].result for unit in units}
    wave(run, command, units, f"{title}, deferred parts", approve)
    for unit, earlier_result in before.items():
        done = run.done[unit]
        if done.result is not None and earlier_result is not None:
            counts = earlier_result.counts
            if done.outcome == "applied":
                counts = counts.plus(done.result.counts)
            changes = (*earlier_result.changes, *done.result.changes)
            whole = evolve(done.result, counts=counts, changes=changes)
            run.done[unit] = evolve(done, result=whole)


def _is_open(done: FinishedUnit) -> bool:
    """Whether a unit has to be planned again: it was skipped, an input was unknown, or its plan was applied only in
    part."""
    if done.outcome == "incomplete" and done.result is not None and done.result.is_partial:
        return bool(done.because) or done.result.result == "applied"
    return done.outcome in ("incomplete", "skipped")


def end_stuck(run: Run, units: list[str]) -> None:
    """Mark units as failed if they still have deferred changes and planning again would not complete these changes."""
    for unit in units:
        done = run.done[unit]
        if done.outcome == "incomplete" and done.result is not None and done.result.stuck and not done.result.rests_on:
            diagnostics = (*done.result.diagnostics, *done.result.stuck)
            run.end(evolve(done, outcome="failed", result=evolve(done.result, result="error", diagnostics=diagnostics)))


def decline(run: Run, command: str, units: list[str]) -> None:
    """Record that the plans of these units were not approved."""
    for unit in units:
        run.end(evolve(run.done[unit], outcome=decide(command, {}, result="declined").outcome))


def is_overtaken(run: Run, unit: str) -> bool:
    """Whether a plan with changes is outdated, because a unit that runs before this one was not applied, or because an
    output that the plan used has changed."""
    # decided in Python: whether the plan of a unit is outdated -- it compares digests, which are not facts
    if run.done[unit].outcome != "changes" and not may_be_applied(run.done[unit]):
        return False
    before = earlier(run.done, run.analysis.before.get(unit, ()), ())
    return bool(decide("apply", before).skipped) or bool(run.moved(unit))


def may_apply(run: Run, command: str, done: FinishedUnit) -> bool:
    """Whether a unit's plan can be applied now: `may_be_applied` is true, and the units that run before this unit are
    done."""
    return may_be_applied(done) and _decided(run, command, done).appliable


def asks(run: Run, command: str, done: FinishedUnit) -> bool:
    """Whether a plan that can be applied needs approval."""
    return _decided(run, command, done).asks


def may_be_applied(done: FinishedUnit) -> bool:
    """Whether a plan has changes that do not have to wait for other units."""
    if done.outcome == "incomplete":
        return done.result is not None and done.result.is_partial and not done.because
    return done.outcome == "changes"


def _decided(run: Run, command: str, done: FinishedUnit) -> UnitDecision:
    result = done.result
    if result is None:
        return UnitDecision()
    before = earlier(run.done, run.analysis.before.get(done.unit, ()), ())
    partial, approved = result.is_partial, bool(result.approved_by)
    return decide(command, before, result=result.result, is_partial=partial, is_approved=approved)
