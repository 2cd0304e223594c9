"""`stacks fmt`: the standard layout of stack files."""

from __future__ import annotations

from planner.cli import layout
from planner.cli.commands.fmt import laid_out
from planner.cli.flags import Arguments
from planner.render.terminal import Terminal

USAGE = "[options] [FILE|DIRECTORY...]"
HELP = """Rewrites stack files in the standard layout and lists those that changed: the files of the working directory,
or the files and directories that are named. With - it reads standard input and prints the result."""
FLAGS = layout.FLAGS
ENDINGS = (".tfcomponent.hcl", ".tfdeploy.hcl", ".tfstack.hcl")


def run(arguments: Arguments, terminal: Terminal) -> int:
    """0; 2 when a file cannot be read, parsed or written; with -check 3 when one has another layout."""
    files = layout.Layout(ENDINGS, "a stack in native syntax", "Not a stack file", laid_out)
    return layout.rewrite(files, arguments.words or ["."], arguments, terminal)
