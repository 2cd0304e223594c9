"""`metadata functions`: the signatures of the functions of the language, for editors."""

from __future__ import annotations

from planner.cli.flags import Arguments, UsageError
from planner.cli.options import JSON
from planner.render.terminal import Terminal

USAGE = "-json"
HELP = "Prints the signatures and descriptions of all functions of the configuration language."
FLAGS = (JSON,)


def run(arguments: Arguments, terminal: Terminal) -> int:
    """0."""
    if not arguments["json"]:
        raise UsageError("Option -json is needed", "There is only a JSON form of this answer.")
    from planner.language.functions import metadata
    from planner.support.exact_json import dumps

    terminal.data(dumps(metadata(), escape_html=False).decode("utf-8"))
    return 0
