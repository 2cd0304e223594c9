"""The end of most commands: show the problems and turn them into an exit code; or a document."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from planner.foundation.vocabulary.diagnostic import Diagnostic, has_errors
from planner.render.terminal import Terminal


def finish(diagnostics: Iterable[Diagnostic], terminal: Terminal) -> int:
    """0, or 1 when there is an error among them."""
    found = list(diagnostics)
    if found:
        _show(found, terminal)
    return int(has_errors(found))


def _show(diagnostics: list[Diagnostic], terminal: Terminal) -> None:
    from planner.render.diagnostics import show

    show(diagnostics, terminal)


def json_text(document: Any) -> str:
    """A document as JSON, for programs."""
    from planner.foundation.support.exact_json import dumps

    return dumps(document, escape_html=False).decode("utf-8")
