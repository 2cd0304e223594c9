"""Writing a page for people to a file that they named."""

from __future__ import annotations

from planner.vocabulary.diagnostic import Diagnostic, error


def write_page(path: str, text: str) -> list[Diagnostic]:
    """Write the page; what went wrong."""
    try:
        with open(path, "w", encoding="utf-8", errors="replace") as file:
            file.write(text)
    except (OSError, ValueError) as problem:
        why = problem.strerror if isinstance(problem, OSError) else problem
        return [error("explore.unwritable", "Cannot write the page", f"{path}: {why}.")]
    return []
