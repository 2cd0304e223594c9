"""`stacks destroy`: destroy everything in deployments."""

from __future__ import annotations

from planner.cli.commands.stacks_apply import apply
from planner.cli.commands.stacks_plan import SHARED, WORKERS
from planner.cli.flags import Arguments, Flag
from planner.cli.options import INPUT, JSON_LINES
from planner.cli.stack_reports import REPORTS
from planner.cli.views import usage_error_lines
from planner.render.terminal import Terminal

USAGE = "[options]"
HELP = """Plans the destruction of everything in deployments of the stack, asks, and destroys it: what was made from
something else goes first."""
FLAGS = (Flag("auto-approve", "bool", "Do not ask before destroying."), INPUT, *REPORTS, WORKERS, *SHARED, *JSON_LINES)
usage_error = usage_error_lines


def run(arguments: Arguments, terminal: Terminal) -> int:
    """0, or 1 on errors and when an answer was no."""
    return apply(arguments, terminal, True)
