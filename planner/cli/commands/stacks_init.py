"""`stacks init`: install the modules and stacks that a stack calls, and select its providers."""

from __future__ import annotations

from planner.cli.flags import Arguments, Flag
from planner.cli.options import JSON_LINES
from planner.cli.views import open_view
from planner.foundation.vocabulary.diagnostic import has_errors
from planner.render.download_line import DownloadLine, InitLines
from planner.render.terminal import Terminal

USAGE = "[options] [DIRECTORY]"
HELP = """Prepares a stack: installs the modules of its components and its child stacks, and selects the providers of
all of them together. It is safe to run again."""
FLAGS = (
    Flag("upgrade", "bool", "Select the newest versions that are allowed."),
    Flag("plugin-dir", "list", "Look for providers in this directory only. May be repeated.", value="DIR"),
    Flag("lockfile", "string", "How to treat the lock file: readonly.", value="MODE"),
    *JSON_LINES,
)


def run(arguments: Arguments, terminal: Terminal) -> int:
    """0, or 1 on errors."""
    from planner.workflows.stacks.init import init_stack

    directory = arguments.at_most_one_word("stacks init takes at most one directory.", ".")
    view = open_view(arguments, terminal)
    with DownloadLine(terminal) as line:
        diagnostics = init_stack(
            directory,
            upgrade=arguments["upgrade"],
            lockfile=arguments["lockfile"] or "",
            plugin_dirs=arguments["plugin-dir"],
            hooks=InitLines(view),
            progress=line,
        )
    view.diagnostics(diagnostics)
    if has_errors(diagnostics):
        return 1
    success = "The stack has been successfully initialized!"
    view.say(f"\n{terminal.paint(success, 'bold', 'green')}", success)
    return 0
