"""`batch resume`: go on with a run that was cut off."""

from __future__ import annotations

import os

from planner.cli.batch_options import REPORTS
from planner.cli.commands.batch_apply import APPROVE, approval
from planner.cli.flags import Arguments, Flag, UsageError
from planner.foundation.support.signals import install
from planner.render.terminal import Terminal

USAGE = "[options] [RUN]"
HELP = """Goes on with a run of plan, validate, apply or destroy that was killed or interrupted, or in which units
failed: the last one below the working directory, or the named one. Units that had ended well stay as they are; what was
in work is named and run again, but objects that it was making are not replaced before that is asked for once more. A
run that was begun with -auto-approve is resumed like that. Of a saved plan the record has a copy, so that its folder is
not needed any more."""
FLAGS = (
    APPROVE,
    Flag("file", "string", "The fleet's file, if the run was begun with it.", value="FILE"),
    Flag("detailed-exitcode", "bool", "Exit with 0 for no changes, 1 for errors, 2 for changes."),
    *REPORTS,
)


def run(arguments: Arguments, terminal: Terminal) -> int:
    """0, 1 on errors, or 2 with -detailed-exitcode when there are changes."""
    from planner.cli.batch_view import conclude, listener
    from planner.workflows.batch.resume import resume

    if len(arguments.words) > 1:
        raise UsageError("Too many words", "Name one run, as the folder below .planner/batch is called.")
    if terminal.owns_process:
        install()

    def began(name: str, in_flight: list[str]) -> None:
        if not arguments["json"]:
            terminal.out(f"Resuming {name}.")
            for unit in in_flight:
                terminal.out(f"{unit}: was in work when the run was cut off")

    root = os.path.dirname(os.path.abspath(arguments["file"])) if arguments["file"] else os.getcwd()
    ask = None if arguments["auto-approve"] else approval("apply", terminal)
    name = arguments.words[0] if arguments.words else ""
    report = resume(name, root, listener(arguments, terminal), ask, began)
    return conclude(report, arguments, terminal)
