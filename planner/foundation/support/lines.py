"""Splits output that arrives in pieces into lines."""

from __future__ import annotations

from collections.abc import Callable

LONGEST = 64 * 1024  # bytes; longer lines are reported in several pieces


class Lines:
    """Receives bytes and passes lines to `output`. Lines of more than LONGEST bytes are passed in pieces."""

    def __init__(self, output: Callable[[str], None]) -> None:
        self.output = output
        self._rest = b""

    def receive(self, data: bytes) -> None:
        """Pass the lines that `data` completes to `output`. An incomplete line is kept until more data arrives."""
        *whole, self._rest = (self._rest + data).split(b"\n")
        for each in whole:
            self.output(each.decode("utf-8", "replace"))
        if len(self._rest) > LONGEST:
            self.flush()

    def flush(self) -> None:
        """Pass an incomplete last line to `output`."""
        if self._rest:
            self.output(self._rest.decode("utf-8", "replace"))
            self._rest = b""
