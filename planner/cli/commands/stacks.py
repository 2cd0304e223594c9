"""`stacks`: the family of commands about stacks; alone it only lists them."""

from __future__ import annotations

import sys

from planner.cli.flags import Arguments, Flag
from planner.render.terminal import Terminal

USAGE = "COMMAND [options]"
HELP = "Plans and applies stacks: components (*.tfcomponent.hcl) and deployments (*.tfdeploy.hcl)."
FLAGS: tuple[Flag, ...] = ()


def run(arguments: Arguments, terminal: Terminal) -> int:
    """Print the help; 1, because no command was given."""
    from planner.cli.help import command_help

    terminal.out(command_help("stacks", sys.modules[__name__]))
    return 1
