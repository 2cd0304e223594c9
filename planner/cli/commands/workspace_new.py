"""`workspace new`: create a workspace and select it."""

from __future__ import annotations

from planner.api.workspaces import Workspaces
from planner.cli.flags import Arguments, Flag
from planner.cli.options import JSON_LINES, LOCK, VARIABLES, state_calls
from planner.cli.views import open_plain_view
from planner.render.terminal import Terminal
from planner.render.view import View

USAGE = "[options] NAME"
HELP = "Creates a workspace with an empty state, and selects it."
COPY = Flag("state", "string", "Start with a copy of this state file.", value="FILE")
FLAGS = (COPY, *LOCK, *VARIABLES, *JSON_LINES)


def run(arguments: Arguments, terminal: Terminal) -> int:
    """0, or 1 when it exists already or its name is not allowed."""
    name = arguments.only_word("One name is needed", "Write the name of the new workspace.")
    view = open_plain_view(arguments, terminal)
    diagnostics = state_calls(Workspaces, arguments).new_workspace(name)
    say_created(view, terminal, name, begins_with=arguments["state"])
    return view.finish(diagnostics)


def say_created(view: View, terminal: Terminal, name: str, begins_with: str = "") -> None:
    """Report that there is a new workspace, which is selected."""
    title = f'Created and switched to workspace "{name}"'
    remark = "Its state is empty: a plan does not see the objects of other workspaces."
    if begins_with:
        remark = f"Its state begins as a copy of {begins_with}."
    view.say(f"{terminal.paint(f'{title}!', 'bold', 'green')}\n\n{remark}", f"{title}. {remark}")
