"""Plans one unit in this process and summarizes the plan."""

from __future__ import annotations

import io
import os
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any

from planner.engine.walk.hooks import Hooks
from planner.foundation.support.disk import replace_file
from planner.foundation.support.exact_json import dumps
from planner.foundation.support.signals import STOP
from planner.foundation.vocabulary.diagnostic import Diagnostic, Failure, error, has_errors
from planner.foundation.vocabulary.records import evolve
from planner.logic.model.plan import Plan, deferral_cause
from planner.logic.programs.actions import Counts, does
from planner.operations.load import read_configuration
from planner.operations.options import OperationOptions
from planner.operations.providers_needed import asks_plugins
from planner.render.terminal import Terminal
from planner.workflows.batch.files_read import RECORDS
from planner.workflows.batch.model import Request, UnitResult, diagnostics_json
from planner.workflows.batch.passed_outputs import with_outputs
from planner.workflows.batch.unit_setup import is_new, set_up
from planner.world.state.backend import Store

if TYPE_CHECKING:
    from planner.operations.plan import MadePlan, Planned, Start

Check = Callable[[], None]
"""called after all reads and before any change; raises Unmet to prevent all changes"""


def log() -> tuple[Any, Any]:
    """Returns a terminal that writes to memory, and hooks that print to that terminal."""
    from planner.render.hooks_human import HumanHooks

    stream = io.StringIO()
    terminal = Terminal(stdin=io.StringIO(), stdout=stream, stderr=stream, colour=False)
    return terminal, HumanHooks(terminal)


def planned_with(
    request: Request, options: OperationOptions, hooks: Any, check: Check, to_apply: bool = False
) -> Planned[Start]:
    """Plan the unit. If this fails because init has not been run, run init and plan again. The caller must release the
    plan. Raises Failure, and the exceptions of `check`."""
    from planner.operations.plan import plan, release

    planned = plan(options, hooks, to_apply)
    if planned.complete is None and is_new(reading := read_configuration(options)):
        release(planned)
        set_up(request, reading)
        planned = plan(options, hooks, to_apply)
    try:
        check()
    except BaseException:
        release(planned)
        raise
    return planned


def plan_unit(request: Request, options: OperationOptions, check: Check) -> UnitResult:
    """Plan the unit and write the requested files. Raises Failure, and Unmet from `check`."""
    from planner.operations.plan_files import save_plan

    planned = planned_with(request, options, Hooks(), check)
    if planned.complete is None:
        return failed(request, planned.diagnostics)
    made, problems = _judged(planned.complete)
    diagnostics = _strictly([*planned.diagnostics, *problems])
    if has_errors(diagnostics):
        return denial_result(request, made, diagnostics) if is_denial(diagnostics) else failed(request, diagnostics)
    if request.json_file:
        from planner.answers.documents.json_plan import plan_json

        write_json(plan_json(made.plan, made.loaded.config, made.loaded.schemas.schema), request.json_file)
    result = of_plan(request, made, diagnostics)
    if request.approved_file:
        from planner.workflows.batch.approval_check import differences

        result = evolve(result, differs=differences(request.approved_file, made))
    if request.plan_file and _is_kept(request, result):
        durable = RECORDS not in request.plan_file  # plans in records are needed only by this run and by queries
        problems = save_plan(made, request.plan_file, 0o600, durable=durable)
        if has_errors(problems):
            return failed(request, problems)
        result = evolve(result, plan_file=request.plan_file)
    return result


def _is_kept(request: Request, result: UnitResult) -> bool:
    """Whether to write a plan file. A complete plan is written if it has changes, an incomplete plan if
    `request.keeps_incomplete`."""
    if result.rests_on:
        return request.keeps_incomplete
    return result.result == "changes"


def _strictly(diagnostics: list[Diagnostic]) -> list[Diagnostic]:
    """The diagnostics, but the warning about an unknown address on the command line becomes an error, because a warning
    would be overlooked among the output of many units."""
    return [evolve(d, severity="error") if d.code == "plan.unmatched_address" else d for d in diagnostics]


