"""`batch resume`: continue an interrupted run."""

from __future__ import annotations

import os

from planner.cli.batch_options import REPORTS
from planner.cli.commands.batch_apply import APPROVE, approval
from planner.cli.flags import Arguments, Flag
from planner.foundation.support.signals import install
from planner.render.terminal import Terminal

USAGE = "[options] [RUN]"
HELP = """Continues a run of plan, validate, apply or destroy that was killed or interrupted, or in which units failed:
the last run below the working directory, or the named one. Units that succeeded are not run again. Units that were in
progress are named and run again, but replacing an object that was being created needs another approval. A run that
was started with -auto-approve is resumed with it. The record contains a copy of a saved plan, so its directory is not
needed any more."""
FLAGS = (
    APPROVE,
    Flag("file", "string", "The fleet's file, if the run was started with it.", value="FILE"),
    Flag("detailed-exitcode", "bool", "Exit with 0 for no changes, 1 for errors, 2 for changes."),
    *REPORTS,
)


def run(arguments: Arguments, terminal: Terminal) -> int:
    """0, 1 on errors, or 2 with -detailed-exitcode when there are changes."""
    from planner.cli.batch_view import conclude, listener
    from planner.workflows.batch.resume import resume

    name = arguments.at_most_one_word("Name one run: a directory below .planner/batch.", "")
    if terminal.owns_process:
        install()

    def began(name: str, in_flight: list[str]) -> None:
        if not arguments["json"]:
            terminal.out(f"Resuming {name}.")
            for unit in in_flight:
                terminal.out(f"{unit}: was in progress when the run was interrupted")

    root = os.path.dirname(os.path.abspath(arguments["file"])) if arguments["file"] else os.getcwd()
    ask = None if arguments["auto-approve"] else approval("apply", terminal)
    report = resume(name, root, listener(arguments, terminal), ask, began)
    return conclude(report, arguments, terminal)
