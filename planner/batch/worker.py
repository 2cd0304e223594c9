"""One unit's work, in whatever process it happens: a request in, a result out, nothing else kept.

Planning reads relative to the working directory and the environment, which belong to the process: both are set for the
time of one unit and put back, one unit at a time (`_ALONE`).
"""

from __future__ import annotations

import gc
import io
import os
import sys
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import TYPE_CHECKING, Any

from attrs import evolve

from planner import DEPTH, DIGITS
from planner.batch.described import described
from planner.batch.model import Request, Result, Survey
from planner.batch.reads import RECORDER, entries
from planner.batch.workplace import Unmet
from planner.config.secrecy import is_secret_directory
from planner.policy.standing import OWN, own
from planner.support.disk import replace_file
from planner.support.fast_json import orjson
from planner.support.files_read import service_reads
from planner.vocabulary.diagnostic import Diagnostic, Failure, error, has_errors

if TYPE_CHECKING:
    from planner.model.plan import Plan, ResourceChange
    from planner.operations.apply import Applied
    from planner.operations.loading import Reading
    from planner.operations.options import OperationOptions
    from planner.operations.plan import Made, Planned, Start
    from planner.plan.options import ComingState
    from planner.render.summary import Counts
    from planner.state.backend import Store
    from planner.state.model import State
    from planner.vocabulary.walks import Mode

_ALONE = threading.RLock()
HIDDEN = "(sensitive)"
"""what stands in facts in the place of sensitive values"""
NOT_INSTALLED = "config.module_not_installed"
OWN_RULES = os.path.join(".planner", "rules")
"""where a unit has rules of its own"""


def _nothing() -> None:
    pass


_before_changes: Callable[[], None] = _nothing


def run_unit(request: Request, before_changes: Callable[[], None] = _nothing) -> Result:
    """Plan, apply, destroy or validate one unit. What goes wrong is in the result; nothing is raised but the Unmet that
    `before_changes` raises, which is called when all is read and before anything is changed."""
    global _before_changes
    begin, used, started = time.monotonic(), time.process_time(), time.time()
    with _ALONE, _home(request), RECORDER.recording() as paths:
        if os.path.isabs(request.state):
            RECORDER.look(request.state)  # it is read through its lock, which opens it for writing
        secret = is_secret_directory(".")
        _before_changes = before_changes
        before = service_reads()
        try:
            if request.command == "state":
                result = _state(request)
            else:
                result = _run(request) if request.recipe is None else _carried_out(request)
        except Failure as failure:
            result = _failed(request, failure.diagnostics)
        except Unmet:
            raise
        except Exception as problem:
            detail = f"{type(problem).__name__}: {problem}. This is a mistake in planner: please report it."
            result = _failed(request, [error("batch.internal", "Internal error", detail)])
        looked_at = dict(paths)
    reads = entries(looked_at, request.foreign_states) or []
    _tidy()
    return evolve(
        result,
        seconds=time.monotonic() - begin,
        cpu=time.process_time() - used,
        memory=_peak(),
        reads=reads,
        is_secret=secret,
        asks_services=service_reads() > before,
        made_at=started,
    )


def survey_units(requests: list[Request], folders: list[str]) -> list[Survey]:
    """What the configurations of some units say by themselves."""
    return [_survey(request, folder) for request, folder in zip(requests, folders, strict=True)]


