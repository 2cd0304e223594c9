"""`get`: install the modules that the configuration calls, and nothing else."""

from __future__ import annotations

from planner.cli.flags import Arguments, Flag, no_directory
from planner.cli.options import JSON_LINES, VARIABLES, load_options
from planner.cli.views import open_view
from planner.foundation.vocabulary.diagnostic import has_errors
from planner.render.download_line import DownloadLine, InitLines
from planner.render.terminal import Terminal

USAGE = "[options]"
HELP = "Installs the modules that the configuration calls into .terraform/modules."
FLAGS = (
    Flag("update", "bool", "Look for newer versions of installed modules."),
    Flag("test-directory", "string", "Where else test files are (tests).", value="DIR"),
    *VARIABLES,
    *JSON_LINES,
)


def run(arguments: Arguments, terminal: Terminal) -> int:
    """0, or 1 on errors."""
    from planner.operations.get import get
    from planner.operations.test_modules import read_tests

    no_directory(arguments, "get")
    settings = load_options(arguments)
    view = open_view(arguments, terminal)
    line = DownloadLine(terminal)
    tests = read_tests(settings.directory, arguments["test-directory"] or "")
    diagnostics = [] if tests is None else list(tests.problems)
    if not has_errors(diagnostics):
        diagnostics += get(settings, upgrade=arguments["update"], hooks=InitLines(view), progress=line, tests=tests)
    line.clear()
    view.diagnostics(diagnostics)
    return int(has_errors(diagnostics))
