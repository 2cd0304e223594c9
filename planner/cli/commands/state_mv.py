"""`state mv`: give objects in the state another address."""

from __future__ import annotations

from planner.api.states import States
from planner.cli.flags import Arguments, Flag, UsageError
from planner.cli.options import IGNORE_REMOTE_VERSION, JSON_LINES, LOCK, VARIABLES, state_calls
from planner.cli.views import open_plain_view
from planner.render.terminal import Terminal
from planner.render.value import quoted

USAGE = "[options] FROM TO"
HELP = """Moves a resource instance, a resource or a module in the state to another address. The real objects are not
changed."""
FLAGS = (
    Flag("dry-run", "bool", "List what would be moved, and move nothing."),
    Flag("state", "string", "Read the state from this file.", value="FILE"),
    Flag("state-out", "string", "Move into this state file.", value="FILE"),
    Flag("backup", "string", "Keep the former state in this file.", value="FILE"),
    Flag("backup-out", "string", "Keep the former state of -state-out in this file.", value="FILE"),
    IGNORE_REMOTE_VERSION,
    *LOCK,
    *VARIABLES,
    *JSON_LINES,
)


def run(arguments: Arguments, terminal: Terminal) -> int:
    """0, or 1 when nothing could be moved."""
    if len(arguments.words) != 2:
        raise UsageError("Two addresses are needed", "Write the old address and the new one.")
    dry = arguments["dry-run"]
    view = open_plain_view(arguments, terminal)
    old, new = arguments.words
    moved, diagnostics = state_calls(States, arguments).move_objects(old, new, dry_run=dry)
    for before, after in moved:
        view.say(f"{'Would move' if dry else 'Move'} {quoted(before)} to {quoted(after)}")
    if dry:
        view.say("" if moved else "Would have moved nothing.")
    else:
        view.say(f"Successfully moved {len(moved)} object(s)." if moved else "No matching objects found.")
    return view.finish(diagnostics)
