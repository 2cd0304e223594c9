"""`workspace list`: the workspaces, the selected one marked."""

from __future__ import annotations

from planner.cli.finish import finish
from planner.cli.flags import Arguments
from planner.cli.options import JSON, VARIABLES, options
from planner.cli.terminal import Terminal
from planner.vocabulary.diagnostic import has_errors

USAGE = "[options]"
HELP = "Lists the workspaces; an asterisk marks the selected one."
FLAGS = (JSON, *VARIABLES)


def run(arguments: Arguments, terminal: Terminal) -> int:
    """0, or 1 when they cannot be listed."""
    from planner.workspaces import workspaces

    names, current, diagnostics = workspaces(options(arguments))
    if has_errors(diagnostics):
        return finish(diagnostics, terminal)
    if arguments["json"]:
        from planner.vocabulary.exact_json import dumps

        document = {"format_version": "1.0", "workspaces": names, "current_workspace": current}
        terminal.out(dumps(document).decode("utf-8"))
        return 0
    for name in names:
        terminal.out(f"{'*' if name == current else ' '} {name}")
    terminal.out()
    return finish(diagnostics, terminal)
