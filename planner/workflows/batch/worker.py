"""The work on units, in any process. `run_unit` runs a request and returns its result. `survey_units` reads the
configurations of units, and returns the states that the units write, the states that they read, and their files."""

from __future__ import annotations

import os
import time
from typing import TYPE_CHECKING, Any

from planner.answers.policy.standing_policies import OWN, SETTINGS
from planner.foundation.support.disk import service_reads
from planner.foundation.support.signals import STOP
from planner.foundation.values.types import DYNAMIC
from planner.foundation.values.value import Null, Value
from planner.foundation.vocabulary.address import join
from planner.foundation.vocabulary.diagnostic import Diagnostic, Diagnostics, Failure, error, has_errors
from planner.foundation.vocabulary.records import evolve
from planner.language.config.backend import backend_settings
from planner.language.config.directory import is_secret_directory
from planner.language.config.for_each import constant, module_scopes, repeated_scopes
from planner.language.config.load import load_tree
from planner.language.config.model import Config
from planner.language.config.reading import Problems, expr_of
from planner.language.config.static import StaticScope
from planner.language.config.variables import given_values
from planner.language.syntax.body import BodySchema, Content
from planner.operations.backends import data_folder
from planner.operations.load import ConfigurationReading, RunInputs, read_configuration
from planner.operations.options import OperationOptions, StateOptions
from planner.operations.state_access import Stored, load_stored
from planner.workflows.batch.executor import Unmet
from planner.workflows.batch.files_read import RECORDER, entries
from planner.workflows.batch.inputs import outputs
from planner.workflows.batch.model import (
    IDENTITIES,
    FileLocation,
    RemoteRead,
    Request,
    Survey,
    UnitResult,
    diagnostics_json,
)
from planner.workflows.batch.passed_outputs import state_outputs
from planner.workflows.batch.plan_unit import (
    Check,
    applied_as,
    failed,
    is_denial,
    log,
    of_plan,
    plan_unit,
    planned_with,
    spared_result,
)
from planner.workflows.batch.recipe_run import carry_out
from planner.workflows.batch.unit_decisions import decide
from planner.workflows.batch.unit_setup import (
    ALONE,
    OWN_RULES,
    home,
    is_new,
    options_of,
    peak,
    set_up,
    surrounded,
    tidy,
    with_recipe,
)
from planner.world.provider import remote_state
from planner.world.state.backend import schema_of, state_identity
from planner.world.state.model import State
from planner.world.state.workspace import read_pointer

if TYPE_CHECKING:
    from planner.operations.apply import Applied


def _nothing() -> None:
    pass


def run_unit(request: Request, before_changes: Check = _nothing) -> UnitResult:
    """Plan, apply, destroy or validate a unit, or read its state. `before_changes` is called after all reads and before
    any change. If it raises Unmet, run_unit raises Unmet; all other failures are reported in the result."""
    begin, used, started = time.monotonic(), time.process_time(), time.time()
    with ALONE, home(request), RECORDER.recording():
        if os.path.isabs(request.state):
            # locking opens the state for writing, and that opening is not recorded as a read
            RECORDER.look(request.state)
        secret = is_secret_directory(".")
        before = service_reads()
        try:
            result = do(request, before_changes)
        except Failure as failure:
            result = failed(request, failure.diagnostics)
        except Unmet:
            raise
        except Exception as problem:
            detail = f"{type(problem).__name__}: {problem}. This is a mistake in planner: please report it."
            result = failed(request, [error("batch.internal", "Internal error", detail)])
        looked_at = RECORDER.compared()
    reads = entries(looked_at, request.foreign_states) or []
    tidy()
    return evolve(
        result,
        seconds=time.monotonic() - begin,
        cpu=time.process_time() - used,
        memory=peak(),
        reads=reads,
        is_secret=secret,
        asks_services=service_reads() > before,
        made_at=started,
    )


def survey_units(requests: list[Request], folders: list[str]) -> list[Survey]:
    return [_survey(request, folder) for request, folder in zip(requests, folders, strict=True)]


