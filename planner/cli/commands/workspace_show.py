"""`workspace show`: the name of the selected workspace."""

from __future__ import annotations

from planner.cli.finish import finish
from planner.cli.flags import Arguments
from planner.cli.options import VARIABLES, state_options
from planner.foundation.vocabulary.diagnostic import has_errors
from planner.render.terminal import Terminal

USAGE = ""
HELP = "Prints the name of the selected workspace."
FLAGS = VARIABLES


def run(arguments: Arguments, terminal: Terminal) -> int:
    """0, or 1 when TF_WORKSPACE names an impossible one."""
    from planner.operations.workspaces import workspace_name

    arguments.no_words("workspace show takes none.")
    name, diagnostics = workspace_name(state_options(arguments))
    if not has_errors(diagnostics):
        terminal.out(name)
    return finish(diagnostics, terminal)
