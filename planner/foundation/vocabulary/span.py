"""Ranges of source texts. Lines and columns are computed on first use.

Offsets count code points of the decoded text. Positions are those of the ecosystem's diagnostics: lines and columns
start at 1, columns count grapheme clusters, bytes are 0-based offsets in the UTF-8 file, and ends are exclusive."""

from __future__ import annotations

from _pickle import dumps
from bisect import bisect_right
from contextvars import ContextVar
from functools import lru_cache
from typing import Any

from planner.foundation.vocabulary.records import field, frozen


@frozen
class Position:
    """1-based line and column (in grapheme clusters), and 0-based byte offset."""

    line: int
    column: int
    byte: int


_TEXTS: ContextVar[bool] = ContextVar("texts", default=True)


def pickled_without_texts(value: Any) -> bytes:
    """A pickle without the texts of sources, which the process that reads it must set again."""
    token = _TEXTS.set(False)
    try:
        return dumps(value, 5)
    finally:
        _TEXTS.reset(token)


@lru_cache(256)
def _source(filename: str, text: str, is_secret: bool) -> Source:
    """The Source of a text. Equal arguments return the same object, so that diagnostics from two processes can be
    equal."""
    return Source(filename, text, is_secret)


class Source:
    """The text of a file or other input, and its name in diagnostics. `is_secret`: whether diagnostics must not show
    the text."""

    __slots__ = ("_ascii", "_lines", "filename", "is_secret", "text")

    def __init__(self, filename: str, text: str, is_secret: bool = False) -> None:
        self.filename = filename
        self.text = text
        self.is_secret = is_secret
        self._lines: list[int] | None = None
        self._ascii: bool | None = None

    def __reduce__(self) -> tuple[Any, ...]:
        if _TEXTS.get():
            return _source, (self.filename, self.text, self.is_secret)
        return Source, (self.filename, "")

    def __repr__(self) -> str:
        return f"Source({self.filename!r})"

    @property
    def line_starts(self) -> list[int]:
        if self._lines is None:
            starts, find, at = [0], self.text.find, -1
            while (at := find("\n", at + 1)) >= 0:
                starts.append(at + 1)
            self._lines = starts
        return self._lines

    def line_number(self, offset: int) -> int:
        return bisect_right(self.line_starts, offset)

    def line_text(self, number: int) -> str:
        """A line (1-based) without its line break."""
        starts = self.line_starts
        end = starts[number] if number < len(starts) else len(self.text)
        return self.text[starts[number - 1] : end].rstrip("\r\n")

    def position(self, offset: int) -> Position:
        offset = max(0, min(offset, len(self.text)))
        line = self.line_number(offset)
        start = self.line_starts[line - 1]
        if self._ascii is None:
            self._ascii = self.text.isascii()
        column = 1
        # in JSON, OpenTofu counts a tab as two columns and a carriage return as none
        if self.filename.endswith(".json"):
            column += self.text.count("\t", start, offset) - self.text.count("\r", start, offset)
        if self._ascii:
            return Position(line, offset - start + column, offset)
        column += count_graphemes(self.text[start:offset])
        if line == 1 and offset and self.text.startswith("\ufeff"):  # a byte order mark takes no column
            column -= 1
        return Position(line, column, len(self.text[:offset].encode("utf-8", "surrogatepass")))


@frozen
class Span:
    """The offsets [start, end) in a source."""

    source: Source = field(eq=lambda s: s.filename)
    start: int
    end: int

    @property
    def filename(self) -> str:
        return self.source.filename

    @property
    def line(self) -> int:
        return self.source.line_number(self.start)

    @property
    def start_position(self) -> Position:
        return self.source.position(self.start)

    @property
    def end_position(self) -> Position:
        return self.source.position(self.end)

    @property
    def place(self) -> str:
        """`FILE:LINE,COLUMN-COLUMN`, or `FILE:LINE,COLUMN-LINE,COLUMN` if it ends on another line; the end is
        exclusive."""
        start, end = self.start_position, self.end_position
        last = f"{end.column}" if start.line == end.line else f"{end.line},{end.column}"
        return f"{self.filename}:{start.line},{start.column}-{last}"

    @property
    def text(self) -> str:
        return self.source.text[self.start : self.end]

    def __str__(self) -> str:
        return f"{self.filename}:{self.line}"


# Extended grapheme clusters (Unicode Standard Annex 29): the unit of columns and of string lengths.


def graphemes(text: str) -> list[str]:
    if text.isascii():
        return list(text) if "\r" not in text else _clusters(text)
    return _clusters(text)


def count_graphemes(text: str) -> int:
    if text.isascii() and "\r" not in text:
        return len(text)
    return len(_clusters(text))


def _clusters(text: str) -> list[str]:
    import regex  # imported on first use: only texts that are not ASCII need its tables

    clusters = regex.findall(r"\X", text)
    if _may_have_conjuncts(text):
        # OpenTofu uses the rules before Unicode 15.1, in which a conjunct of Indic scripts is several clusters.
        breaks = regex.compile(r"(?V1)(?<=[\p{GCB=Extend}\p{GCB=ZWJ}])(?=\p{InCB=Consonant})")
        return [part for cluster in clusters for part in breaks.split(cluster)]
    return clusters


def _may_have_conjuncts(text: str) -> bool:
    """Whether the text has letters of the scripts from Devanagari to Malayalam."""
    return any("\u0900" <= character <= "\u0d7f" for character in text)
