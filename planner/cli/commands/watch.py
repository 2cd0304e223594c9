"""`watch`: a plan that is made again as files are saved."""

from __future__ import annotations

from planner.cli.flags import Arguments, no_directory
from planner.cli.options import DESTROY, JSON, OPERATION, STATE, VARIABLES, operation_options
from planner.render.terminal import Terminal

USAGE = "[options]"
HELP = """Plans, and plans again each time when a file is saved that the plan was made from: configuration, variables,
the state, and what functions read. Shows how each plan differs from the one before, and why. Nothing is changed.

With -refresh=false no provider is asked about objects, which is fastest. Ctrl-C ends it."""
FLAGS = (JSON, DESTROY, *OPERATION, *STATE, *VARIABLES)


def run(arguments: Arguments, terminal: Terminal) -> int:
    """0 when it is interrupted between two plans, 1 when a plan is."""
    from planner.cli.plan_watch import watch

    no_directory(arguments, "watch")
    return watch(operation_options(arguments, needs_configuration=True), terminal, arguments["json"])
