"""`import`: bring an existing object under management."""

from __future__ import annotations

from planner.api.making import Making
from planner.cli.approval import asking
from planner.cli.flags import Arguments, Flag, UsageError
from planner.cli.options import IGNORE_REMOTE_VERSION, INPUT, JSON_LINES, STATE, VARIABLES, may_ask, plan_calls
from planner.cli.views import open_view
from planner.foundation.vocabulary.diagnostic import has_errors
from planner.render.terminal import Terminal

USAGE = "[options] ADDRESS ID"
HELP = """Records an existing object in the state as the named resource instance. The configuration must declare the
resource. Better: an import block, which is planned first."""
FLAGS = (
    Flag("config", "string", "Take the configuration from this directory.", value="DIR"),
    Flag("parallelism", "int", "", 10, "N"),
    IGNORE_REMOTE_VERSION,
    INPUT,
    *STATE,
    *VARIABLES,
    *JSON_LINES,
)


def run(arguments: Arguments, terminal: Terminal) -> int:
    """0, or 1 on errors."""
    if len(arguments.words) != 2:
        raise UsageError("An address and an id are needed")
    address, id = arguments.words
    calls = plan_calls(Making, arguments, directory=arguments["config"] or ".")
    calls = asking(calls, terminal, may_ask(arguments))
    view = open_view(arguments, terminal)
    said = f'{address}: Importing from ID "{id}"...'
    diagnostics = calls.import_object(address, id, view.hooks, lambda: view.tell(said))
    view.diagnostics(diagnostics)
    if has_errors(diagnostics):
        return 1
    view.say("\nImport successful! The object is managed from now on.")
    return 0
