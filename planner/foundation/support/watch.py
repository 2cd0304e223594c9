"""Waits for changes of files by polling."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from stat import S_ISDIR
from types import MappingProxyType

from planner.foundation.support.signals import STOP

SECONDS = 0.5  # seconds between two checks
MAX_FILES = 10_000  # the maximum number of files that are checked


def _sleep(seconds: float) -> bool:
    time.sleep(seconds)
    return False


def changes(
    words: Sequence[str],
    seconds: float = SECONDS,
    hidden: Mapping[str, Collection[str]] = MappingProxyType({}),
    pause: Callable[[float], bool] = _sleep,
) -> Iterator[None]:
    """Yields immediately, and then after each change, creation or removal of a named file, or of a file anywhere below
    a named directory. Only the first MAX_FILES files are watched. Hidden directories are skipped unless they are named.
    `hidden`: exceptions, {hidden directory: its subdirectories that are watched}. `pause` waits for a number of
    seconds; if it returns True, the function yields even if no file has changed. Raises KeyboardInterrupt after a stop
    request, even if no signal handler raises it."""
    seen: dict[str, tuple[int, int]] | None = None
    is_due = False
    while True:
        result = _file_stamps(words, hidden)
        if result != seen or is_due:
            seen = result
            yield
        if STOP.requested:
            raise KeyboardInterrupt
        is_due = pause(seconds)


class Watch:
    """Finds changes of files and of the direct entries of directories; `changes` compares with the last call."""

    def __init__(self) -> None:
        self._seen: dict[str, dict[str, tuple[int, ...]]] = {}
        self.added: set[str] = set()
        """files that did not exist at an earlier check; a replaced file is not among them"""

    def also(self, paths: Iterable[str], since: int = 0) -> None:
        """Add paths. Files whose last change was at or after `since` (nanoseconds since 1970; 0: none) count as
        changed."""
        for path in paths:
            if path not in self._seen:
                result = _look_at(path)
                self._seen[path] = {name: what for name, what in result.items() if not since or what[0] < since}

    def changes(self) -> frozenset[str]:
        """Files changed, created or removed since the last call."""
        changed: set[str] = set()
        for path, seen in self._seen.items():
            result = self._seen[path] = _look_at(path)
            self.added |= result.keys() - seen.keys()
            changed |= {name for name in seen.keys() | result.keys() if seen.get(name) != result.get(name)}
        return frozenset(changed)


def _look_at(path: str) -> dict[str, tuple[int, ...]]:
    result: dict[str, tuple[int, ...]] = {}
    try:
        names = [entry.path for entry in os.scandir(path)] if os.path.isdir(path) else [path]
    except OSError:
        return result  # a removed file counts as changed
    for name in names:
        try:
            status = os.stat(name)
        except OSError:
            continue
        is_folder = S_ISDIR(status.st_mode)  # for a directory, only its existence is compared
        result[os.path.normpath(name)] = (0, 0) if is_folder else (status.st_ctime_ns, status.st_size, status.st_ino)
    return result


def _file_stamps(words: Sequence[str], hidden: Mapping[str, Collection[str]]) -> dict[str, tuple[int, int]]:
    """The modification time (in nanoseconds) and the size of each file, by path."""
    result: dict[str, tuple[int, int]] = {}
    for path in _paths(words, hidden):
        try:
            status = os.stat(path)
        except OSError:
            continue
        result[path] = status.st_mtime_ns, status.st_size
        if len(result) >= MAX_FILES:
            break
    return result


def _paths(words: Sequence[str], hidden: Mapping[str, Collection[str]]) -> Iterator[str]:
    for word in words:
        if not os.path.isdir(word):
            yield word
        for folder, folders, names in os.walk(word):
            kept = hidden.get(os.path.basename(folder))
            if kept is not None:
                folders[:] = [name for name in folders if name in kept]
                continue
            folders[:] = [name for name in folders if not name.startswith(".") or name in hidden]
            yield from (os.path.join(folder, name) for name in names)
