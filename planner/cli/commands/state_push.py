"""`state push`: replace the state by a file."""

from __future__ import annotations

import sys

from planner.api.states import States
from planner.cli.flags import Arguments, Flag
from planner.cli.options import IGNORE_REMOTE_VERSION, JSON_LINES, LOCK, VARIABLES, state_calls
from planner.cli.views import open_plain_view
from planner.foundation.support.disk import MOST_BYTES, read_given
from planner.foundation.vocabulary.diagnostic import Failure, error
from planner.render.terminal import Terminal

USAGE = "[options] FILE"
HELP = """Replaces the state of the selected workspace with a state file ("-": standard input). A file with another
lineage or an older serial is rejected, unless -force is given."""
FLAGS = (
    Flag("force", "bool", "Write even an older state, or one of another lineage."),
    IGNORE_REMOTE_VERSION,
    *LOCK,
    *VARIABLES,
    *JSON_LINES,
)


def run(arguments: Arguments, terminal: Terminal) -> int:
    """0, or 1 when the state was refused."""
    path = arguments.only_word("One file is needed", 'Write the path of a state file, or "-".')
    view = open_plain_view(arguments, terminal)
    try:
        if path == "-":
            data = sys.stdin.buffer.read()
        else:
            data = read_given(path, MOST_BYTES)
    except (OSError, ValueError) as problem:
        reason = getattr(problem, "strerror", None) or str(problem)
        raise Failure(error("state.read", "Cannot read the file", f"{path}: {reason}.")) from None
    return view.finish(state_calls(States, arguments).push_state(data, force=arguments["force"]))
