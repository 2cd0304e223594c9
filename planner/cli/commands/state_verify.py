"""`state verify`: whether the state, its backup and its journal can be relied on."""

from __future__ import annotations

from planner.api.states import States
from planner.cli.commands.state_list import no_state
from planner.cli.flags import Arguments, Flag
from planner.cli.options import JSON_LINES, VARIABLES, state_calls
from planner.cli.views import open_plain_view
from planner.foundation.vocabulary.diagnostic import Diagnostic, has_errors
from planner.render.terminal import Terminal
from planner.render.view import View
from planner.world.state.verify import VerifiedFile

USAGE = "[options]"
HELP = """Checks the state file, its backup, and the journal of an interrupted apply: whether each can be read, and
whether they belong together. Nothing is changed. The exit code is 1 when something is missing or damaged."""
FLAGS = (Flag("state", "string", "Check this state file.", value="FILE"), *VARIABLES, *JSON_LINES)


def run(arguments: Arguments, terminal: Terminal) -> int:
    """0, or 1 when something is lost or damaged."""
    arguments.no_words("Another file is named with -state=FILE.")
    view = open_plain_view(arguments, terminal)
    return _report(view, *state_calls(States, arguments).verify_state())


def _report(view: View, checked: list[VerifiedFile], found: list[Diagnostic]) -> int:
    if not checked and not has_errors(found):
        found.append(no_state())
    for file in checked:
        text = f"{file.path}: {file.content}"
        view.say(text, text, type="state_checked", kind=file.kind, path=file.path)
    damaged = any(d.code == "state.journal_damaged" for d in found)
    return max(view.finish(found), int(damaged))
