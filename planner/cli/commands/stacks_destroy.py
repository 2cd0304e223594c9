"""`stacks destroy`: destroy everything in deployments."""

from __future__ import annotations

from planner.cli.commands.stacks_apply import apply
from planner.cli.flags import Arguments, Flag
from planner.cli.options import INPUT, JSON_LINES
from planner.cli.stack_options import REPORTS, SHARED, WORKERS
from planner.render.terminal import Terminal

USAGE = "[options]"
HELP = """Makes a plan to destroy all objects of deployments of the stack, prompts for approval, and applies it:
dependents before their dependencies."""
FLAGS = (
    Flag("auto-approve", "bool", "Destroy without a prompt for approval."),
    INPUT,
    *REPORTS,
    WORKERS,
    *SHARED,
    *JSON_LINES,
)


def run(arguments: Arguments, terminal: Terminal) -> int:
    """0, or 1 on errors and when an answer was no."""
    return apply(arguments, terminal, True)
