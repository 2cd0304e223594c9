"""Whose a generated file is: its first line ends with the mark of whoever writes it."""

from __future__ import annotations

import os


def ends_with_mark(path: str, mark: str) -> bool:
    """Whether the first line of a file ends with a mark. A link is nobody's."""
    if os.path.islink(path):
        return False
    try:
        with open(path, encoding="utf-8", errors="replace") as file:
            return file.readline(4096).strip().endswith(mark)
    except OSError:
        return False