def _survey(request: Request, folder: str) -> Survey:
    from planner.operations.init import stays_as_it_is

    if request.deployment is not None:
        from planner.workflows.batch.survey_deployment import survey_deployment

        with ALONE, home(request), RECORDER.recording():
            made, is_whole = survey_deployment(request, folder)
            looked_at = RECORDER.compared()
        return evolve(made, reads=(entries(looked_at) or []) if is_whole else [])
    with ALONE, home(request), RECORDER.recording():
        try:
            request = with_recipe(request)
            with surrounded(request):
                reading, is_whole = read_configuration(options_of(request)), True
                if is_new(reading) and not (request.recipe is not None and request.recipe.refusals):
                    try:
                        set_up(request, reading)
                    except Failure:  # the plan of the unit reports the reason; dependencies are known without init
                        is_whole = False
                    if stays_as_it_is(reading):
                        RECORDER.look_again(data_folder(reading.begun.options.directory))
                    else:
                        RECORDER.begin_again()  # earlier reads are irrelevant
                        reading = read_configuration(options_of(request))
                made = survey(request.unit, reading, folder)
        except Failure as failure:
            made = Survey(request.unit, "", problems=diagnostics_json(failure.diagnostics))
            is_whole = False
        looked_at = RECORDER.compared()
        if made.problems and is_secret_directory("."):
            is_whole = False  # problems may quote the secret files, so they are not cached
    return evolve(made, reads=(entries(looked_at) or []) if is_whole else [])


# Work on a unit in this process: plan, apply, destroy, validate, or read its state.


def do(request: Request, check: Check) -> UnitResult:
    """Run the request's command on its unit. Raises Failure, and Unmet from `check`."""
    if request.command == "state" and request.deployment is None:
        return _state(request)
    if request.recipe is None:
        return _run(request, check)
    return carry_out(request, lambda unit: outputs(request, unit), lambda ready: _run(ready, check), check)


def _run(request: Request, check: Check) -> UnitResult:
    if STOP.requested:
        return UnitResult(request.unit, "stopped")
    for folder in (OWN_RULES, OWN):
        RECORDER.look(folder, "folder")
    for file in SETTINGS:
        RECORDER.look(file)
    if request.deployment is not None:
        from planner.workflows.batch.deployment_work import do_deployment

        return do_deployment(request, check)
    options = options_of(request)
    if request.review:
        options = evolve(options, keeps_values=True)
    if request.command == "validate":
        from planner.operations.validate import validate

        problems = validate(options)
        check()
        result = "error" if has_errors(problems) else "no-changes"
        return UnitResult(request.unit, result, diagnostics=diagnostics_json(problems))
    if request.command == "apply_plan":
        from planner.operations.apply import apply

        check()
        terminal, hooks = log()
        return _applied(request, apply(options, request.plan_file, hooks), terminal)
    if request.command == "plan" or request.plan_file:
        return plan_unit(request, evolve(options, command=f"batch {request.command}"), check)
    return _apply(request, options, check)


def _apply(request: Request, options: OperationOptions, check: Check) -> UnitResult:
    """Plan and apply without approval. If the plan has deferred changes, they are planned and applied in further
    rounds."""
    result = _apply_once(request, options, check)
    while decide("apply", {}, result=result.result, is_partial=result.is_partial).is_continued:
        more = _apply_once(request, options, lambda: None)
        counts, changes = result.counts.plus(more.counts), (*result.changes, *more.changes)
        if more.stuck:
            more = evolve(more, result="error", diagnostics=(*more.diagnostics, *more.stuck))
        result = evolve(more, counts=counts, changes=changes, text=result.text + more.text)
    return result


def _apply_once(request: Request, options: OperationOptions, check: Check) -> UnitResult:
    """Plan and apply under one lock of the state. Nothing is applied if a policy denies the plan, or if the request
    spares tainted objects and the plan replaces any of them. Raises Failure."""
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
        # summarized first, because apply replaces planned values
        short = of_plan(evolve(request, facts=()), made, planned.diagnostics)
        applied = apply(options, planned, hooks)
    finally:
        problems += release(planned)
    if not applied.outcomes and has_errors(applied.diagnostics) and is_denial(applied.diagnostics):
        diagnostics = diagnostics_json([*applied.diagnostics, *problems])
        return evolve(short, result="denied", diagnostics=diagnostics, text=terminal.stdout.getvalue())
    done = _applied(request, applied, terminal, problems)
    return applied_as(done, short)


def _applied(request: Request, applied: Applied, terminal: Any, more: list[Diagnostic] | None = None) -> UnitResult:
    problems = [*applied.diagnostics, *(more or ())]
    failed = "stopped" if STOP.requested else "error"
    is_partial = any(d.code == "apply.deferred" for d in applied.diagnostics)
    result = UnitResult(
        request.unit,
        failed if has_errors(problems) else "applied",
        applied.counts,
        is_partial=is_partial,
        diagnostics=diagnostics_json(problems),
        text=terminal.stdout.getvalue(),
        outcomes=tuple((name, one.kind, one.error) for name, one in applied.outcomes.items()),
    )
    if applied.state is not None:
        result = evolve(result, lineage=applied.state.lineage, serial=applied.state.serial)
    if request.is_read and applied.state is not None and result.result == "applied":
        return _with_recorded(result, applied.state)
    return result


def _with_recorded(result: UnitResult, state: State) -> UnitResult:
    return evolve(result, planned=state_outputs(state))


