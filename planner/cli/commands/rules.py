"""`rules`: the family of commands about the rules; alone it only lists them."""

from __future__ import annotations

import sys

from planner.cli.flags import Arguments, Flag
from planner.render.terminal import Terminal

USAGE = "COMMAND [options]"
HELP = """Shows the rules that decide everything, and checks and tests rules of your own. rules/README.md documents
the language of the rules."""
FLAGS: tuple[Flag, ...] = ()


def run(arguments: Arguments, terminal: Terminal) -> int:
    """Print the help; 1, because no command was given."""
    from planner.cli.help import command_help

    terminal.out(command_help("rules", sys.modules[__name__]))
    return 1