def _survey(request: Request, folder: str) -> Survey:
    from planner.batch.survey import survey
    from planner.operations.backends import data_folder
    from planner.operations.init import stays_as_it_is
    from planner.operations.loading import read_configuration

    with _ALONE, _home(request), RECORDER.recording() as paths:
        try:
            request = _with_recipe(request)
            with _surrounded(request):
                reading, is_whole = read_configuration(_options(request)), True
                if _is_new(reading) and not (request.recipe is not None and request.recipe.refusals):
                    try:
                        _set_up(request, reading)
                    except Failure:  # its plan says why; who waits for it is known without
                        is_whole = False
                    if stays_as_it_is(reading):
                        RECORDER.look_again(data_folder(reading.begun.options.directory))
                    else:
                        RECORDER.begin_again()  # what it was like before does not matter
                        reading = read_configuration(_options(request))
                made = survey(request.unit, reading, folder)
        except Failure as failure:
            made = Survey(request.unit, "", problems=described(failure.diagnostics))
            is_whole = False
        looked_at = dict(paths)
        if made.problems and is_secret_directory("."):
            is_whole = False  # what they say is not for the cache
    return evolve(made, reads=(entries(looked_at) or []) if is_whole else [])


# ---------------------------------------------------------------- surroundings


@contextmanager
def _home(request: Request) -> Iterator[None]:
    """The working directory and the environment of a unit; depth and digits as a command has them."""
    here = os.getcwd()
    depth, digits, collecting = sys.getrecursionlimit(), sys.get_int_max_str_digits(), gc.isenabled()
    wanted = dict(request.environment)
    if request.workspace:
        wanted["TF_WORKSPACE"] = request.workspace
    before = {name: os.environ.get(name) for name in wanted}
    try:
        gc.disable()
        sys.setrecursionlimit(max(depth, DEPTH))
        sys.set_int_max_str_digits(DIGITS)
        os.environ.update(wanted)
        os.chdir(request.directory)
        yield
    finally:
        os.chdir(here)
        for name, value in before.items():
            if value is not None:
                os.environ[name] = value
            else:
                os.environ.pop(name, None)
        sys.setrecursionlimit(depth)
        sys.set_int_max_str_digits(digits)
        if collecting:
            gc.enable()


_since_tidy = 0


def _tidy() -> None:
    """Look for garbage now and then, among what is new: what units leave in circles would add up over thousands."""
    global _since_tidy
    _since_tidy += 1
    if _since_tidy >= 100:
        _since_tidy = 0
        gc.collect(0)


def _peak() -> int:
    """The most memory that this process has had, in bytes."""
    import resource

    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak if sys.platform == "darwin" else peak * 1024


# ---------------------------------------------------------------- options


def _options(request: Request) -> OperationOptions:
    from planner.operations.options import OperationOptions

    given, coming = _made_of(request)
    return OperationOptions(
        directory=".",
        var_args=(*(("var-file", file) for file in request.var_files), *_arguments(request), *request.var_args),
        mode=_mode(request),
        targets=request.targets,
        replace=request.replace,
        refresh=request.refresh,
        parallelism=request.parallelism,
        lock=request.lock,
        lock_timeout=request.lock_timeout,
        rules=request.rules or ((OWN_RULES,) if os.path.isdir(OWN_RULES) else ()),
        policies=own("."),
        standing_policies=request.policies,
        inputs=given,
        surrounding=request.given,
        coming_states=coming,
    )


def _mode(request: Request) -> Mode:
    if request.command == "destroy":
        return "destroy"
    return "refresh-only" if request.mode == "refresh-only" else "normal"


def _made_of(request: Request) -> tuple[dict[str, Any], dict[str, ComingState]]:
    """The values of variables that the fleet gives, and the states that units before this one are going to write.
    Raises Failure."""
    if not (request.inputs or request.variables or request.upstream):
        return {}, {}
    return _from_other_units(request)


def _arguments(request: Request) -> tuple[tuple[str, str], ...]:
    """What belongs to the unit as options of a command line would give it."""
    if request.recipe is None or not request.recipe.arguments:
        return ()
    return _fitting(request)


def _fitting(request: Request) -> tuple[tuple[str, str], ...]:
    from planner.batch.carry_out import fitting_arguments

    return fitting_arguments(request)


def _from_other_units(request: Request) -> tuple[dict[str, Any], dict[str, ComingState]]:
    from planner.batch.inputs import coming_states, inputs

    return inputs(request), coming_states(request)


