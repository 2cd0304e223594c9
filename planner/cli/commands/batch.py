"""`batch`: the family of commands about many root modules; alone it only lists them."""

from __future__ import annotations

import sys

from planner.cli.flags import Arguments, Flag
from planner.render.terminal import Terminal

USAGE = "COMMAND [options]"
HELP = """Plans and applies many root modules as one graph. Each root module is a unit; the order of units is derived
from the remote states that they read, from the fleet's file planner.batch.hcl, and from your rules."""
FLAGS: tuple[Flag, ...] = ()


def run(arguments: Arguments, terminal: Terminal) -> int:
    """Print the help; 1, because no command was given."""
    from planner.cli.help import command_help

    terminal.out(command_help("batch", sys.modules[__name__]))
    return 1
