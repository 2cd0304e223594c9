"""`help`: the commands by purpose, or the help of one."""

from __future__ import annotations

from planner.cli import index
from planner.cli.flags import Arguments, UsageError
from planner.foundation.vocabulary.nearest import did_you_mean
from planner.render.terminal import Terminal

USAGE = "[COMMAND]"
HELP = "Shows the commands by purpose. With the name of a command, shows its help: planner help state list"
FLAGS = ()


def run(arguments: Arguments, terminal: Terminal) -> int:
    """0; 1 when there is no command of that name."""
    from importlib import import_module

    from planner.cli.help import command_help, overview

    name = " ".join(arguments.words)
    command = index.ALIASES.get(name, name)
    if command and command not in index.COMMANDS:
        raise UsageError(f"There is no command {name}", f"planner help lists all.{did_you_mean(name, index.COMMANDS)}")
    terminal.out(command_help(command, import_module(index.module_name(command))) if command else overview())
    return 0