def set_up_unit(request: Request) -> None:
    """What `init` does, for a unit that was never set up here. Raises Failure."""
    from planner.operations.loading import read_configuration

    with _ALONE, _home(request):
        reading = read_configuration(_options(request))
        if _is_new(reading):
            _set_up(request, reading)


def store_of_unit() -> Store | None:
    """The store in a service that `init` has set up for the unit in work; None when it is something else."""
    from planner.operations.backends import data_folder
    from planner.state.backend import open_backend
    from planner.state.pointer import read_pointer
    from planner.state.workspace import current_workspace

    pointer, _ = read_pointer(data_folder("."))
    backend, _ = open_backend(pointer.type, pointer.settings) if pointer is not None else (None, [])
    return backend.store(current_workspace(".", os.environ)[0]) if backend is not None else None


def _is_new(reading: Reading[OperationOptions]) -> bool:
    """Whether the unit was never set up: its modules or providers are not installed, or its backend is not chosen."""
    from planner.operations.backends import data_folder
    from planner.operations.providers_needed import selection_problems
    from planner.state.pointer import read_pointer

    config, directory = reading.config, reading.begun.options.directory
    if any(d.code == NOT_INSTALLED for d in reading.problems):
        return True
    if config is None:
        return False
    if config.root.backend is not None and read_pointer(data_folder(directory)) == (None, []):
        return True
    return bool(selection_problems(config, directory))


def _set_up(request: Request, reading: Reading[OperationOptions]) -> None:
    """What `init` does. Raises Failure."""
    from planner.operations.init import init

    problems = init(_options(request), read=reading)
    if has_errors(problems):
        raise Failure(problems)


def _with_recipe(request: Request) -> Request:
    """A request whose recipe is ready, for looking at the configuration. Raises Failure."""
    if request.recipe is None:
        return request
    return _looked_at(request)


def _surrounded(request: Request) -> AbstractContextManager[None]:
    """The environment that belongs to the unit. Raises Failure."""
    return nullcontext() if request.recipe is None else _own_surroundings(request)


def _own_surroundings(request: Request) -> AbstractContextManager[None]:
    from planner.batch.carry_out import surrounded

    return surrounded(request)


def _looked_at(request: Request) -> Request:
    from planner.batch.carry_out import looked_at

    return looked_at(request)


# ---------------------------------------------------------------- the work


def _outputs_of(request: Request, unit: str) -> Any:
    from planner.batch.inputs import outputs

    return outputs(request, unit)


def _carried_out(request: Request) -> Result:
    """The work with what belongs around it. Raises Failure."""
    from planner.batch.carry_out import carry_out

    return carry_out(request, lambda unit: _outputs_of(request, unit), _run)


def _run(request: Request) -> Result:
    from planner.support.signals import STOP

    if STOP.requested:
        return Result(request.unit, "stopped")
    options = _options(request)
    for folder in (OWN_RULES, OWN):
        RECORDER.look(folder, "folder")
    if request.command == "validate":
        return _validate(request, options)
    if request.command == "apply_plan":
        return _apply_plan(request, options)
    if request.command == "plan" or request.plan_file:
        return _plan(request, options)
    return _apply(request, options)


def _log() -> tuple[Any, Any]:
    """A terminal that writes into memory, and hooks that write to it."""
    from planner.render.hooks_human import HumanHooks
    from planner.render.terminal import Terminal

    stream = io.StringIO()
    terminal = Terminal(stdin=io.StringIO(), stdout=stream, stderr=stream, colour=False)
    return terminal, HumanHooks(terminal)


def _planned(request: Request, options: OperationOptions, hooks: Any, to_apply: bool = False) -> Planned[Start]:
    from planner.operations.loading import read_configuration
    from planner.operations.plan import plan, release

    planned = plan(options, hooks, to_apply)
    if planned.complete is None and _is_new(reading := read_configuration(options)):
        release(planned)
        _set_up(request, reading)
        planned = plan(options, hooks, to_apply)
    try:
        _before_changes()
    except BaseException:
        release(planned)
        raise
    return planned


