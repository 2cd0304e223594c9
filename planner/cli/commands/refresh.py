"""`refresh`: record changes made outside in the state, without prompting."""

from __future__ import annotations

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
    operation_options,
)
from planner.cli.remote_run import run_there, runs_there
from planner.cli.views import open_view
from planner.foundation.vocabulary.records import evolve
from planner.render.terminal import Terminal

USAGE = "[options]"
HELP = """Reads all managed objects and records outside changes in the state. Better: `planner apply -refresh-only`,
which shows the changes first and prompts for approval."""
FLAGS = (DESTROY, INPUT, SHOW_SENSITIVE, *OPERATION, *STATE, *VARIABLES, *JSON_LINES)


def run(arguments: Arguments, terminal: Terminal) -> int:
    """0, or 1 on errors."""
    from planner.operations.apply import refresh as refresh_state

    no_directory(arguments, "refresh")
    if arguments["destroy"]:
        raise UsageError("Conflicting options", "refresh only updates the state, so it has no -destroy.")
    settings = asking(operation_options(arguments), terminal, may_ask(arguments))
    view = open_view(arguments, terminal)
    applied = refresh_state(evolve(settings, refresh=True), view.hooks)
    if runs_there(applied.diagnostics):
        return run_there(arguments, terminal, evolve(settings, mode="refresh-only"), view, to_apply=True, approves=True)
    code = view.finish(applied.diagnostics)
    if not code and applied.state is not None:
        view.outputs(applied.state.outputs)
    return code
