"""`plan`, `apply` and `destroy` where they run on a server."""

from __future__ import annotations

from collections.abc import Iterable

from planner.cli.approval import QUESTIONS, ask
from planner.cli.flags import Arguments
from planner.cli.options import may_ask
from planner.foundation.vocabulary.diagnostic import Diagnostic, has_errors
from planner.operations.options import OperationOptions
from planner.render.terminal import Terminal
from planner.render.view import View
from planner.world.state.backend import REMOTE_RUNS


def runs_there(diagnostics: Iterable[Diagnostic]) -> bool:
    """Whether an operation was refused because it runs on a server."""
    return any(d.code == REMOTE_RUNS for d in diagnostics)


def run_there(
    arguments: Arguments, terminal: Terminal, settings: OperationOptions, view: View, to_apply: bool = False
) -> int:
    """The exit code of the command."""

    def approve(workspace: str) -> bool:
        if arguments["auto-approve"]:
            return True
        question, remark = QUESTIONS[settings.mode]
        inside = f' in workspace "{workspace}"'
        remark += "\nOnly 'yes' will be accepted to approve."
        return ask(question.format(inside), remark, terminal, may_ask(arguments)) == "yes"

    from planner.operations.remote_run import remote_run

    result = remote_run(settings, to_apply, approve, view.log)
    view.diagnostics(result.diagnostics)
    if has_errors(result.diagnostics):
        return 1
    if to_apply and result.has_changes and not result.applied:
        view.log("\nThe run was discarded.")
        return 1
    return 2 if not to_apply and arguments["detailed-exitcode"] and result.has_changes else 0
