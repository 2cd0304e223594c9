"""The end of most commands: show the problems and turn them into an exit code."""

from __future__ import annotations

from collections.abc import Iterable

from planner.render.terminal import Terminal
from planner.vocabulary.diagnostic import Diagnostic, has_errors


def finish(diagnostics: Iterable[Diagnostic], terminal: Terminal) -> int:
    """0, or 1 when there is an error among them."""
    found = list(diagnostics)
    if found:
        from planner.render.diagnostics import show

        show(found, terminal)
    return int(has_errors(found))
