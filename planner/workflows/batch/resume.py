"""Resumes an interrupted run. The results of finished units are kept. The units that were running are reported and run
again."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from typing import Any

from planner.foundation.vocabulary.diagnostic import Diagnostic, Failure, error, has_errors, warning
from planner.foundation.vocabulary.records import evolve
from planner.logic.datalog.engine.evaluate import evaluate
from planner.logic.datalog.engine.fact_base import FactBuilder
from planner.logic.programs.rule_programs import batch_program
from planner.workflows.batch import saved_plan
from planner.workflows.batch.apply import Approve, carry_on
from planner.workflows.batch.apply_saved import apply_saved
from planner.workflows.batch.model import from_json
from planner.workflows.batch.passed_outputs import can_be_read
from planner.workflows.batch.plan import complete_run
from planner.workflows.batch.record import Record, is_run
from planner.workflows.batch.run import BatchReport, Run, finish
from planner.workflows.batch.schedule import BatchListener
from planner.workflows.batch.session import Batch, BatchOptions

PATIENCE = 90.0
"""minimum lock timeout of a resumed run in seconds, because a process of the interrupted run may still be finishing its
unit"""


def resume(
    name: str,
    root: str,
    listener: BatchListener,
    approve: Approve | None,
    began: Callable[[str, list[str]], None],
) -> BatchReport:
    """Resume the run `name`, or the last run if `name` is "". Before any unit runs, `began` is called with the name of
    the run and the units that were running when it was interrupted (for a saved plan, without units). `approve` is not
    called if the interrupted run was started without approval. Raises Failure."""
    started = time.monotonic()
    if name and not is_run(name):
        detail = f"{name} is not a valid name of a run, such as 20260131T120000Z-000."
        detail += " A run has the name of its directory in .planner/batch."
        raise Failure(error("batch.no_run", "No such run", detail))
    record = Record(root, name) if name else Record.last(root)
    request = record.asked()
    command = str(request["command"])
    facts = FactBuilder()
    facts.add("command", command)
    final = {
        str(outcome) for (outcome,) in evaluate(batch_program(), facts.build(), ["final_outcome"])["final_outcome"]
    }
    if not final:
        raise Failure(error("batch.resume", "Nothing to resume", f"A run of {command} cannot be resumed."))
    if request.get("is_given_variables"):
        detail = "The run had values of -var or -var-file, which are not recorded. Start it again with these options."
        raise Failure(error("batch.resume_variables", "Nothing to resume", detail))
    options = _options(record, request)
    operation = evolve(options.operation, lock_timeout=max(options.operation.lock_timeout, PATIENCE))
    options = evolve(options, operation=operation, is_brief=False)
    if "saved_plan" in request:
        began(record.name, [])
        return apply_saved(_folder(record, request), options, listener, None if request.get("at_once") else approve)
    diagnostics: list[Diagnostic] = []
    if options.out and os.path.exists(os.path.join(options.out, saved_plan.NAME)):
        detail = f"{options.out} already contains a saved plan, which is kept. The new plans are not saved there."
        diagnostics.append(warning("batch.out", "The existing saved plan was not overwritten", detail))
        options = evolve(options, out="")
    last_event = record.last_event()
    batch = Batch(options, command)
    batch.hold()
    analysis = batch.analysis()
    problems = (*diagnostics, *batch.fleet.diagnostics, *analysis.diagnostics)
    if has_errors(problems):
        batch.close()
        return BatchReport(command, analysis, diagnostics=problems)
    in_flight = record.in_flight()
    kept = {
        u: d
        for u, d in record.finished().items()
        if d.outcome in final
        and d.result
        and u not in in_flight
        and can_be_read(d.result)
        and (not options.out or d.outcome == "unchanged" or _is_its_plan(options.out, u, last_event))
    }
    record.add("resumed", kept=len(kept), in_flight=in_flight)
    began(record.name, in_flight)
    done = {u: d for u, d in kept.items() if u in analysis.selected}
    policies = batch.standing_policies()
    if policies is not None and command == "plan":
        done = {}  # policies need the plans, which records do not contain
    run = Run(batch, analysis, record, listener, done, cut_off=frozenset(in_flight), policies=policies)
    report = BatchReport(command, analysis, diagnostics=problems, mode=options.operation.mode)
    if command in ("plan", "validate"):
        report = complete_run(run, report, command)
    else:
        carry_on(run, command, None if request.get("at_once") else approve)
    return finish(run, report, started, tuple(in_flight))


def _is_its_plan(folder: str, unit: str, last_event: float) -> bool:
    """Whether the interrupted run wrote a unit's plan file; a later run may have replaced the file."""
    try:
        return os.lstat(saved_plan.plan_path(folder, unit)).st_mtime <= last_event
    except OSError:
        return False


def _options(record: Record, asked: dict[str, Any]) -> BatchOptions:
    try:
        options: BatchOptions = from_json(BatchOptions, asked["options"])
    except Exception as bad:  # cattrs' exceptions for invalid data have no common type
        detail = f"The options in the run.json of {record.path} are not valid ({type(bad).__name__})."
        raise Failure(error("batch.no_run", "No such run", detail)) from None
    return options


def _folder(record: Record, asked: dict[str, Any]) -> str:
    """The directory of the saved plan that a run applied. This is the record, which has a copy of the plan, or the
    original directory if the run was interrupted while copying."""
    has_copy = os.path.exists(os.path.join(record.path, saved_plan.NAME))
    return record.path if has_copy else str(asked["saved_plan"])
