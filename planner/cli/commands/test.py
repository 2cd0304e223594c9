"""`test`: known so that its absence is said clearly."""

from __future__ import annotations

from planner.cli.flags import Arguments, Flag
from planner.cli.options import VARIABLES
from planner.cli.views import usage_error_lines
from planner.render.terminal import Terminal
from planner.vocabulary.diagnostic import Failure, error

USAGE = "[options]"
HELP = "Test files (*.tftest.hcl, *.tofutest.hcl) are not run by this version of planner."
FLAGS = (
    Flag("json", "bool", "Print one JSON object a line, for programs."),
    Flag("json-into", "string", "", value="FILE"),
    Flag("filter", "list", "", value="FILE"),
    Flag("test-directory", "string", "", value="DIR"),
    Flag("verbose", "bool", ""),
    *VARIABLES,
)
usage_error = usage_error_lines


def run(arguments: Arguments, terminal: Terminal) -> int:
    """Never succeeds. Raises Failure."""
    raise Failure(error("cli.not_supported", "The command test is not supported yet", HELP))
