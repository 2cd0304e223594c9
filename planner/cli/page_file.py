"""Writing a page for people to a file that they named."""

from __future__ import annotations

import os

from planner.foundation.vocabulary.diagnostic import Diagnostic, error


def write_page(path: str, text: str, mode: int = 0o666) -> list[Diagnostic]:
    """Write the page; what went wrong. `mode`: the permissions of a new file, before the umask."""

    def opened(name: str, flags: int) -> int:
        return os.open(name, flags, mode)

    try:
        with open(path, "w", encoding="utf-8", errors="replace", opener=opened) as file:
            file.write(text)
    except (OSError, ValueError) as problem:
        why = (problem.strerror or problem) if isinstance(problem, OSError) else problem
        return [error("explore.unwritable", "Cannot write the page", f"{path}: {why}.")]
    return []