def _plan(request: Request, options: OperationOptions) -> Result:
    from planner.operations.plan_files import save_plan
    from planner.walk.hooks import Hooks

    planned = _planned(request, evolve(options, records_values=bool(request.plan_file)), Hooks())
    if planned.complete is None:
        return _failed(request, planned.diagnostics)
    made, problems = _judged(planned.complete)
    told = _strictly([*planned.diagnostics, *problems])
    if has_errors(told):
        return _failed(request, told)
    if request.json_file:
        _write_json(made, request.json_file)
    result = _of_plan(request, made, told)
    if request.approved_file:
        result = _compared(request, made, result)
    if request.plan_file and _is_kept(request, result):
        problems = save_plan(made, request.plan_file, 0o600)
        if has_errors(problems):
            return _failed(request, problems)
        result = evolve(result, plan_file=request.plan_file)
    return result


def _is_kept(request: Request, result: Result) -> bool:
    """Whether a plan file is written: a complete plan has one, and an incomplete one if somebody is going to see it."""
    if result.rests_on:
        return request.keeps_incomplete
    return result.result == "changes"


def _compared(request: Request, made: Made[Start], result: Result) -> Result:
    """The result with what is not as in the plan that was approved. Raises Failure."""
    from planner.batch.agreement import differences

    return evolve(result, differs=differences(request.approved_file, made))


def _strictly(told: list[Diagnostic]) -> list[Diagnostic]:
    """What the command line names in a unit and is not there is an error: among many units nobody sees a warning."""
    return [evolve(d, severity="error") if d.code == "plan.unmatched_address" else d for d in told]


def _write_json(made: Made[Start], path: str) -> None:
    """Write plan JSON. Raises Failure."""
    from planner.documents.json_plan import plan_json

    document = plan_json(made.plan, made.loaded.config, made.loaded.schemas.schema)
    try:
        replace_file(path, orjson.dumps(document), 0o600, durable=False)
    except OSError as problem:
        detail = f"{path}: {problem.strerror or problem}."
        raise Failure(error("batch.json", "Plan JSON cannot be written", detail)) from None


def _judged(made: Made[Start]) -> tuple[Made[Start], list[Diagnostic]]:
    """The plan with what policies say about it."""
    if not made.loaded.options.judges:
        return made, []
    return _judged_by_policies(made)


def _judged_by_policies(made: Made[Start]) -> tuple[Made[Start], list[Diagnostic]]:
    from planner.operations import policies

    made, verdict, problems = policies.judged(made)
    return made, [*problems, *(policies.diagnostics(verdict) if verdict is not None else ())]


def _of_plan(request: Request, made: Made[Start], told: Iterable[Diagnostic]) -> Result:
    """A finished plan in short."""
    from planner.render.summary import Counts

    plan = made.plan
    counts = Counts.of_plan(plan)
    short = Result(
        request.unit,
        "changes" if plan.can_apply else "no-changes",
        _counts(plan, counts),
        _changes(plan),
        tuple((o.name, o.action) for o in plan.outputs if o.action != "no-op"),
        described(list(told)),
        text=_text(made) if request.text else "",
        facts=_facts(request, made) if request.facts else {},
        asks_plugins=_asks_plugins(made),
        lineage=plan.previous_state.lineage,
        serial=plan.previous_state.serial,
    )
    return _with_outputs(request, made, short) if request.is_read or request.upstream else short


def _with_outputs(request: Request, made: Made[Start], short: Result) -> Result:
    """The result with what the plan makes of outputs: its own, for those who read them, and those that it saw."""
    from planner.batch.planned import with_outputs

    options, declared = made.loaded.options, made.loaded.config.root.variables
    around = {name: value for name, value in options.surrounding.items() if name in declared}
    return with_outputs(request, made.plan, {**around, **options.inputs}, short)