def write_json(document: Any, path: str) -> None:
    try:
        os.makedirs(os.path.dirname(path), exist_ok=True)
        replace_file(path, dumps(document), 0o600, durable=False)
    except OSError as problem:
        detail = f"{path}: {problem.strerror or problem}."
        raise Failure(error("batch.json", "Plan JSON cannot be written", detail)) from None


def _judged(made: MadePlan[Start]) -> tuple[MadePlan[Start], list[Diagnostic]]:
    if not made.loaded.options.judges:
        return made, []
    return _judged_by_policies(made)


def _judged_by_policies(made: MadePlan[Start]) -> tuple[MadePlan[Start], list[Diagnostic]]:
    from planner.operations import policies

    made, verdict, problems = policies.judged(made)
    return made, [*problems, *(policies.diagnostics(verdict) if verdict is not None else ())]


def of_plan(request: Request, made: MadePlan[Start], diagnostics: Iterable[Diagnostic]) -> UnitResult:
    plan = made.plan
    left = deferred_rows(plan)
    short = UnitResult(
        request.unit,
        "changes" if plan.can_apply else "no-changes",
        counts_of(plan),
        (*changes_of(plan), *left),
        tuple((o.name, o.action) for o in plan.outputs if o.action != "no-op"),
        diagnostics_json(list(diagnostics)),
        text=text_of(made) if request.text else "",
        review=_review(made) if request.review and not (plan.is_empty and not changes_of(plan)) else {},
        facts=_facts(request, made) if request.facts else {},
        asks_plugins=asks_plugins(made.loaded.config, made.plan.prior_state),
        lineage=plan.previous_state.lineage,
        serial=plan.previous_state.serial,
        state_at=written_at(request, made.loaded.store),
        is_partial=bool(plan.deferred),
    )
    if plan.deferred and not plan.can_apply:
        short = evolve(short, stuck=diagnostics_json([_stuck(request.unit, left)]))
    return _with_outputs(request, made, short) if request.is_read or request.upstream else short


def deferred_rows(plan: Plan) -> tuple[tuple[str, str, str], ...]:
    """The deferred blocks of a plan in the form of `UnitResult.changes`: (address, "defer", reason)."""
    return tuple((b, "defer", deferral_cause(argument) or f"unknown {argument}") for b, argument, _ in plan.deferred)


def _stuck(unit: str, left: Iterable[tuple[str, str, str]]) -> Diagnostic:
    """The error about a unit whose plan has deferred blocks but no changes that can be applied. `left`: the deferred
    blocks."""
    lines = "".join(f"\n  - {block}: {cause}" for block, _, cause in left)
    detail = f"There is nothing left to apply in {unit}, but these are still deferred:{lines}"
    return error("batch.no_progress", "Unit does not converge", detail)


def written_at(request: Request, store: Store) -> float:
    """The time at which the state was written, in seconds since 1970. 0 if the plan refreshes objects, or if the time
    is unknown because a service stores the state."""
    if request.options.refresh:
        return 0.0
    try:
        return os.stat(store.place).st_mtime
    except (OSError, ValueError):
        return 0.0


def _facts(request: Request, made: MadePlan[Start]) -> dict[str, list[list[Any]]]:
    from planner.answers.policy.facts.units import facts_of

    return facts_of(request.facts, made.plan, made.loaded.config)


def _with_outputs(request: Request, made: MadePlan[Start], short: UnitResult) -> UnitResult:
    """Add to the summary `short` the unit's planned outputs, and the unknown outputs of other units on which the plan
    depends."""
    options, declared = made.loaded.options, made.loaded.config.root.variables
    around = {name: value for name, value in options.surrounding.items() if name in declared}
    outputs = made.loaded.config.root.outputs
    return with_outputs(request, made.plan, {**around, **options.inputs}, short, outputs)


