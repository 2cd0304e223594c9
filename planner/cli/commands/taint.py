"""`taint`: mark an object for replacement by the next apply."""

from __future__ import annotations

from collections.abc import Callable

from planner.api.states import States
from planner.cli.flags import Arguments, Flag
from planner.cli.options import IGNORE_REMOTE_VERSION, JSON_LINES, STATE, VARIABLES, state_calls
from planner.cli.views import open_plain_view
from planner.foundation.vocabulary.diagnostic import Diagnostic
from planner.render.terminal import Terminal

USAGE = "[options] ADDRESS"
HELP = "Marks a resource instance as tainted: the next plan replaces it. Better: `planner apply -replace=ADDRESS`."
FLAGS = (
    Flag("allow-missing", "bool", "It is not an error when the instance does not exist."),
    IGNORE_REMOTE_VERSION,
    *STATE,
    *VARIABLES,
    *JSON_LINES,
)


def run(arguments: Arguments, terminal: Terminal) -> int:
    """0, or 1 when the instance does not exist."""
    return mark(arguments, terminal, States.taint, "Resource instance {} has been marked as tainted.")


def mark(arguments: Arguments, terminal: Terminal, change: Callable[..., list[Diagnostic]], sentence: str) -> int:
    """The common part of taint and untaint."""
    address = arguments.only_word("One address is needed", "Write the address of a resource instance.")
    view = open_plain_view(arguments, terminal)
    diagnostics = change(state_calls(States, arguments), address, allow_missing=arguments["allow-missing"])
    if not diagnostics:
        text = sentence.format(address)
        view.say(text, text)
    return view.finish(diagnostics)
