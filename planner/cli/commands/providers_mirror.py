"""`providers mirror`: the packages of all providers into a directory."""

from __future__ import annotations

from planner.api.installation import Installation
from planner.cli.commands.providers_lock import checked_platforms
from planner.cli.flags import Arguments, Flag
from planner.cli.options import JSON_LINES, VARIABLES, loading_calls
from planner.cli.views import open_view
from planner.render.download_line import DownloadLine
from planner.render.terminal import Terminal

USAGE = "[options] DIR"
HELP = """Copies the packages of the providers that the configuration requires into a directory. The directory can be
used as a filesystem mirror, or published over https as a network mirror."""
FLAGS = (
    Flag("platform", "list", "A platform to mirror for (this one). May be repeated.", value="OS_ARCH"),
    *VARIABLES,
    *JSON_LINES,
)


def run(arguments: Arguments, terminal: Terminal) -> int:
    """0, or 1 on errors."""
    directory = arguments.only_word(
        "No output directory", "providers mirror takes one directory, into which it copies the packages."
    )
    platforms = checked_platforms(arguments["platform"])
    view = open_view(arguments, terminal)
    with DownloadLine(terminal) as line:
        diagnostics = loading_calls(Installation, arguments).mirror_providers(
            directory, platforms, view.log, progress=line
        )
    return view.finish(diagnostics)
