"""What a command writes to: a stream that may be full, gone or closed while work goes on. Output that fails never
reaches the work: what failed is kept, the rest goes nowhere, and the command says so at its end."""

from __future__ import annotations

import errno
import os
from contextlib import suppress
from typing import Any, TextIO

_PIECE = 1024
"""characters that a pipe takes as a whole or not at all, however a stream without a buffer deals with the rest"""


class Output:
    """A text stream whose `write` and `flush` never fail. `name` is what messages call it, `problem` the first failure.

    Characters that UTF-8 has not (halves of surrogate pairs) are written as U+FFFD."""

    def __init__(self, stream: TextIO, name: str) -> None:
        self.stream, self.name = stream, name
        self.problem: OSError | ValueError | None = None
        self.copies: list[str] | None = None
        """takes what is written, too, where somebody wants it"""

    def write(self, text: str) -> int:
        if self.copies is not None:
            self.copies.append(text)
        return self.write_over(text)

    def write_over(self, text: str) -> int:
        """Text that does not stay, such as a line that says how far work is: no part of what is told."""
        if self.problem is None:
            try:
                self._write(text)
            except (OSError, ValueError) as problem:
                self._failed(problem)
        return len(text)

    def write_bytes(self, data: bytes) -> None:
        """Bytes that are no text, where there is a stream that takes them."""
        self.flush()
        buffer = getattr(self.stream, "buffer", None)
        if self.problem is None and buffer is not None:
            try:
                buffer.write(data)
                buffer.flush()
            except (OSError, ValueError) as problem:
                self._failed(problem)

    def flush(self) -> None:
        if self.problem is None:
            try:
                self.stream.flush()
            except (OSError, ValueError) as problem:
                self._failed(problem)

    def close(self) -> None:
        """Write what is left, and close the stream."""
        self.flush()
        with suppress(OSError, ValueError):
            self.stream.close()

    @property
    def is_abandoned(self) -> bool:
        """Whether the reader went away, as `| head` does: nobody is left to tell."""
        return isinstance(self.problem, OSError) and self.problem.errno == errno.EPIPE

    def __getattr__(self, name: str) -> Any:
        return getattr(self.stream, name)

    def __enter__(self) -> Output:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _write(self, text: str) -> None:
        if len(text) <= _PIECE:
            try:
                self.stream.write(text)
            except UnicodeEncodeError:
                self.stream.write(_with_whole_characters(text))
            return
        text = _with_whole_characters(text)
        for at in range(0, len(text), _PIECE):
            self.stream.write(text[at : at + _PIECE])

    def _failed(self, problem: OSError | ValueError) -> None:
        """Nothing is written from now on, nor what the stream still holds, which Python would try again at its end."""
        self.problem = problem
        with suppress(OSError, ValueError):
            null = os.open(os.devnull, os.O_WRONLY | os.O_CLOEXEC)
            os.dup2(null, self.stream.fileno())
            os.close(null)


def _with_whole_characters(text: str) -> str:
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")


# what a terminal obeys, and what turns the direction of text: nothing of that is shown as it is
_OBEYED = {
    **{code: chr(0x2400 + code) for code in range(32) if chr(code) not in "\n\t"},
    0x7F: "\u2421",
    **{code: f"\\u{code:04x}" for code in (*range(0x80, 0xA0), 0x061C, *range(0x200E, 0x2010), *range(0x2028, 0x202F))},
    **{code: f"\\u{code:04x}" for code in range(0x2066, 0x206A)},
}
_IN_A_CELL = {
    **_OBEYED,
    **{code: f"\\x{code:02x}" for code in (*range(32), 0x7F)},
    **{ord(char): f"\\{letter}" for char, letter in zip("\n\r\t", "nrt", strict=True)},
}


def visible(text: str) -> str:
    """The text with characters that steer a terminal shown as pictures or escapes; line breaks and tabs stay."""
    return text if text.isprintable() else text.translate(_OBEYED)


def cell(text: str) -> str:
    """The same for a cell of a table: what is in it stays on its line."""
    return text if text.isprintable() else text.translate(_IN_A_CELL)
