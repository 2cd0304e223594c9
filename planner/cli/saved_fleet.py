"""`show` of a directory: the saved plan of a fleet, as the run that made it reported it."""

from __future__ import annotations

from planner.cli.batch_view import conclude_with
from planner.cli.flags import Arguments
from planner.render.terminal import Terminal
from planner.workflows.batch.join import whole


def show_fleet(folder: str, arguments: Arguments, terminal: Terminal) -> int:
    """Show the table of the units, and write the review: 0, or 1 where there is no complete plan. Raises Failure."""
    shown = whole(folder)
    return conclude_with(shown.document, shown, arguments, terminal)
