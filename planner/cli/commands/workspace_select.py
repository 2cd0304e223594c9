"""`workspace select`: work in another workspace from now on."""

from __future__ import annotations

from planner.cli.finish import finish
from planner.cli.flags import Arguments, Flag, UsageError
from planner.cli.options import LOCK, VARIABLES, options
from planner.cli.terminal import Terminal
from planner.vocabulary.diagnostic import has_errors

USAGE = "[options] NAME"
HELP = "Selects a workspace."
FLAGS = (Flag("or-create", "bool", "Create the workspace when it does not exist."), *LOCK, *VARIABLES)


def run(arguments: Arguments, terminal: Terminal) -> int:
    """0, or 1 when it does not exist."""
    if len(arguments.words) != 1:
        raise UsageError("One name is needed", "Write the name of a workspace.")
    name = arguments.words[0]
    from planner.workspaces import workspace_select

    changed, diagnostics = workspace_select(options(arguments), name, create=arguments["or-create"])
    if changed and not has_errors(diagnostics):
        terminal.out(terminal.paint(f'Switched to workspace "{name}".', "green"))
    return finish(diagnostics, terminal)
