"""`workspace list`: the workspaces, the selected one marked."""

from __future__ import annotations

from planner.api.workspaces import Workspaces
from planner.cli.flags import Arguments
from planner.cli.options import JSON_LINES, VARIABLES, state_calls
from planner.cli.views import open_plain_view
from planner.render.terminal import Terminal

USAGE = "[options]"
HELP = "Lists the workspaces; an asterisk marks the selected one."
FLAGS = (*VARIABLES, *JSON_LINES)


def run(arguments: Arguments, terminal: Terminal) -> int:
    """0, or 1 when they cannot be listed."""
    arguments.no_words("workspace list takes no words; use -chdir=DIR before the command.")
    view = open_plain_view(arguments, terminal)
    known = state_calls(Workspaces, arguments).workspaces()
    text = "".join(f"{'*' if name == known.selected else ' '} {name}\n" for name in known.names)
    names, current = list(known.names), known.selected
    view.say(text, "list of workspaces", type="workspace_list", workspaces=names, current_workspace=current)
    return view.finish(known.diagnostics)
