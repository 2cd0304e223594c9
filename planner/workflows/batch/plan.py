"""Plans or validates the selected units of a fleet, records the run, and saves the plans if requested."""

from __future__ import annotations

import time

from planner.foundation.vocabulary.diagnostic import Diagnostic, Failure
from planner.foundation.vocabulary.records import evolve
from planner.workflows.batch.model import BAD
from planner.workflows.batch.run import BatchReport, Run, begin, finish
from planner.workflows.batch.schedule import BatchListener
from planner.workflows.batch.session import BatchOptions


def plan(
    options: BatchOptions, listener: BatchListener, command: str = "plan", facts: tuple[str, ...] | None = None
) -> BatchReport:
    started = time.monotonic()
    run, report = begin(command, options, listener, facts)
    if run is None:
        return report
    return finish(run, complete_run(run, report, command), started)


def complete_run(run: Run, report: BatchReport, command: str) -> BatchReport:
    """Plan or validate the units that are not done. If requested, save the plans of all units, but only if all units
    succeeded and no plan was denied."""
    options = run.batch.options
    way = "destroy" if command == "plan" and options.operation.mode == "destroy" else command
    run.plan(run.order, way, way)
    run.gate.judge(command)
    if options.out and not run.gate.is_closed and not any(done.outcome in BAD for done in run.done.values()):
        report = evolve(report, diagnostics=(*report.diagnostics, *_save(run)))
    return report


def _save(run: Run) -> list[Diagnostic]:
    from planner.workflows.batch.apply_saved import save

    try:
        save(run)
    except Failure as failure:
        return failure.diagnostics
    return []
