"""`refresh`: record in the state what changed outside, without asking."""

from __future__ import annotations

from typing import TYPE_CHECKING

from planner.cli.approval import asking
from planner.cli.flags import Arguments, UsageError
from planner.cli.options import INPUT, JSON_LINES, OPERATION, SHOW_SENSITIVE, STATE, VARIABLES, options
from planner.cli.terminal import Terminal
from planner.cli.view import View, failure_lines, open_view, usage_error_lines

if TYPE_CHECKING:
    from planner.pipeline import Planned
    from planner.session import Options

USAGE = "[options]"
HELP = """Reads all managed objects and records in the state what changed outside. Better: `planner apply -refresh-
only`, which shows the changes first and asks."""
FLAGS = (INPUT, SHOW_SENSITIVE, *OPERATION, *STATE, *VARIABLES, *JSON_LINES)
usage_error = usage_error_lines
failure = failure_lines


def run(arguments: Arguments, terminal: Terminal) -> int:
    """0, or 1 on errors."""
    if arguments.words:
        raise UsageError("Too many words", "refresh takes no directory; use -chdir=DIR before the command.")
    settings = asking(options(arguments, "refresh-only"), terminal)
    from planner import pipeline

    view = open_view(arguments, terminal)
    planned = pipeline.plan(settings, view.hooks, to_apply=True)
    try:
        return _save(settings, planned, view)
    finally:
        view.diagnostics(pipeline.release(planned))


def _save(settings: Options, planned: Planned, view: View) -> int:
    from planner import pipeline

    problems = list(planned.diagnostics)
    if planned.plan is None or any(d.is_error for d in problems):
        view.diagnostics(problems)
        return 1
    applied = pipeline.apply(settings, planned, view.hooks)
    problems += applied.diagnostics
    view.diagnostics(problems)
    if any(d.is_error for d in problems):
        return 1
    if applied.state is not None:
        view.outputs(applied.state.outputs)
    return 0
