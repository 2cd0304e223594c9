"""A large file that is read while something else is done."""

from __future__ import annotations

import os
import stat
from contextlib import suppress
from threading import Thread

from planner.foundation.support.disk import read_given

LEAST = 1 << 20
"""bytes; a smaller file is read when it is requested"""


class Ahead:
    """The content of a file that the user named, up to a maximum size; a long one is read in the background."""

    def __init__(self, path: str, most: int) -> None:
        self._path, self._most = path, most
        self._data: bytes | None = None
        self._thread: Thread | None = None
        if _is_large(path):
            self._thread = Thread(target=self._read, daemon=True)
            self._thread.start()

    def _read(self) -> None:
        with suppress(OSError, ValueError, MemoryError):  # later readers meet it once more
            self._data = read_given(self._path, self._most)

    def data(self) -> bytes:
        """Raises OSError, and ValueError for a name that none can have."""
        if self._thread is not None:
            self._thread.join()
        return self._data if self._data is not None else read_given(self._path, self._most)


def _is_large(path: str) -> bool:
    try:
        status = os.stat(path)
    except (OSError, ValueError):
        return False
    return stat.S_ISREG(status.st_mode) and status.st_size >= LEAST
