"""`state verify`: whether the state, its backup and its journal can be relied on."""

from __future__ import annotations

from planner.cli.commands.state_list import no_state
from planner.cli.flags import Arguments, Flag, UsageError
from planner.cli.options import JSON_LINES, VARIABLES, options
from planner.render.terminal import Terminal
from planner.render.view import open_plain_view, usage_error_lines
from planner.vocabulary.diagnostic import has_errors

USAGE = "[options]"
HELP = """Checks the state file, its backup, and the journal that an apply leaves when it is cut off: whether each can
be read, and whether they belong together. Nothing is changed. Ends with 1 when something is lost or damaged."""
FLAGS = (Flag("state", "string", "Check this state file.", value="FILE"), *VARIABLES, *JSON_LINES)
usage_error = usage_error_lines


def run(arguments: Arguments, terminal: Terminal) -> int:
    """0, or 1 when something is lost or damaged."""
    if arguments.words:
        raise UsageError("Too many words", "Another file is named with -state=FILE.")
    from planner.operations.shown import state_store
    from planner.state.verify import verify

    view = open_plain_view(arguments, terminal)
    store, problems = state_store(options(arguments))
    if store is None:
        return view.finish(problems)
    checked, found = verify(store)
    if not checked and not has_errors(found):
        found.append(no_state())
    for file in checked:
        text = f"{file.path}: {file.content}"
        view.say(text, text, type="state_checked", kind=file.kind, path=file.path)
    damaged = any(d.code == "state.journal_damaged" for d in found)
    return max(view.finish([*problems, *found]), int(damaged))
