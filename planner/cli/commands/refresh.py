"""`refresh`: record changes made outside in the state, without prompting."""

from __future__ import annotations

from planner.api.making import Making
from planner.cli.approval import asking
from planner.cli.flags import Arguments, UsageError, no_directory
from planner.cli.options import (
    DESTROY,
    INPUT,
    JSON_LINES,
    OPERATION,
    SHOW_SENSITIVE,
    STATE,
    VARIABLES,
    may_ask,
    plan_calls,
)
from planner.cli.remote_run import run_there, runs_there
from planner.cli.views import open_view
from planner.render.terminal import Terminal

USAGE = "[options]"
HELP = """Reads all managed objects and records outside changes in the state. Better: `planner apply -refresh-only`,
which shows the changes first and prompts for approval."""
FLAGS = (DESTROY, INPUT, SHOW_SENSITIVE, *OPERATION, *STATE, *VARIABLES, *JSON_LINES)


def run(arguments: Arguments, terminal: Terminal) -> int:
    """0, or 1 on errors."""
    no_directory(arguments, "refresh")
    if arguments["destroy"]:
        raise UsageError("Conflicting options", "refresh only updates the state, so -destroy has no meaning for it.")
    calls = asking(plan_calls(Making, arguments), terminal, may_ask(arguments))
    view = open_view(arguments, terminal)
    applied = calls.refresh(view.hooks)
    if runs_there(applied.diagnostics):
        return run_there(arguments, terminal, calls.having(mode="refresh-only"), view, to_apply=True, approves=True)
    code = view.finish(applied.diagnostics)
    if not code and applied.state is not None:
        view.outputs(applied.state.outputs)
    return code
