"""Diagnostics as plain data: how they go from a worker to whoever reports them."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from planner.foundation.vocabulary.diagnostic import Diagnostic


def described(problems: Iterable[Diagnostic]) -> tuple[dict[str, Any], ...]:
    """Diagnostics in the shape of `validate -json`, each once."""
    if not problems:
        return ()
    return _each_once(problems)


def _each_once(problems: Iterable[Diagnostic]) -> tuple[dict[str, Any], ...]:
    from planner.render.diagnostics_json import diagnostic_json

    documents: list[dict[str, Any]] = []
    for problem in problems:
        data = diagnostic_json(problem)
        if data not in documents:
            documents.append(data)
    return tuple(documents)
