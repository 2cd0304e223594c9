"""`workspace select`: work in another workspace from now on."""

from __future__ import annotations

from planner.cli.commands.workspace_new import say_created
from planner.cli.flags import Arguments, Flag
from planner.cli.options import JSON_LINES, LOCK, VARIABLES, state_options
from planner.cli.views import open_plain_view
from planner.foundation.vocabulary.diagnostic import has_errors
from planner.render.terminal import Terminal

USAGE = "[options] NAME"
HELP = "Selects a workspace."
CREATE = Flag("or-create", "bool", "Create the workspace when it does not exist.")
FLAGS = (CREATE, *LOCK, *VARIABLES, *JSON_LINES)


def run(arguments: Arguments, terminal: Terminal) -> int:
    """0, or 1 when it does not exist."""
    from planner.operations.workspaces import workspace_select

    name = arguments.only_word("One name is needed", "Write the name of a workspace.")
    view = open_plain_view(arguments, terminal)
    selected, diagnostics = workspace_select(state_options(arguments), name, create=arguments["or-create"])
    if has_errors(diagnostics):
        return view.finish(diagnostics)
    if selected == "created":
        say_created(view, terminal, name)
    elif selected == "switched":
        text = f'Switched to workspace "{name}"'
        view.say(terminal.paint(f"{text}.", "green"), text)
    return view.finish(diagnostics)
