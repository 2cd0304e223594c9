"""`stacks providers-lock`: checksums of a stack's providers for other platforms into its lock file."""

from __future__ import annotations

from planner.cli.commands.providers_lock import CHOICES, checked_choices
from planner.cli.flags import Arguments
from planner.cli.options import JSON_LINES
from planner.cli.views import open_view
from planner.render.download_line import DownloadLine
from planner.render.terminal import Terminal

USAGE = "[options] [PROVIDER...]"
HELP = """Downloads the packages of the providers of all components (or the named ones) for each platform from their
registries, whatever the installation settings, and records their checksums in the dependency lock file of the stack."""
FLAGS = (*CHOICES, *JSON_LINES)


def run(arguments: Arguments, terminal: Terminal) -> int:
    """0, or 1 on errors."""
    from planner.workflows.stacks.init import lock_stack_providers

    platforms = checked_choices(arguments)
    view = open_view(arguments, terminal)
    with DownloadLine(terminal) as line:
        diagnostics = lock_stack_providers(
            ".",
            tuple(arguments.words),
            platforms,
            view.log,
            arguments["fs-mirror"] or "",
            arguments["net-mirror"] or "",
            line,
        )
    return view.finish(diagnostics)