def _asks_plugins(made: Made[Start]) -> bool:
    """Whether any provider but the builtin one has to do with a plan."""
    from planner.operations.providers_needed import needed_providers
    from planner.vocabulary.provider_address import BUILTIN

    used = needed_providers(made.loaded.config).started
    return bool(used - {BUILTIN}) or any(BUILTIN not in r.provider for r in made.plan.prior_state.resources.values())


def _counts(plan: Plan, counts: Counts) -> tuple[int, int, int, int, int]:
    if plan.mode != "refresh-only":
        return (counts.add, counts.change, counts.remove, counts.imports, counts.forget)
    gone = sum(c.action == "delete" for c in plan.drift)
    return (0, sum(c.action != "no-op" for c in plan.drift) - gone, gone, 0, 0)


def _changes(plan: Plan) -> tuple[tuple[str, str, str], ...]:
    """What a plan does to objects, or, if it only compares them with the state, what others did."""
    if plan.mode == "refresh-only":
        return tuple((c.address, c.action, "drift") for c in plan.drift if c.action != "no-op")
    return tuple((c.address, c.action, c.reason) for c in plan.changes if _is_shown(c))


def _is_shown(change: ResourceChange) -> bool:
    """Data that merely go away are no news."""
    from planner.programs.actions import does

    return change.action != "no-op" and (change.mode == "managed" or not does(change.action, "ends"))


def _text(made: Made[Start]) -> str:
    """The plan as `planner plan` shows it."""
    from planner.render.plan import PlanText
    from planner.render.schema_lookup import SchemaLookup

    terminal, _ = _log()
    PlanText(made.plan, SchemaLookup(made.loaded.schemas).resource_schema, terminal, False).show()
    return str(terminal.stdout.getvalue())


def _apply(request: Request, options: OperationOptions) -> Result:
    """Plan and apply at once; the state stays locked in between."""
    from planner.operations.apply import apply
    from planner.operations.plan import release

    terminal, hooks = _log()
    planned = _planned(request, options, hooks, to_apply=True)
    problems: list[Diagnostic] = []
    try:
        made = planned.complete
        if made is None:
            return _failed(request, planned.diagnostics, terminal)
        if not made.plan.can_apply:
            return evolve(_of_plan(request, made, planned.diagnostics), text=terminal.stdout.getvalue())
        tainted = [c.address for c in made.plan.changes if c.reason == "replace_because_tainted"]
        if tainted and request.spares_tainted:
            return _spared(request, planned.diagnostics, tainted)
        applied = apply(options, planned, hooks)
    finally:
        problems += release(planned)
    done = _applied(request, applied, terminal, problems)
    short = _of_plan(evolve(request, facts=()), made, planned.diagnostics)
    return evolve(done, changes=short.changes, outputs=short.outputs)


def _spared(request: Request, told: Iterable[Diagnostic], tainted: list[str]) -> Result:
    """What is said instead of replacing objects that a process was making when it died."""
    names = "".join(f"\n  - {address}" for address in tainted)
    detail = (
        f"A process died while it made these objects of {request.unit}, so they are tainted, and applying would "
        f"destroy them and make them anew:{names}\n\nNothing more was done. Look at them; then apply again to replace "
        "them, or keep them with `planner untaint`."
    )
    said = error("batch.tainted", "Tainted objects are not replaced unasked", detail)
    return Result(request.unit, "tainted", diagnostics=described([*told, said]))


def _applied(request: Request, applied: Applied, terminal: Any, more: list[Diagnostic] | None = None) -> Result:
    from planner.support.signals import STOP

    counts, problems = applied.counts, [*applied.diagnostics, *(more or ())]
    failed = "stopped" if STOP.requested else "error"
    result = Result(
        request.unit,
        failed if has_errors(problems) else "applied",
        (counts.add, counts.change, counts.remove, counts.imports, counts.forget),
        diagnostics=described(problems),
        text=terminal.stdout.getvalue(),
    )
    if request.is_read and applied.state is not None and result.result == "applied":
        return _with_recorded(result, applied.state)
    return result


