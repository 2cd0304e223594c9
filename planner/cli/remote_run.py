"""`plan`, `apply` and `destroy` that run on a server."""

from __future__ import annotations

from typing import TYPE_CHECKING

from planner.api.base import Work
from planner.cli.approval import QUESTIONS, ask
from planner.cli.flags import Arguments
from planner.cli.options import may_ask
from planner.foundation.vocabulary.diagnostic import has_errors
from planner.render.terminal import Terminal
from planner.render.view import View

if TYPE_CHECKING:
    from planner.answers.documents.plan_from_json import JsonPlan
    from planner.api.server_runs import Explain, RemoteView, ServerRuns
    from planner.world.state.remote.runs import SavedRun


def run_there(
    arguments: Arguments, terminal: Terminal, calls: Work, view: View, to_apply: bool = False, approves: bool = False
) -> int:
    """Run an operation on a server. Returns the exit code of the command. `approves`: whether to apply without a
    prompt."""
    out = "" if to_apply else arguments["out"]
    shown = _view(arguments, terminal, calls, view, to_apply, approves)
    result = _runs(calls).run(to_apply, shown, out)
    view.diagnostics(result.diagnostics)
    if has_errors(result.diagnostics):
        return 1
    if to_apply and result.has_changes and not result.applied:
        view.log("\nThe run was discarded.")
        return 1
    if out:
        view.next_steps(out, arguments["generate-config-out"])
    return 2 if not to_apply and arguments["detailed-exitcode"] and result.has_changes else 0


def apply_saved_there(arguments: Arguments, terminal: Terminal, calls: Work, view: View, saved: SavedRun) -> int:
    """Apply a saved run. Returns the exit code of the command."""
    return view.finish(_runs(calls).apply_saved(saved, _view(arguments, terminal, calls, view, True)).diagnostics)


def show_there(calls: Work, saved: SavedRun, terminal: Terminal, as_json: bool) -> int:
    """Show the plan of a saved run. Returns the exit code of the command."""
    from planner.cli.finish import finish
    from planner.render.plan import PlanText

    shown, problems = _runs(calls).saved_plan(saved, as_json)
    if shown is not None and shown.document is not None:
        terminal.data(shown.document.decode("utf-8", "replace"))
    elif shown is not None and shown.plan is not None:
        terminal.out(f"The plan of the run {shown.page}:")
        PlanText(shown.plan.plan, shown.plan.schema_of, terminal).show()
        terminal.out(f"\nRun status: {shown.status}")
    return finish(problems, terminal)


def _runs(calls: Work) -> ServerRuns:
    from planner.api.server_runs import ServerRuns

    return ServerRuns(calls.options, owns_process=True)


def _view(
    arguments: Arguments,
    terminal: Terminal,
    calls: Work,
    view: View,
    to_apply: bool,
    approves: bool = False,
) -> RemoteView:
    from planner.api.server_runs import RemoteView

    approves = approves or bool(arguments.get("auto-approve"))

    def approve(workspace: str) -> bool:
        if approves:
            return True
        question, remark = QUESTIONS[calls.options.mode]
        inside = f' in workspace "{workspace}"'
        remark += "\nOnly 'yes' will be accepted to approve."
        return ask(question.format(inside), remark, terminal, may_ask(arguments)) == "yes"

    def override(question: str) -> bool:
        if not to_apply or approves:
            return to_apply
        remark = "Only 'override' will be accepted to override."
        return ask(question, remark, terminal, may_ask(arguments)) == "override"

    def show(shown: JsonPlan, explain: Explain) -> None:
        from planner.cli.views import causes_told, how_told

        how = how_told(sum(change.action != "no-op" for change in shown.plan.changes), arguments, terminal)
        explained = explain() if how != "none" else None
        causes = causes_told(explained[0], how, terminal, explained[1]) if explained is not None else None
        view.plan(shown.plan, shown.schema_of, causes)

    return RemoteView(view.log, show, approve, override)
