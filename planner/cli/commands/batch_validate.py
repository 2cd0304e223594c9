"""`batch validate`: check the configurations of a fleet."""

from __future__ import annotations

from planner.cli.batch_options import REPORTS, RUN, SELECT, SHARD, WORDS
from planner.cli.commands.batch_plan import plan
from planner.cli.flags import Arguments
from planner.render.terminal import Terminal

USAGE = "[options] [WORDS...]"
HELP = f"""Checks the configurations of the units, and that their order has no cycle.

{WORDS}

-shard=3/20 checks a twentieth of the units, as batch plan does."""
FLAGS = (SHARD, *SELECT, *RUN, *REPORTS)


def run(arguments: Arguments, terminal: Terminal) -> int:
    """0, or 1 on errors."""
    return plan(arguments, terminal, "validate")
