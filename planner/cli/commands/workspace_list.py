"""`workspace list`: the workspaces, the selected one marked."""

from __future__ import annotations

from planner.cli.flags import Arguments
from planner.cli.options import JSON_LINES, VARIABLES, state_options
from planner.cli.views import open_plain_view
from planner.foundation.vocabulary.diagnostic import has_errors
from planner.render.terminal import Terminal

USAGE = "[options]"
HELP = "Lists the workspaces; an asterisk marks the selected one."
FLAGS = (*VARIABLES, *JSON_LINES)


def run(arguments: Arguments, terminal: Terminal) -> int:
    """0, or 1 when they cannot be listed."""
    from planner.operations.workspaces import workspaces

    view = open_plain_view(arguments, terminal)
    names, current, diagnostics = workspaces(state_options(arguments))
    if has_errors(diagnostics):
        return view.finish(diagnostics)
    text = "".join(f"{'*' if name == current else ' '} {name}\n" for name in names)
    view.say(text, "list of workspaces", type="workspace_list", workspaces=names, current_workspace=current)
    return view.finish(diagnostics)
