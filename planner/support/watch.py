"""Waiting for files to change, by looking at them now and then: no service of the operating system is needed."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator, Sequence

SECONDS = 0.5
"""between two looks"""
MOST_FILES = 10_000
"""that are looked at"""


def changes(words: Sequence[str], seconds: float = SECONDS) -> Iterator[None]:
    """Yields at once, and then each time when one of the named files, or a file in or below a named folder, was
    changed, made or removed. Hidden folders are left out, but for those that are named."""
    seen: dict[str, tuple[int, int]] | None = None
    while True:
        found = _look(words)
        if found != seen:
            seen = found
            yield
        time.sleep(seconds)


def _look(words: Sequence[str]) -> dict[str, tuple[int, int]]:
    """Path to time of change and size."""
    found: dict[str, tuple[int, int]] = {}
    for path in _paths(words):
        try:
            status = os.stat(path)
        except OSError:
            continue
        found[path] = status.st_mtime_ns, status.st_size
        if len(found) >= MOST_FILES:
            break
    return found


def _paths(words: Sequence[str]) -> Iterator[str]:
    for word in words:
        if not os.path.isdir(word):
            yield word
        for folder, folders, names in os.walk(word):
            folders[:] = [name for name in folders if not name.startswith(".")]
            yield from (os.path.join(folder, name) for name in names)
