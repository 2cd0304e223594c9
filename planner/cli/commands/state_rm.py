"""`state rm`: forget objects, so that they are no longer managed, without destroying them."""

from __future__ import annotations

from planner.api.states import States
from planner.cli.flags import Arguments, Flag, UsageError
from planner.cli.options import IGNORE_REMOTE_VERSION, JSON_LINES, LOCK, VARIABLES, state_calls
from planner.cli.views import open_plain_view
from planner.render.terminal import Terminal

USAGE = "[options] ADDRESS..."
HELP = """Removes resource instances, resources or modules from the state. The real objects continue to exist,
unmanaged."""
FLAGS = (
    Flag("dry-run", "bool", "List what would be removed, and remove nothing."),
    Flag("state", "string", "Edit this state file.", value="FILE"),
    Flag("backup", "string", "Keep the former state in this file.", value="FILE"),
    IGNORE_REMOTE_VERSION,
    *LOCK,
    *VARIABLES,
    *JSON_LINES,
)


def run(arguments: Arguments, terminal: Terminal) -> int:
    """0, or 1 when an address names nothing."""
    if not arguments.words:
        raise UsageError("At least one address is needed")
    dry = arguments["dry-run"]
    view = open_plain_view(arguments, terminal)
    removed, diagnostics = state_calls(States, arguments).forget(arguments.words, dry_run=dry)
    for address in removed:
        view.say(f"{'Would remove' if dry else 'Removed'} {address}")
    if not dry:
        view.say(f"Successfully removed {len(removed)} resource instance(s).")
    elif not removed:
        view.say("Would have removed nothing.")
    return view.finish(diagnostics)
