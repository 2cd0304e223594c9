"""`login` and `logout`: get, store and remove tokens of hosts."""

from __future__ import annotations

from planner.cli.approval import ask
from planner.cli.flags import Arguments, command
from planner.cli.options import INPUT, JSON_LINES, VARIABLES, may_ask
from planner.cli.views import open_plain_view
from planner.foundation.vocabulary.diagnostic import error
from planner.render.terminal import Terminal


@command(
    "[options] HOST",
    """Gets an API token for a host, from its login service or from a prompt, and stores it with your credentials
helper, or in credentials.tfrc.json in ~/.terraform.d (readable by you alone).""",
    (INPUT, *VARIABLES, *JSON_LINES),
)
def login(arguments: Arguments, terminal: Terminal) -> int:
    from planner.foundation.clients.login import login

    host = arguments.only_word(
        "Unexpected argument", "The login command expects exactly one argument: the host to log in to."
    )
    view = open_plain_view(arguments, terminal)
    if not may_ask(arguments):
        detail = (
            'The "planner login" command uses interactive prompts to obtain and record credentials, so it can\'t be '
            "run with input disabled.\n\nTo configure credentials in a non-interactive context, write existing "
            "credentials directly to a CLI configuration file."
        )
        return view.finish([error("login.input", "Login is an interactive command", detail)])

    def asked(question: str, remark: str, hidden: bool = False) -> str:
        return ask(question, remark, terminal, True, hidden)

    def say(text: str) -> None:
        view.say(text)
        terminal.stdout.flush()

    return view.finish(login(host, asked, say))


@command(
    "[options] HOST",
    """Removes the API token of a host from where `login` stores it. The token stays valid until the host revokes
it.""",
    (*JSON_LINES,),
)
def logout(arguments: Arguments, terminal: Terminal) -> int:
    from planner.foundation.clients.login import logout

    text = "The logout command expects exactly one argument: the host to log out of."
    host = arguments.only_word("Unexpected argument", text)
    view = open_plain_view(arguments, terminal)
    return view.finish(logout(host, view.say))
