"""`fmt`: the standard layout of configuration files."""

from __future__ import annotations

from planner.cli.finish import finish
from planner.cli.flags import Arguments, Flag
from planner.cli.supported import not_supported
from planner.cli.terminal import Terminal

USAGE = "[options] [FILE...]"
HELP = "Rewrites configuration files in the standard layout."
FLAGS = (
    Flag("list", "bool", "Do not list the files whose layout differs.", True),
    Flag("write", "bool", "Do not rewrite the files.", True),
    Flag("diff", "bool", "Show the differences."),
    Flag("check", "bool", "Exit with 3 when a file has another layout."),
    Flag("recursive", "bool", "Look into sub-folders too."),
)


def run(arguments: Arguments, terminal: Terminal) -> int:
    """1: this version cannot format."""
    return finish([not_supported("fmt")], terminal)