def counts_of(plan: Plan) -> Counts:
    if plan.mode != "refresh-only":
        return Counts.of_plan(plan)
    gone = sum(c.action == "delete" for c in plan.drift)
    return Counts(0, sum(c.action != "no-op" for c in plan.drift) - gone, gone)


def changes_of(plan: Plan) -> tuple[tuple[str, str, str], ...]:
    """The objects that the plan changes, as (address, action, reason). For a refresh-only plan, these are the objects
    that were changed outside planner."""
    if plan.mode == "refresh-only":
        return tuple((c.address, c.action, "drift") for c in plan.drift if c.action != "no-op")
    # a data source that is only removed is not a change
    return tuple(
        (c.address, c.action, c.reason)
        for c in plan.changes
        if (c.action != "no-op" and (c.mode == "managed" or not does(c.action, "ends")))
    )


def _review(made: MadePlan[Start]) -> dict[str, Any]:
    from planner.render.review.of_plan import plan_review, short_review
    from planner.render.review.subject import ReviewSubject

    if made.plan.mode != "refresh-only":
        return short_review(plan_review(made, ReviewSubject()))
    from planner.operations.plan_files import open_or_make_plan
    from planner.render.review.drift import drift_review

    answer = open_or_make_plan(evolve(made.loaded.options, mode="normal"))
    return short_review(drift_review(made, answer.complete, ReviewSubject()))


def text_of(made: MadePlan[Start]) -> str:
    from planner.render.diff_block import SchemaLookup
    from planner.render.plan import PlanText

    terminal, _ = log()
    PlanText(made.plan, SchemaLookup(made.loaded.schemas).resource_schema, terminal, False).show()
    return str(terminal.stdout.getvalue())


def failed(request: Request, problems: Iterable[Diagnostic], terminal: Any = None) -> UnitResult:
    """The result of a unit that had errors or was stopped."""
    result = "stopped" if STOP.requested else "error"
    text = terminal.stdout.getvalue() if terminal is not None else ""
    return UnitResult(request.unit, result, diagnostics=diagnostics_json(list(problems)), text=text)


def is_denial(problems: Iterable[Diagnostic]) -> bool:
    return {problem.code for problem in problems if problem.is_error} <= {"policy.denied", "policy.broken"}


def denial_result(request: Request, made: MadePlan[Start], problems: Iterable[Diagnostic]) -> UnitResult:
    """The result of a plan that policies deny. It has the changes, but no planned values of outputs, so that dependents
    are not planned with these values."""
    return evolve(of_plan(request, made, problems), result="denied", planned={}, is_planned_secret=False)


def spared_result(request: Request, diagnostics: Iterable[Diagnostic], tainted: list[str]) -> UnitResult:
    """The result of a unit with tainted objects that were not replaced. A process died while it applied the unit, so
    replacing the objects needs approval."""
    names = "".join(f"\n  - {address}" for address in tainted)
    detail = (
        f"A process that applied {request.unit} ended unexpectedly. These objects are tainted, and applying again "
        f"would destroy them and create them again:{names}\n\nNothing more was done. Inspect them; then apply again to "
        "replace them, or keep them with `planner untaint`."
    )
    problem = error("batch.tainted", "Tainted objects are not replaced without approval", detail)
    return UnitResult(request.unit, "tainted", diagnostics=diagnostics_json([*diagnostics, problem]))


def applied_as(result: UnitResult, planned: UnitResult) -> UnitResult:
    """The result of an apply, with the changes and outputs of its plan `planned`, and with the plan's review, which
    receives the outcome of each change."""
    review = planned.review
    if review:
        from planner.engine.apply.outcomes import Outcome
        from planner.render.review.results import with_results

        outcomes = {name: Outcome(kind, error) for name, kind, error in result.outcomes}
        review = with_results(review, result.result == "applied", outcomes)
    return evolve(result, changes=planned.changes, outputs=planned.outputs, review=review)
