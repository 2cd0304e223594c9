"""Splits output that arrives in pieces into lines."""

from __future__ import annotations

from collections.abc import Callable

LONGEST = 64 * 1024
"""The number of bytes after which a long line is reported in parts."""


class Lines:
    """Receives bytes and passes on complete lines."""

    def __init__(self, output: Callable[[str], None]) -> None:
        self.output = output
        self._rest = b""

    def receive(self, data: bytes) -> None:
        """Report all lines that `data` completes. The rest is kept until more data arrives."""
        *whole, self._rest = (self._rest + data).split(b"\n")
        for each in whole:
            self.output(each.decode("utf-8", "replace"))
        if len(self._rest) > LONGEST:
            self.flush()

    def flush(self) -> None:
        """Report the remaining, incomplete line."""
        if self._rest:
            self.output(self._rest.decode("utf-8", "replace"))
            self._rest = b""
