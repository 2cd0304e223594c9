"""`force-unlock`: remove a lock of the state that its holder left behind."""

from __future__ import annotations

from planner.cli.approval import ask
from planner.cli.finish import finish
from planner.cli.flags import Arguments, Flag, UsageError
from planner.cli.options import INPUT, VARIABLES, may_ask, options
from planner.cli.terminal import Terminal
from planner.vocabulary.diagnostic import has_errors

USAGE = "[options] LOCK_ID"
HELP = "Removes the lock of the state that has this id. Only do this when its holder is surely gone."
FLAGS = (Flag("force", "bool", "Do not ask."), INPUT, *VARIABLES)


def run(arguments: Arguments, terminal: Terminal) -> int:
    """0, or 1 when the lock is not removed."""
    if len(arguments.words) != 1:
        raise UsageError("One lock id is needed", "The message of the failed command names it.")
    from planner.editing import force_unlock

    settings = options(arguments)
    if not arguments["force"]:
        remark = "Whoever still holds it would no longer be protected. Only 'yes' will be accepted to confirm."
        if ask("Do you really want to remove the lock?", remark, terminal, may_ask(arguments)) != "yes":
            terminal.out("force-unlock cancelled.")
            return 1
    diagnostics = force_unlock(settings, arguments.words[0])
    if not has_errors(diagnostics):
        terminal.out("The state has been successfully unlocked.")
    return finish(diagnostics, terminal)
