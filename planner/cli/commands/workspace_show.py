"""`workspace show`: the name of the selected workspace."""

from __future__ import annotations

from planner.api.workspaces import Workspaces
from planner.cli.finish import finish
from planner.cli.flags import Arguments
from planner.cli.options import VARIABLES, state_calls
from planner.render.terminal import Terminal

USAGE = ""
HELP = "Prints the name of the selected workspace."
FLAGS = VARIABLES


def run(arguments: Arguments, terminal: Terminal) -> int:
    """0, or 1 when TF_WORKSPACE names an impossible one."""
    arguments.no_words("workspace show takes none.")
    name, diagnostics = state_calls(Workspaces, arguments).workspace()
    terminal.out(name)
    return finish(diagnostics, terminal)