def _state(request: Request) -> UnitResult:
    """Read the unit's state. The result has its lineage and serial and, in `text`, the version that wrote it and the
    holder of its lock. If the request has an approved plan that was applied, the result is "applied". If the request
    has `is_read`, the result contains the outputs. Raises Failure."""
    request = with_recipe(request)
    with surrounded(request):
        options = options_of(request)
        if IDENTITIES in request.facts and is_new(reading := read_configuration(options)):
            set_up(request, reading)
        stored = load_stored(options, Diagnostics())
        holder = stored.store.lock_holder()
        facts = {}
        if IDENTITIES in request.facts:
            from planner.operations.discover import known_objects

            facts = {IDENTITIES: [one.row for one in known_objects(stored, request.unit)]}
    is_applied = bool(request.approved_file) and _is_applied(request, stored)
    written = f"written by version {stored.state.terraform_version}" if stored.state.terraform_version else ""
    text = ", ".join(filter(None, (written, f"locked{holder}" if holder else "")))
    lineage, serial = stored.state.lineage, stored.state.serial
    result = UnitResult(request.unit, "no-changes", lineage=lineage, serial=serial, text=text, facts=facts)
    if is_applied:
        result = evolve(result, result="applied")
    return _with_recorded(result, stored.state) if request.is_read else result


def _is_applied(request: Request, stored: Stored[OperationOptions]) -> bool:
    from planner.workflows.batch.approval_check import is_applied

    return is_applied(request.approved_file, stored)


_REMOTE = BodySchema({"backend": False, "config": False, "workspace": False})
_PROVIDER = "terraform.io/builtin/terraform"


def survey(unit: str, reading: ConfigurationReading[StateOptions], folder: str) -> Survey:
    """The survey of a loaded configuration; the working directory is the unit's directory. `folder`: prefix of the
    paths in source locations."""
    begun, config, problems = reading.begun, reading.config, list(reading.problems)
    if config is None:
        # planning reports the problems; the readable part still shows dependencies
        config, _ = load_tree(".", variables=begun.given, workspace=begun.workspace, locate=lambda *_: None)
        problems = []
    kind, settings = "local", dict[str, Any]()
    if config.root.backend is not None:
        kind = config.root.backend.type
        schema = schema_of(kind)
        if schema is not None:
            settings, more = backend_settings(config, begun.given, schema, begun.workspace)
            problems += more
        pointer, more = read_pointer(data_folder(begun.options.directory))
        problems += more
        if pointer is not None and pointer.type == kind:
            # init may have received settings that the block does not contain
            settings = {**settings, **pointer.settings}
    state = "" if has_errors(problems) else state_identity(kind, settings, begun.workspace)
    remote = tuple(_remote_reads(config, begun, folder))
    files = [os.path.abspath(name) for name in config.files]
    files += [os.path.abspath(raw.span.filename) for raw in begun.given.values() if raw.span is not None]
    backend = config.root.backend
    place = FileLocation.below(folder, backend.span) if backend is not None else None
    outputs = tuple(sorted(config.root.outputs)) if reading.config is not None else None
    variables = tuple(sorted(config.root.variables)) if reading.config is not None else None
    return Survey(unit, state, remote, tuple(sorted(set(files))), diagnostics_json(problems), place, outputs, variables)


def _remote_reads(config: Config, begun: RunInputs[StateOptions], folder: str) -> list[RemoteRead]:
    """The `terraform_remote_state` data sources of all modules, with the states that they read. `state` is "" if only
    planning can determine the state."""
    reads: list[RemoteRead] = []
    for path, module, scope in module_scopes(config.root, given_values(begun.given), begun.workspace):
        for key in sorted(module.resources):
            decl = module.resources[key]
            if decl.mode != "data" or decl.type != remote_state.NAME:
                continue
            if module.provider_source(decl.provider_name) != _PROVIDER:
                continue
            content, _ = decl.body.partial_content(_REMOTE)
            at = content.attributes.get("config")
            place = FileLocation.below(folder, at.span if at is not None else decl.span)
            for instance, inner in repeated_scopes(decl, scope):
                reads.append(RemoteRead(f"{join(path, key)}{instance}", _state_read(content, inner), place))
    return reads


def _state_read(content: Content, scope: StaticScope) -> str:
    """The state that a data source reads; "" if only planning can determine it."""
    values: dict[str, Value] = {}
    for name, attribute in content.attributes.items():
        problems = Problems()
        value = constant(scope, expr_of(attribute, problems), problems)
        if value is None:
            return ""
        values[name] = value
    if "backend" not in values:
        return ""
    return remote_state.source({"config": Null(DYNAMIC), "workspace": Null(DYNAMIC), **values}) or ""
