"""`workspace delete`: delete a workspace and its state."""

from __future__ import annotations

from planner.api.workspaces import Workspaces
from planner.cli.flags import Arguments, Flag
from planner.cli.options import JSON_LINES, LOCK, VARIABLES, state_calls
from planner.cli.views import open_plain_view
from planner.render.terminal import Terminal

USAGE = "[options] NAME"
HELP = "Deletes a workspace. A workspace whose state has objects is kept, unless -force is given."
FORCE = Flag("force", "bool", "Delete it even if it manages objects; they continue to exist.")
FLAGS = (FORCE, *LOCK, *VARIABLES, *JSON_LINES)


def run(arguments: Arguments, terminal: Terminal) -> int:
    """0, or 1 when it is selected, does not exist or still manages objects."""
    name = arguments.only_word("One name is needed", "Write the name of a workspace.")
    view = open_plain_view(arguments, terminal)
    diagnostics = state_calls(Workspaces, arguments).delete_workspace(name, force=arguments["force"])
    view.say(terminal.paint(f'Deleted workspace "{name}"!', "green"), f'Deleted workspace "{name}"')
    return view.finish(diagnostics)
