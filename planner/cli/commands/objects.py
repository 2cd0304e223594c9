"""`import`, `taint`, `untaint`, `refresh` and `force-unlock`."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from planner.api.making import Making
from planner.api.states import States
from planner.cli.approval import ask, asking
from planner.cli.flags import Arguments, Flag, UsageError, command, no_directory
from planner.cli.options import (
    DESTROY,
    IGNORE_REMOTE_VERSION,
    INPUT,
    JSON_LINES,
    OPERATION,
    SHOW_SENSITIVE,
    STATE,
    VARIABLES,
    check_minimal_refresh,
    may_ask,
    plan_calls,
    state_calls,
)
from planner.cli.views import open_plain_view, open_view, runs_there
from planner.foundation.vocabulary.diagnostic import Diagnostic, has_errors
from planner.render.terminal import Terminal

if TYPE_CHECKING:
    from planner.world.state.lock import LockInfo


@command(
    "[options] ADDRESS ID",
    """Records an existing object in the state as the named resource instance. The configuration must declare the
resource. Prefer an import block, which is planned first.""",
    (
        Flag("config", "string", "Read the configuration from this directory.", value="DIR"),
        Flag("parallelism", "int", "", 10, "N"),
        IGNORE_REMOTE_VERSION,
        INPUT,
        *STATE,
        *VARIABLES,
        *JSON_LINES,
    ),
)
def import_(arguments: Arguments, terminal: Terminal) -> int:
    if len(arguments.words) != 2:
        raise UsageError("Missing address or id")
    address, id = arguments.words
    calls = plan_calls(Making, arguments, directory=arguments["config"] or ".")
    calls = asking(calls, terminal, may_ask(arguments))
    view = open_view(arguments, terminal)
    text = f'{address}: Importing from ID "{id}"...'
    diagnostics = calls.import_object(address, id, view.hooks, lambda: view.tell(text))
    view.diagnostics(diagnostics)
    if has_errors(diagnostics):
        return 1
    view.say("\nImport successful! planner now manages the object.")
    return 0


MARK = (
    Flag("allow-missing", "bool", "Do not fail if the instance does not exist."),
    IGNORE_REMOTE_VERSION,
    *STATE,
    *VARIABLES,
    *JSON_LINES,
)


@command(
    "[options] ADDRESS",
    "Marks a resource instance as tainted: the next plan replaces it. Prefer `planner apply -replace=ADDRESS`.",
    MARK,
)
def taint(arguments: Arguments, terminal: Terminal) -> int:
    return mark(arguments, terminal, States.taint, "Resource instance {} has been marked as tainted.")


def mark(arguments: Arguments, terminal: Terminal, change: Callable[..., list[Diagnostic]], sentence: str) -> int:
    """Run `taint` or `untaint`."""
    address = arguments.only_word("One address is needed", "Write the address of a resource instance.")
    view = open_plain_view(arguments, terminal)
    diagnostics = change(state_calls(States, arguments), address, allow_missing=arguments["allow-missing"])
    if not diagnostics:
        text = sentence.format(address)
        view.say(text, text)
    return view.finish(diagnostics)


@command("[options] ADDRESS", "Removes the taint mark of a resource instance, so that it is not replaced.", MARK)
def untaint(arguments: Arguments, terminal: Terminal) -> int:
    return mark(arguments, terminal, States.untaint, "Resource instance {} has been successfully untainted.")


@command(
    "[options]",
    """Reads all managed objects and records changes made outside planner in the state. Prefer `planner apply
-refresh-only`, which shows the changes first and prompts for approval.""",
    (DESTROY, INPUT, SHOW_SENSITIVE, *OPERATION, *STATE, *VARIABLES, *JSON_LINES),
)
def refresh(arguments: Arguments, terminal: Terminal) -> int:
    no_directory(arguments, "refresh")
    if arguments["destroy"]:
        raise UsageError("Conflicting options", "refresh only updates the state. Remove -destroy.")
    if arguments.get("invoke"):
        raise UsageError("Conflicting options", "refresh only updates the state. Remove -invoke.")
    check_minimal_refresh(arguments, True)
    calls = asking(plan_calls(Making, arguments), terminal, may_ask(arguments))
    view = open_view(arguments, terminal)
    applied = calls.refresh(view.hooks)
    if runs_there(applied.diagnostics):
        from planner.cli.remote_run import run_there

        return run_there(arguments, terminal, calls.having(mode="refresh-only"), view, to_apply=True, approves=True)
    code = view.finish(applied.diagnostics)
    if not code and applied.state is not None:
        view.outputs(applied.state.outputs)
    return code


@command(
    "[options] LOCK_ID",
    "Removes the state lock with this id. Do this only if you are certain that the holder of the lock is not running.",
    (Flag("force", "bool", "Unlock without prompting for confirmation."), INPUT, *VARIABLES, *JSON_LINES),
)
def force_unlock(arguments: Arguments, terminal: Terminal) -> int:
    lock_id = arguments.only_word("One lock id is needed", "The error message of the failed command contains the id.")
    view = open_plain_view(arguments, terminal)

    def confirm(holder: LockInfo) -> bool:
        if arguments["force"]:
            return True
        remark = (
            "planner will remove the lock on the remote state.\nThis will allow local planner commands to modify this "
            "state, even though it\nmay still be in use. Only 'yes' will be accepted to confirm."
        )
        remark = f"{holder.describe()}\n\n{remark}"
        question, instead = "Do you really want to force-unlock?", "Use -force to unlock without a prompt."
        return ask(question, remark, terminal, may_ask(arguments), instead=instead) == "yes"

    unlocked, diagnostics = state_calls(States, arguments).unlock(lock_id, confirm)
    if unlocked:
        view.say(
            "planner state has been successfully unlocked!\n\n"
            "The state has been unlocked, and planner commands should now be able to\n"
            "obtain a new lock on the remote state."
        )
    elif not diagnostics:
        view.say("force-unlock cancelled.")
    return max(view.finish(diagnostics), int(not unlocked))
