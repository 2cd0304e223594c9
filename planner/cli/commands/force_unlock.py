"""`force-unlock`: remove a lock of the state that its holder left behind."""

from __future__ import annotations

from typing import TYPE_CHECKING

from planner.api.states import States
from planner.cli.approval import ask
from planner.cli.flags import Arguments, Flag
from planner.cli.options import INPUT, JSON_LINES, VARIABLES, may_ask, state_calls
from planner.cli.views import open_plain_view
from planner.render.terminal import Terminal

if TYPE_CHECKING:
    from planner.world.state.lock import LockInfo

USAGE = "[options] LOCK_ID"
HELP = "Removes the lock of the state with this id. Do this only if its holder is certainly not running any more."
FLAGS = (Flag("force", "bool", "Unlock without a prompt for confirmation."), INPUT, *VARIABLES, *JSON_LINES)


def run(arguments: Arguments, terminal: Terminal) -> int:
    """0, or 1 when the lock is not removed."""
    lock_id = arguments.only_word("One lock id is needed", "The message of the failed command names it.")
    view = open_plain_view(arguments, terminal)

    def confirm(holder: LockInfo) -> bool:
        if arguments["force"]:
            return True
        remark = (
            "planner will remove the lock on the remote state.\nThis will allow local planner commands to modify this "
            "state, even though it\nmay still be in use. Only 'yes' will be accepted to confirm."
        )
        remark = f"{holder.describe()}\n\n{remark}"
        return ask("Do you really want to force-unlock?", remark, terminal, may_ask(arguments)) == "yes"

    unlocked, diagnostics = state_calls(States, arguments).unlock(lock_id, confirm)
    if unlocked:
        view.say(
            "planner state has been successfully unlocked!\n\n"
            "The state has been unlocked, and planner commands should now be able to\n"
            "obtain a new lock on the remote state."
        )
    elif not diagnostics:
        view.say("force-unlock cancelled.")
    return max(view.finish(diagnostics), int(not unlocked))
