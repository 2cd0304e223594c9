"""`workspace select`: work in another workspace from now on."""

from __future__ import annotations

from planner.api.workspaces import Workspaces
from planner.cli.commands.workspace_new import say_created
from planner.cli.flags import Arguments, Flag
from planner.cli.options import JSON_LINES, LOCK, VARIABLES, state_calls
from planner.cli.views import open_plain_view
from planner.render.terminal import Terminal

USAGE = "[options] NAME"
HELP = "Selects a workspace."
CREATE = Flag("or-create", "bool", "Create the workspace when it does not exist.")
FLAGS = (CREATE, *LOCK, *VARIABLES, *JSON_LINES)


def run(arguments: Arguments, terminal: Terminal) -> int:
    """0, or 1 when it does not exist."""
    name = arguments.only_word("One name is needed", "Write the name of a workspace.")
    view = open_plain_view(arguments, terminal)
    selected, diagnostics = state_calls(Workspaces, arguments).select_workspace(name, create=arguments["or-create"])
    if selected == "created":
        say_created(view, terminal, name)
    elif selected == "switched":
        text = f'Switched to workspace "{name}"'
        view.say(terminal.paint(f"{text}.", "green"), text)
    return view.finish(diagnostics)