def _with_recorded(result: Result, state: State) -> Result:
    from planner.batch.planned import recorded

    return evolve(result, planned=recorded(state))


def _state(request: Request) -> Result:
    """What the unit's state is by now: its lineage and serial, and as text what wrote it and who is at work on it."""
    from planner.operations.storing import load_stored
    from planner.vocabulary.told import Told

    request = _with_recipe(request)
    with _surrounded(request):
        stored = load_stored(_options(request), Told())
        holder = stored.store.lock_holder()
    written = f"written by version {stored.state.terraform_version}" if stored.state.terraform_version else ""
    said = ", ".join(filter(None, (written, f"locked{holder}" if holder else "")))
    return Result(request.unit, "no-changes", lineage=stored.state.lineage, serial=stored.state.serial, text=said)


def _validate(request: Request, options: OperationOptions) -> Result:
    from planner.operations.validate import validate

    problems = validate(options)
    _before_changes()
    return _validated(request, problems)


def _apply_plan(request: Request, options: OperationOptions) -> Result:
    from planner.operations.apply import apply

    _before_changes()
    log, hooks = _log()
    return _applied(request, apply(options, request.plan_file, hooks), log)


def _validated(request: Request, problems: list[Diagnostic]) -> Result:
    result = "error" if has_errors(problems) else "no-changes"
    return Result(request.unit, result, diagnostics=described(problems))


def _failed(request: Request, problems: Any, terminal: Any = None) -> Result:
    from planner.support.signals import STOP

    result = "stopped" if STOP.requested else "error"
    text = terminal.stdout.getvalue() if terminal is not None else ""
    return Result(request.unit, result, diagnostics=described(list(problems)), text=text)


# ---------------------------------------------------------------- facts

_POLICY_NAMES = {
    "unit_change": "action",
    "kind_of": "change",
    "unit_reason": "reason",
    "unit_planned": "planned",
    "unit_prior": "prior",
    "unit_configured": "configured",
    "unit_unknown_after": "unknown_after",
    "unit_output": "output",
    "unit_maybe": "maybe",
    "unit_maybe_exact": "maybe_exact",
    "unit_maybe_open": "maybe_open",
}
"""relations of rules/batch/contents.dl, and those of rules/policy/inputs.dl that they are made from"""


def _facts(request: Request, made: Made[Start]) -> dict[str, list[list[Any]]]:
    """The rows of the wanted relations, without the unit. Sensitive values are left out."""
    from planner.datalog.front.values import decode, sorted_rows
    from planner.policy.facts.build import plan_facts
    from planner.policy.facts.relations import Reads

    wanted = {name: _POLICY_NAMES[name] for name in request.facts if name in _POLICY_NAMES}
    reads = Reads(frozenset({*wanted.values(), "sensitive_at"}))

    def graph() -> Any:
        raise AssertionError("none of these relations reads the graph")

    facts = plan_facts(made.plan, made.loaded.config, reads, graph)
    found: dict[str, list[list[Any]]] = {}
    for name, source in wanted.items():
        rows = []
        for row in sorted_rows(facts.relation(source)):
            plain = [_plain(decode(value)) for value in row]
            if name == "kind_of":
                plain = [plain[0], plain[5], plain[1]]
            elif name == "unit_output":
                plain = plain[1:]
            elif source in ("planned", "prior", "configured") and (row[0], row[1]) in facts.hidden:
                plain[2] = HIDDEN
            rows.append(plain)
        found[name] = rows
    return found


def _plain(value: Any) -> Any:
    """A value of a row for JSON; a decimal that is no float as an object."""
    return {"decimal": str(value)} if value.__class__.__name__ == "Decimal" else value
