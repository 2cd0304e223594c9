"""`untaint`: take back the mark of taint."""

from __future__ import annotations

from planner.api.states import States
from planner.cli.commands.taint import FLAGS as FLAGS
from planner.cli.commands.taint import mark
from planner.cli.flags import Arguments
from planner.render.terminal import Terminal

USAGE = "[options] ADDRESS"
HELP = "Removes the taint mark of a resource instance, so that it is not replaced."


def run(arguments: Arguments, terminal: Terminal) -> int:
    """0, or 1 when the instance does not exist."""
    return mark(arguments, terminal, States.untaint, "Resource instance {} has been successfully untainted.")
