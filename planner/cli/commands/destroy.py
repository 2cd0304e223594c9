"""`destroy`: apply with a plan that destroys everything."""

from __future__ import annotations

from planner.cli.commands.apply import APPLY_FLAGS, apply
from planner.cli.flags import Arguments, Flag, UsageError
from planner.render.terminal import Terminal

USAGE = "[options]"
HELP = "Makes a plan to destroy all managed objects, shows it, prompts for approval, and applies it."
FLAGS = (Flag("destroy", "bool", ""), *APPLY_FLAGS)


def run(arguments: Arguments, terminal: Terminal) -> int:
    """0, or 1 on errors and when the answer was no."""
    arguments.no_words("destroy takes no plan file: use `planner plan -destroy -out=FILE`.")
    if arguments["destroy"]:
        raise UsageError("Invalid mode option", "planner destroy always destroys: leave out -destroy.")
    if arguments["refresh-only"]:
        raise UsageError("Conflicting options", "destroy cannot be limited to refreshing.")
    return apply(arguments, terminal, "destroy")
