"""`state pull`: the state as the file holds it."""

from __future__ import annotations

from planner.api.states import States
from planner.cli.finish import finish
from planner.cli.flags import Arguments
from planner.cli.options import VARIABLES, state_calls
from planner.render.terminal import Terminal

USAGE = ""
HELP = "Prints the state of the selected workspace in the format of state files."
FLAGS = VARIABLES


def run(arguments: Arguments, terminal: Terminal) -> int:
    """0, or 1 when the state cannot be read."""
    arguments.no_words("state pull takes no words; use -chdir=DIR before the command.")
    data, diagnostics = state_calls(States, arguments).pull_state()
    if data:
        terminal.stdout.write(data.decode("utf-8", "surrogateescape"))
    return finish(diagnostics, terminal)
