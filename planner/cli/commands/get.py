"""`get`: install the modules that the configuration calls, and nothing else."""

from __future__ import annotations

from planner.api.installation import Installation
from planner.cli.flags import Arguments, Flag, no_directory
from planner.cli.options import JSON_LINES, VARIABLES, loading_calls
from planner.cli.views import open_view
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
    no_directory(arguments, "get")
    calls = loading_calls(Installation, arguments)
    view = open_view(arguments, terminal)
    directory, lines = arguments["test-directory"] or "", InitLines(view)
    with DownloadLine(terminal) as line:
        problems = calls.get(upgrade=arguments["update"], test_directory=directory, on_event=lines, progress=line)
    return view.finish(problems)
