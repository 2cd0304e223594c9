"""`stacks state`: the commands about the states of deployments; alone it only lists them."""

from __future__ import annotations

import sys

from planner.cli.flags import Arguments, Flag
from planner.render.terminal import Terminal

USAGE = "COMMAND [options]"
HELP = "Lists, shows and edits the states of the components of deployments."
FLAGS: tuple[Flag, ...] = ()


def run(arguments: Arguments, terminal: Terminal) -> int:
    """Print the help; 1, because no command was given."""
    from planner.cli.help import command_help

    terminal.out(command_help("stacks state", sys.modules[__name__]))
    return 1
