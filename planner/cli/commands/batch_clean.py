"""`batch clean`: remove the records of old runs."""

from __future__ import annotations

import os

from planner.cli.flags import Arguments, Flag, UsageError
from planner.render.terminal import Terminal

USAGE = "[options]"
HELP = """Removes the records of old runs below .planner/batch: what was asked, what happened, logs, and plan files,
which hold values. The newest one stays unless -keep=0 is given; one that was cut off while it changed something stays
as long as planner batch resume could go on with it.

Without this command the newest 200 are kept. What is known of configurations is kept elsewhere and stays; a unit whose
plan is removed is planned again."""
FLAGS = (
    Flag("keep", "int", "How many of the newest records stay (1).", 1, "N"),
    Flag("older-than", "duration", "Remove only what is older than this.", 0.0, "DURATION"),
    Flag("dry-run", "bool", "Only say what would be removed."),
    Flag("file", "string", "The fleet's file (planner.batch.hcl).", value="FILE"),
)


def run(arguments: Arguments, terminal: Terminal) -> int:
    """0; what cannot be removed is a Failure."""
    from planner.workflows.batch.remove_records import clean

    if arguments.words:
        raise UsageError("Too many words", "The records of the fleet in the working directory are removed.")
    if arguments["keep"] < 0:
        raise UsageError("Option -keep must not be negative")
    root = os.path.dirname(os.path.abspath(arguments["file"])) if arguments["file"] else os.getcwd()
    done = clean(root, arguments["keep"], arguments["older-than"], arguments["dry-run"])
    for name in done.removed:
        terminal.out(name)
    for name in done.kept:
        terminal.out(f"{name} stays: it was cut off, and planner batch resume can go on with it.")
    what = "would be removed" if arguments["dry-run"] else "removed"
    number = len(done.removed)
    terminal.out(f"{number} record{'' if number == 1 else 's'} {what}, {done.size:,} bytes.")
    return 0
