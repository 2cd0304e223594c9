"""Doing what is asked of one unit in this process: plan, apply, destroy, validate, or a look at its state."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from planner.answers.policy.standing_policies import OWN, SETTINGS
from planner.foundation.support.signals import STOP
from planner.foundation.vocabulary.diagnostic import Diagnostic, has_errors
from planner.foundation.vocabulary.diagnostic_list import Diagnostics
from planner.foundation.vocabulary.records import evolve
from planner.operations.state_access import load_stored
from planner.workflows.batch.diagnostics_codec import described
from planner.workflows.batch.files_read import RECORDER
from planner.workflows.batch.inputs import outputs
from planner.workflows.batch.model import Request, UnitResult
from planner.workflows.batch.plan_unit import Check, failed, log, of_plan, plan_unit, planned_with, spared_result
from planner.workflows.batch.planned_outputs import recorded
from planner.workflows.batch.recipe_run import carry_out
from planner.workflows.batch.unit_setup import OWN_RULES, options_of, surrounded, with_recipe

if TYPE_CHECKING:
    from planner.operations.apply import Applied
    from planner.operations.options import OperationOptions
    from planner.operations.state_access import Stored
    from planner.world.state.model import State


def _outputs_of(request: Request, unit: str) -> Any:
    return outputs(request, unit)


def do(request: Request, check: Check) -> UnitResult:
    """Do it. Raises Failure, and the Unmet of `check`."""
    if request.command == "state" and request.deployment is None:
        return _state(request)
    return _run(request, check) if request.recipe is None else _carried_out(request, check)


def _carried_out(request: Request, check: Check) -> UnitResult:
    """The work with what belongs around it. Raises Failure."""
    return carry_out(request, lambda unit: _outputs_of(request, unit), lambda ready: _run(ready, check), check)


def _run(request: Request, check: Check) -> UnitResult:
    if STOP.requested:
        return UnitResult(request.unit, "stopped")
    for folder in (OWN_RULES, OWN):
        RECORDER.look(folder, "folder")
    for file in SETTINGS:
        RECORDER.look(file)
    if request.deployment is not None:
        return _deployment(request, check)
    options = options_of(request)
    if request.command == "validate":
        return _validate(request, options, check)
    if request.command == "apply_plan":
        return _apply_plan(request, options, check)
    if request.command == "plan" or request.plan_file:
        return plan_unit(request, options, check)
    return _apply(request, options, check)


def _deployment(request: Request, check: Check) -> UnitResult:
    from planner.workflows.batch.deployment_work import do_deployment

    return do_deployment(request, check)


def _apply(request: Request, options: OperationOptions, check: Check) -> UnitResult:
    """Plan and apply at once; the state stays locked in between."""
    from planner.operations.apply import apply
    from planner.operations.plan import release

    terminal, hooks = log()
    planned = planned_with(request, options, hooks, check, to_apply=True)
    problems: list[Diagnostic] = []
    try:
        made = planned.complete
        if made is None:
            return failed(request, planned.diagnostics, terminal)
        if not made.plan.can_apply:
            return evolve(of_plan(request, made, planned.diagnostics), text=terminal.stdout.getvalue())
        tainted = [c.address for c in made.plan.changes if c.reason == "replace_because_tainted"]
        if tainted and request.spares_tainted:
            return spared_result(request, planned.diagnostics, tainted)
        applied = apply(options, planned, hooks)
    finally:
        problems += release(planned)
    done = _applied(request, applied, terminal, problems)
    short = of_plan(evolve(request, facts=()), made, planned.diagnostics)
    return evolve(done, changes=short.changes, outputs=short.outputs)


def _applied(request: Request, applied: Applied, terminal: Any, more: list[Diagnostic] | None = None) -> UnitResult:
    counts, problems = applied.counts, [*applied.diagnostics, *(more or ())]
    failed = "stopped" if STOP.requested else "error"
    result = UnitResult(
        request.unit,
        failed if has_errors(problems) else "applied",
        (counts.add, counts.change, counts.remove, counts.imports, counts.forget),
        diagnostics=described(problems),
        text=terminal.stdout.getvalue(),
    )
    if applied.state is not None:
        result = evolve(result, lineage=applied.state.lineage, serial=applied.state.serial)
    if request.is_read and applied.state is not None and result.result == "applied":
        return _with_recorded(result, applied.state)
    return result


def _with_recorded(result: UnitResult, state: State) -> UnitResult:
    return evolve(result, planned=recorded(state))


def _state(request: Request) -> UnitResult:
    """What the unit's state is by now: its lineage and serial, and as text what wrote it and who is at work on it. If
    there is an approved plan: whether that was applied, and then the outputs, too."""
    request = with_recipe(request)
    with surrounded(request):
        stored = load_stored(options_of(request), Diagnostics())
        holder = stored.store.lock_holder()
    is_applied = bool(request.approved_file) and _is_applied(request, stored)
    written = f"written by version {stored.state.terraform_version}" if stored.state.terraform_version else ""
    said = ", ".join(filter(None, (written, f"locked{holder}" if holder else "")))
    result = UnitResult(request.unit, "no-changes", lineage=stored.state.lineage, serial=stored.state.serial, text=said)
    if is_applied:
        result = evolve(result, result="applied")
    return _with_recorded(result, stored.state) if request.is_read else result


def _is_applied(request: Request, stored: Stored[OperationOptions]) -> bool:
    from planner.workflows.batch.approval_check import is_applied

    return is_applied(request.approved_file, stored)


def _validate(request: Request, options: OperationOptions, check: Check) -> UnitResult:
    from planner.operations.validate import validate

    problems = validate(options)
    check()
    return _validated(request, problems)


def _apply_plan(request: Request, options: OperationOptions, check: Check) -> UnitResult:
    from planner.operations.apply import apply

    check()
    terminal, hooks = log()
    return _applied(request, apply(options, request.plan_file, hooks), terminal)


def _validated(request: Request, problems: list[Diagnostic]) -> UnitResult:
    result = "error" if has_errors(problems) else "no-changes"
    return UnitResult(request.unit, result, diagnostics=described(problems))
