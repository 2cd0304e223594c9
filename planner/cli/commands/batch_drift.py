"""`batch drift`: the changes made outside in the units of a fleet."""

from __future__ import annotations

from planner.cli.batch_options import ASK, REPORTS, RUN, SELECT, SHARD, WORDS
from planner.cli.commands.batch_plan import plan
from planner.cli.flags import Arguments
from planner.render.terminal import Terminal

USAGE = "[options] [WORDS...]"
HELP = f"""Compares the states of a fleet's units with the real objects, and reports what was changed outside since the
last apply of each. Nothing is changed.

{WORDS}

The exit code is 0 without drift, 2 when there is drift, and 1 when a unit failed."""
_OTHERS = ("refresh", "replace")
FLAGS = (*(flag for flag in (*ASK, *RUN) if flag.name not in _OTHERS), SHARD, *SELECT, *REPORTS)


def run(arguments: Arguments, terminal: Terminal) -> int:
    """0, 1 on errors, or 2 when there is drift."""
    arguments.values |= {"refresh-only": True, "detailed-exitcode": True}
    return plan(arguments, terminal, "plan")
