"""Plans and applies in workspaces whose runs are executed on a server."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, TypeAlias

from planner.answers.documents.plan_from_json import JsonPlan
from planner.engine.plan.generation import write_generated
from planner.foundation.support.signals import STOP
from planner.foundation.values.expression_text import expression_text
from planner.foundation.vocabulary.diagnostic import (
    Diagnostic,
    Diagnostics,
    Failure,
    ServiceError,
    error,
    has_errors,
    warning,
)
from planner.foundation.vocabulary.limits import Mode
from planner.foundation.vocabulary.records import field, frozen
from planner.language.config.variables import root_variables
from planner.operations.load import Loaded, load
from planner.operations.options import OperationOptions
from planner.operations.state_access import Opened, open_backend
from planner.world.state.remote.run_reports import Reports, log_line
from planner.world.state.remote.runs import (
    FINAL,
    PENDING,
    SAVED,
    WAITING,
    SavedRun,
    ServerRun,
    attributes,
    start_run,
    upload_root,
)
from planner.world.state.remote.tfe import TfeStore

if TYPE_CHECKING:
    from planner.operations.explanations import Chains
    from planner.operations.plan import MadePlan

PARALLELISM = OperationOptions().parallelism
_GIVEN = frozenset(("command line", "named file", "environment"))
"""the origins of variable values that must be sent to the server; the server itself reads all other values"""
_ENDED_WELL = frozenset(("confirmed", "apply_queued", "applying", "applied"))
_QUIET = frozenset(("pending", "plan_queued", "planning", "planned", "applying", "apply_queued", "confirmed", SAVED))
_UNFIT = {
    "applied": "it is already applied",
    "applying": "it is being applied",
    "apply_queued": "it is being applied",
    "confirmed": "it is being applied",
    "canceled": "it was cancelled",
    "discarded": "it was discarded by a user, or because another run was applied first",
    "errored": "its plan failed",
    "planned_and_finished": "it has no changes",
    "policy_override": "it failed policies, which a user with permission must override first",
}


Explain: TypeAlias = "Callable[[], tuple[MadePlan[Any], Chains] | None]"
"""a function that returns a plan with its certain causes, or None"""


@frozen(eq=False)
class RemoteView:
    """Functions that show a run on a server to the user, and prompt the user. `line` receives each line of the log.
    `plan` receives the plan, if the server provides it as JSON, and a function that returns the plan with its causes.
    `approve` receives the name of the workspace, and returns whether to apply the plan. `override` receives a prompt
    about failed policies, and returns whether to override them."""

    line: Callable[[str], None]
    plan: Callable[[JsonPlan, Explain], None]
    approve: Callable[[str], bool]
    override: Callable[[str], bool]


@frozen
class RemoteResult:
    """The outcome of a run on a server."""

    has_changes: bool = False
    applied: bool = False
    diagnostics: tuple[Diagnostic, ...] = ()
    run_id: str = ""


@frozen(eq=False)
class FollowedRun:
    """A run on a server, and the data needed to follow it."""

    run: ServerRun
    opened: Opened[OperationOptions]
    store: TfeStore
    options: OperationOptions
    view: RemoteView
    told: list[Diagnostic] = field(factory=list)

    @property
    def reports(self) -> Reports:
        return Reports(self.run, self.view.line, self.view.override)


def remote_run(options: OperationOptions, to_apply: bool, view: RemoteView, save_to: str = "") -> RemoteResult:
    """Plan, or plan and apply, on the server, and follow the run until its end. `save_to`: the file in which the ID of
    the run is stored for a later apply; "" for none."""
    diagnostics = Diagnostics()
    result = RemoteResult()
    with diagnostics.until_an_error():
        loaded = load(options, diagnostics)
        opened, store = _store(loaded, diagnostics)
        diagnostics.check(_unsupported(options, store, save_to))
        given = _attributes(loaded, to_apply, bool(save_to), diagnostics)
        with _service():
            result = _carry_out(opened, store, given, to_apply, view)
        if save_to and not has_errors(result.diagnostics):
            _save(result, store, save_to)
    return RemoteResult(result.has_changes, result.applied, (*diagnostics, *result.diagnostics), result.run_id)


def apply_saved_run(options: OperationOptions, saved: SavedRun, view: RemoteView) -> RemoteResult:
    diagnostics = Diagnostics()
    result = RemoteResult()
    with diagnostics.until_an_error():
        opened, store = _store(load(options, diagnostics), diagnostics)
        with _service():
            run = _saved_run(store, saved, options)
            state = attributes(run.read())
            if not (state.get("actions") or {}).get("is-confirmable"):
                reason = _UNFIT.get(str(state.get("status")), "it does not wait for an approval")
                detail = f"The saved plan cannot be applied: {reason}. See {run.page}"
                raise Failure(error("remote.saved", "Saved plan cannot be applied", detail))
            view.line(f"The run can also be followed in a browser:\n{run.page}\n")
            result = _followed(FollowedRun(run, opened, store, options, view), _apply)
    return RemoteResult(result.has_changes, result.applied, (*diagnostics, *result.diagnostics), result.run_id)


@frozen(eq=False)
class SavedRunShown:
    """A saved run. `plan`: its plan without sensitive values. `document`: the plan JSON of the server with all values,
    if it was requested; then `plan` is None."""

    plan: JsonPlan | None
    page: str
    status: str
    document: bytes | None


def show_saved_run(
    options: OperationOptions, saved: SavedRun, as_json: bool
) -> tuple[SavedRunShown | None, list[Diagnostic]]:
    diagnostics = Diagnostics()
    with diagnostics.until_an_error():
        _, store = _store(load(options, diagnostics), diagnostics)
        with _service():
            run = _saved_run(store, saved, options)
            state = attributes(run.read())
            mode: Mode = "refresh-only" if state.get("refresh-only") else "normal"
            mode = "destroy" if state.get("is-destroy") else mode
            data = run.plan_json(redacted=not as_json)
            confirmable = (state.get("actions") or {}).get("is-confirmable")
            status = f"{str(state.get('status')).replace('_', ' ')} ({'' if confirmable else 'not '}confirmable)"
            document = data if as_json else None
            return SavedRunShown(None if as_json else _plan(data, mode), run.page, status, document), diagnostics
    return None, diagnostics


@contextmanager
def _service() -> Iterator[None]:
    """A context for requests to a server, in which a ServiceError becomes a Failure."""
    try:
        yield
    except ServiceError as problem:
        raise Failure(error("remote.run", "The run on the server cannot be followed", problem.text)) from None


def _store(loaded: Loaded[OperationOptions], diagnostics: Diagnostics) -> tuple[Opened[OperationOptions], TfeStore]:
    opened = open_backend(loaded, diagnostics)
    diagnostics.check()
    if not isinstance(opened.store, TfeStore):
        detail = "The file names a run on a server, but the configuration has no cloud block for that server."
        raise Failure(error("remote.saved", "Saved plan of a remote run", detail))
    return opened, opened.store


def _unsupported(options: OperationOptions, store: TfeStore, save_to: str) -> list[Diagnostic]:
    """An error that lists the options that runs on the server do not support; empty if there are none."""
    wrong = []
    if store.client.organization.kind == "remote":
        if options.var_args:
            wrong.append(
                "variables (set them in the workspace, or in a file *.auto.tfvars; a cloud block supports them)"
            )
        if save_to:
            wrong.append("-out (a cloud block supports it)")
    if options.limits.excludes:
        wrong.append("-exclude")
    if options.minimal_refresh:
        wrong.append("-minimal-refresh")
    if options.judges:
        wrong.append(
            "-policy" if options.policies else "policies that apply to every plan (.planner/policies, PLANNER_POLICIES)"
        )
    if options.parallelism != PARALLELISM:
        wrong.append("-parallelism")
    if not wrong:
        return []
    detail = f"The workspace runs plans on its server, where these options have no effect: {', '.join(wrong)}."
    return [error("remote.options", "Options not supported by remote runs", detail)]


def _attributes(
    loaded: Loaded[OperationOptions], to_apply: bool, saves: bool, diagnostics: Diagnostics
) -> dict[str, Any]:
    """The attributes of the new run, for the API of the server."""
    options, declared = loaded.options, loaded.config.root.variables
    named = {name: declared[name] for name in loaded.given if name in declared}
    values = diagnostics.take(root_variables(named, loaded.given))
    variables = [
        {"key": name, "value": expression_text(value.value)}
        for name, value in sorted(values.items())
        if value.origin in _GIVEN and not loaded.given[name].is_computed
    ]
    given: dict[str, Any] = {
        "message": "Queued by planner",
        "is-destroy": options.mode == "destroy",
        "refresh-only": options.mode == "refresh-only",
        "refresh": options.refresh,
        "target-addrs": [str(address) for address in options.limits.targets],
        "replace-addrs": [str(address) for address in options.limits.replace],
        "plan-only": not (to_apply or saves),
        "auto-apply": False,
    }
    if saves:
        given["save-plan"] = True
    if variables:
        given["variables"] = variables
    if options.generate_config_out:
        given["allow-config-generation"] = True
    return given


def _carry_out(
    opened: Opened[OperationOptions], store: TfeStore, given: Mapping[str, Any], to_apply: bool, view: RemoteView
) -> RemoteResult:
    client, options = store.client, opened.options
    folder = upload_root(options.directory, client.working_directory)
    run = start_run(client.organization.api, client.ensure(), folder, given, _page(store), _check(options))
    view.line(f"The run can also be followed in a browser:\n{run.page}\n")
    return _followed(FollowedRun(run, opened, store, options, view), _plan_and_apply if to_apply else _plan_only)


def _page(store: TfeStore) -> str:
    organization = store.client.organization
    return f"https://{organization.host}/app/{organization.name}/workspaces/{store.client.name}"


def _check(options: OperationOptions) -> Callable[[ServerRun], None]:
    """A function that is called repeatedly while waiting for the run. It raises ServiceError after an interrupt. If the
    run has not begun within -lock-timeout, it cancels the run and raises ServiceError."""
    started, looks = time.monotonic(), options.lock_timeout > 0

    def check(run: ServerRun) -> None:
        nonlocal looks
        if STOP.requested:
            raise ServiceError("interrupted")
        if looks and time.monotonic() - started > options.lock_timeout:
            looks = False
            if attributes(run.read()).get("status") == PENDING:
                run.act("cancel")
                raise ServiceError("the run did not begin within -lock-timeout, so it was cancelled")

    return check


def _saved_run(store: TfeStore, saved: SavedRun, options: OperationOptions) -> ServerRun:
    """The run whose ID a plan file contains. Raises Failure if the run belongs to a different server or workspace."""
    client = store.client
    if saved.hostname != client.organization.host:
        detail = f"The file names a run on {saved.hostname}, but the configuration uses {client.organization.host}."
        raise Failure(error("remote.saved", "Saved plan of another server", detail))
    run = ServerRun(client.organization.api, saved.run_id, f"{_page(store)}/runs/{saved.run_id}", _check(options))
    workspace = run.related("workspace")
    if workspace and workspace[0] != client.ensure():
        detail = f"The run {saved.run_id} does not belong to the workspace {client.organization.name}/{client.name}."
        raise Failure(error("remote.saved", "Saved plan of another workspace", detail))
    return run


def _save(result: RemoteResult, store: TfeStore, path: str) -> None:
    try:
        SavedRun(result.run_id, store.client.organization.host).write(path)
    except OSError as problem:
        detail = f"{path}: {problem.strerror or problem}."
        raise Failure(error("plan_file.write", "Cannot write the plan file", detail)) from None


# ---------------------------------------------------------------- following a run


def _followed(work: FollowedRun, follow: Callable[[FollowedRun], RemoteResult]) -> RemoteResult:
    """Follow a run with the function `follow`, and cancel the run after an interrupt. Returns the result, with all
    diagnostics of the run."""
    try:
        result = follow(work)
    except (KeyboardInterrupt, ServiceError) as problem:
        if STOP.requested or isinstance(problem, KeyboardInterrupt):
            work.run.act("cancel")
        raise
    return RemoteResult(result.has_changes, result.applied, (*work.told, *result.diagnostics), work.run.id)


def _plan_only(work: FollowedRun) -> RemoteResult:
    return _follow_plan(work)[0]


def _plan_and_apply(work: FollowedRun) -> RemoteResult:
    result, may_apply = _follow_plan(work)
    if not may_apply:
        return result
    if not work.view.approve(work.store.client.name):
        _act(work.run, "discard", frozenset(("discarded",)))
        return result
    return _apply(work)


def _follow_plan(work: FollowedRun) -> tuple[RemoteResult, bool]:
    """Follow the run until its plan is complete. Returns the result, and whether the plan can be applied now."""
    run, reports, client = work.run, work.reports, work.store.client
    work.told.extend([warning("remote.warning", "Warning of the server", text) for text in reports.warnings()])
    if problem := reports.stage("pre_plan", "Tasks before the plan"):
        return _refusal(problem, run), False
    shows = client.has_structured_output
    _print_log(work, "plan", skip=("planned_change", "change_summary", "outputs") if shows else ())
    state = attributes(run.read())
    has_ended = state.get("status") in ("errored", "canceled", "discarded", "force_canceled")
    _show(work, state, shows and not has_ended)
    problem = reports.stage("post_plan", "Tasks after the plan")
    problem = problem or reports.cost(has_ended) or reports.policies(has_ended)
    if problem:
        return _refusal(problem, run, bool(state.get("has-changes"))), False

    def report(status: str) -> None:
        if status not in _QUIET | FINAL:
            work.view.line(f"\nThe run is at: {status.replace('_', ' ')}")

    def needs_decision(state: Mapping[str, Any]) -> bool:
        return state.get("status") in (*WAITING, SAVED) or bool((state.get("actions") or {}).get("is-confirmable"))

    state = run.wait(needs_decision, report)
    status, has_changes = str(state["status"]), bool(state.get("has-changes"))
    if status in ("planned_and_finished", SAVED):
        return RemoteResult(has_changes), False
    if status in FINAL:
        return RemoteResult(has_changes, diagnostics=(_failure(status, run),)), False
    if status in WAITING:
        detail = f"The run waits for a decision ({status.replace('_', ' ')}): {run.page}"
        return RemoteResult(has_changes, diagnostics=(error("remote.decision", "A decision is needed", detail),)), False
    return RemoteResult(has_changes), True


def _show(work: FollowedRun, state: Mapping[str, Any], shows: bool) -> None:
    """Show the plan of the run if `shows` is true. (If it is false, the log that was already printed contains the
    plan.) Also write generated configuration if the options request it."""
    path = work.options.generate_config_out
    writes = path and work.run.part("plans", work.run.related("plan")[0]).get("generated-configuration")
    if not shows and not writes:
        return
    shown = _plan(work.run.plan_json(redacted=True), work.options.mode)
    if path and writes:
        work.told.extend(write_generated(shown.plan, path))
    if shows:
        from planner.operations.remote_causes import certain_causes

        work.view.plan(shown, lambda: certain_causes(work.opened, shown))


def _plan(data: bytes, mode: Mode) -> JsonPlan:
    try:
        return JsonPlan(data, mode)
    except ValueError as problem:
        raise ServiceError(f"the server's plan cannot be read: {problem}") from None


def _apply(work: FollowedRun) -> RemoteResult:
    run = work.run
    _act(run, "apply", _ENDED_WELL)
    if problem := work.reports.stage("pre_apply", "Tasks before the apply"):
        return _refusal(problem, run, True)
    _print_log(work, "apply", skip=())
    status = str(run.wait(lambda state: False, lambda status: None)["status"])
    failed = () if status == "applied" else (_failure(status, run),)
    return RemoteResult(True, status == "applied", failed)


def _act(run: ServerRun, action: str, done: frozenset[str]) -> None:
    """Approve or discard a run. If this fails because another user has already done it, no exception is raised. `done`:
    the statuses that a run has afterwards."""
    try:
        run.act(action)
    except ServiceError:
        if attributes(run.read()).get("status") not in done:
            raise


def _print_log(work: FollowedRun, part: str, skip: tuple[str, ...]) -> None:
    """Print the log of the phase `part` (plan or apply). If the log consists of JSON lines, their messages are printed,
    except those of the types in `skip`. Diagnostics in the log are not printed, but collected."""
    for text in work.run.log(part):
        entry = log_line(text)
        if entry is None:
            work.view.line(text)
        elif entry.get("type") == "diagnostic" and isinstance(entry.get("diagnostic"), dict):
            work.told.append(_diagnostic(entry["diagnostic"]))
        elif entry.get("type") not in ("version", *skip):
            work.view.line(str(entry["@message"]))


def _diagnostic(data: Mapping[str, Any]) -> Diagnostic:
    make = error if data.get("severity") == "error" else warning
    where = data.get("range") or {}
    at = f"\n\non {where.get('filename')} line {(where.get('start') or {}).get('line')}" if where else ""
    return make("remote.diagnostic", str(data.get("summary") or ""), f"{data.get('detail') or ''}{at}".strip())


def _refusal(problem: str, run: ServerRun, has_changes: bool = False) -> RemoteResult:
    detail = f"{problem} See {run.page}"
    return RemoteResult(has_changes, diagnostics=(error("remote.refused", "The run cannot continue", detail),))


def _failure(status: str, run: ServerRun) -> Diagnostic:
    detail = (
        f"The run on the server has ended as {status.replace('_', ' ')}; its log above has the reason. See {run.page}"
    )
    return error("remote.ended", "The run did not succeed", detail)
