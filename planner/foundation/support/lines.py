"""Output in pieces, reported line by line."""

from __future__ import annotations

from collections.abc import Callable

LONGEST = 64 * 1024
"""The number of bytes after which a line is reported in parts."""


class Lines:
    """Receives bytes and passes on complete lines."""

    def __init__(self, output: Callable[[str], None]) -> None:
        self.output = output
        self._rest = b""

    def receive(self, data: bytes) -> None:
        """Report all lines that are complete with `data`; the rest waits for more."""
        *whole, self._rest = (self._rest + data).split(b"\n")
        for each in whole:
            self.output(each.decode("utf-8", "replace"))
        if len(self._rest) > LONGEST:
            self.flush()

    def flush(self) -> None:
        """Report the unfinished line."""
        if self._rest:
            self.output(self._rest.decode("utf-8", "replace"))
            self._rest = b""
