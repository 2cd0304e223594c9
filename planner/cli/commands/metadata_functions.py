"""`metadata functions`: the signatures of the functions of the language, for editors."""

from __future__ import annotations

from planner.cli.finish import json_text
from planner.cli.flags import Arguments, UsageError
from planner.cli.options import JSON
from planner.render.terminal import Terminal

USAGE = "-json"
HELP = "Prints the signatures and descriptions of all functions of the configuration language."
FLAGS = (JSON,)


def run(arguments: Arguments, terminal: Terminal) -> int:
    """0."""
    from planner.language.functions import metadata

    if not arguments["json"]:
        raise UsageError("Option -json is needed", "There is only a JSON form of this answer.")
    terminal.data(json_text(metadata()))
    return 0
