"""`logout`: remove the token that `login` keeps."""

from __future__ import annotations

from planner.cli.flags import Arguments
from planner.cli.options import JSON_LINES
from planner.cli.views import open_plain_view
from planner.render.terminal import Terminal

USAGE = "[options] HOST"
HELP = """Removes the API token of a host from where `login` stores it. The token stays valid until the host revokes
it."""
FLAGS = (*JSON_LINES,)


def run(arguments: Arguments, terminal: Terminal) -> int:
    """0, or 1 when it cannot be removed."""
    from planner.foundation.clients.login import logout

    text = "The logout command expects exactly one argument: the host to log out of."
    host = arguments.only_word("Unexpected argument", text)
    view = open_plain_view(arguments, terminal)
    return view.finish(logout(host, view.say))
