"""`batch destroy`: destroy everything that a fleet manages."""

from __future__ import annotations

from planner.cli.batch_options import ASK, JUDGE, REPORTS, RUN, SELECT, WORDS
from planner.cli.commands.batch_apply import APPROVE, converge
from planner.cli.flags import Arguments
from planner.render.terminal import Terminal

USAGE = "[options] [WORDS...]"
HELP = f"""Destroys the objects of the units, in reverse order: dependents before their dependencies.

{WORDS}"""
FLAGS = (APPROVE, *ASK, *JUDGE, *SELECT, *RUN, *REPORTS)


def run(arguments: Arguments, terminal: Terminal) -> int:
    """0, or 1 on errors and when something was not approved."""
    return converge(arguments, terminal, "destroy")
