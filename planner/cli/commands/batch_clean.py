"""`batch clean`: remove the records of old runs."""

from __future__ import annotations

import os

from planner.cli.flags import Arguments, Flag, UsageError, command
from planner.render.terminal import Terminal


@command(
    "[options]",
    """Removes the records of old runs below .planner/batch: options, events, logs, and plan files, which contain
values. The newest record is kept unless -keep=0 is given. The record of an interrupted run that was changing objects is
kept as long as planner batch resume can continue it.

Without this command the newest 200 records are kept. The caches of configurations are stored elsewhere and stay; a unit
whose plan is removed is planned again.""",
    (
        Flag("keep", "int", "The number of newest records to keep (1).", 1, "N"),
        Flag("older-than", "duration", "Remove only records older than this.", 0.0, "DURATION"),
        Flag("dry-run", "bool", "List what would be removed without removing it."),
        Flag("file", "string", "The fleet file (planner.batch.hcl).", value="FILE"),
    ),
)
def batch_clean(arguments: Arguments, terminal: Terminal) -> int:
    """0; Failure if a record cannot be removed."""
    from planner.workflows.batch.remove_records import clean

    arguments.no_words("The records of the fleet in the working directory are removed.")
    if arguments["keep"] < 0:
        raise UsageError("Option -keep must not be negative")
    root = os.path.dirname(os.path.abspath(arguments["file"])) if arguments["file"] else os.getcwd()
    done = clean(root, arguments["keep"], arguments["older-than"], arguments["dry-run"])
    for name in done.removed:
        terminal.out(name)
    for name in done.kept:
        terminal.out(f"{name} is kept: it was interrupted, and planner batch resume can continue it.")
    what = "would be removed" if arguments["dry-run"] else "removed"
    number = len(done.removed)
    terminal.out(f"{number} record{'' if number == 1 else 's'} {what}, {done.size:,} bytes.")
    return 0
