"""Plans and applies of a workspace that run on its server."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from planner.foundation.support.signals import STOP
from planner.foundation.vocabulary.diagnostic import Diagnostic, Diagnostics, Failure, ServiceError, error
from planner.foundation.vocabulary.records import frozen
from planner.operations.load import load
from planner.operations.options import OperationOptions
from planner.operations.state_access import open_backend
from planner.world.state.remote.runs import FINAL, WAITING, ServerRun, start_run
from planner.world.state.remote.tfe import TfeStore


@frozen
class RemoteResult:
    """The outcome of a run on a server."""

    has_changes: bool = False
    applied: bool = False
    diagnostics: tuple[Diagnostic, ...] = ()


def remote_run(
    options: OperationOptions,
    to_apply: bool,
    approve: Callable[[str], bool],
    line: Callable[[str], None],
) -> RemoteResult:
    """Plan, or plan and apply, on the server. `approve` is called with the name of the workspace before anything is
    changed, `line` gets the lines of logs."""
    told = Diagnostics()
    result = RemoteResult()
    with told.until_an_error():
        told.check(_unsupported(options))
        opened = open_backend(load(options, told), told)
        told.check()
        store = opened.store
        assert isinstance(store, TfeStore)
        try:
            result = _carry_out(store, options, to_apply, approve, line)
        except ServiceError as problem:
            raise Failure(error("remote.run", "The run on the server cannot be followed", problem.text)) from None
    return RemoteResult(result.has_changes, result.applied, (*told, *result.diagnostics))


def _unsupported(options: OperationOptions) -> list[Diagnostic]:
    """Options that a run on a server cannot have."""
    wrong = []
    if options.var_args:
        wrong.append("variables (set them in the workspace, or in a file *.auto.tfvars)")
    if options.limits.excludes:
        wrong.append("-exclude")
    if options.judges:
        wrong.append("-policy")
    if options.generate_config_out:
        wrong.append("-generate-config-out")
    if not wrong:
        return []
    detail = f"The workspace runs plans on its server, where these have no effect: {', '.join(wrong)}."
    return [error("remote.options", "Options that runs on a server do not have", detail)]


def _carry_out(
    store: TfeStore,
    options: OperationOptions,
    to_apply: bool,
    approve: Callable[[str], bool],
    line: Callable[[str], None],
) -> RemoteResult:
    client = store.client
    organization = client.organization
    given: dict[str, Any] = {
        "message": "Queued by planner",
        "is-destroy": options.mode == "destroy",
        "refresh-only": options.mode == "refresh-only",
        "refresh": options.refresh,
        "target-addrs": [str(address) for address in options.limits.targets],
        "replace-addrs": [str(address) for address in options.limits.replace],
        "plan-only": not to_apply,
        "auto-apply": False,
    }
    page = f"https://{organization.host}/app/{organization.name}/workspaces/{client.name}"
    folder = Path(options.directory)
    run = start_run(organization.api, client.ensure(), folder, given, page, lambda: bool(STOP.requested))
    line(f"The run is followed here, and can be seen at:\n{run.page}\n")
    try:
        return _follow(run, client.name, to_apply, approve, line)
    except KeyboardInterrupt:
        run.act("cancel")
        raise
    except ServiceError:
        if STOP.requested:
            run.act("cancel")
        raise


def _follow(
    run: ServerRun, workspace: str, to_apply: bool, approve: Callable[[str], bool], line: Callable[[str], None]
) -> RemoteResult:
    for text in run.log("plan"):
        line(text)
    shown = {"pending", "plan_queued", "planning", "planned", "applying", "apply_queued", "confirmed", *FINAL}

    def report(status: str) -> None:
        if status not in shown:
            line(f"\nThe run is at: {status.replace('_', ' ')}")

    def needs_decision(state: Any) -> bool:
        return state.get("status") in WAITING or bool((state.get("actions") or {}).get("is-confirmable"))

    state = run.wait(needs_decision, report)
    status, has_changes = str(state["status"]), bool(state.get("has-changes"))
    if status == "planned_and_finished":
        return RemoteResult(has_changes)
    if status in FINAL:
        return RemoteResult(has_changes, diagnostics=(_failure(status, run),))
    if status in WAITING:
        detail = f"The run waits for a decision ({status.replace('_', ' ')}): {run.page}"
        return RemoteResult(has_changes, diagnostics=(error("remote.decision", "A decision is needed", detail),))
    if not to_apply:
        return RemoteResult(has_changes)
    if not approve(workspace):
        run.act("discard")
        return RemoteResult(has_changes)
    run.act("apply")
    for text in run.log("apply"):
        line(text)
    status = str(run.wait(lambda state: False, lambda status: None)["status"])
    failed = () if status == "applied" else (_failure(status, run),)
    return RemoteResult(has_changes, status == "applied", failed)


def _failure(status: str, run: ServerRun) -> Diagnostic:
    detail = (
        f"The run on the server has ended as {status.replace('_', ' ')}; its log above has the reason. See {run.page}"
    )
    return error("remote.ended", "The run did not succeed", detail)
