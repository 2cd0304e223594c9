"""`stacks validate`: check a stack, its deployments and the modules of its components."""

from __future__ import annotations

from planner.cli.commands.validate import document, failure, report, usage_error
from planner.cli.flags import Arguments
from planner.cli.options import JSON_DOCUMENT
from planner.cli.views import open_json_into
from planner.render.terminal import Terminal

USAGE = "[options] [DIRECTORY]"
HELP = """Checks that a stack is well-formed and consistent: its component and deployment files, and the modules of
its components. Its modules and child stacks must be installed first (stacks init)."""
FLAGS = JSON_DOCUMENT
__all__ = ["FLAGS", "HELP", "USAGE", "failure", "run", "usage_error"]


def run(arguments: Arguments, terminal: Terminal) -> int:
    """0 when the stack is valid, else 1."""
    from planner.workflows.stacks.validate import validate_stack

    directory = arguments.at_most_one_word("stacks validate takes at most one directory.", ".")
    stream = open_json_into(arguments, terminal)
    result = validate_stack(directory)
    if stream is not None:
        with stream:
            print(document(result), file=stream)
    return report(result, arguments["json"], terminal, "stack")
