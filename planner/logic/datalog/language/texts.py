"""Built-in relations that split strings, the relation of ranges of numbers, and functions for Base64. A relation
returns the rows of its output columns, or None if the arguments are invalid."""

from __future__ import annotations

from base64 import b64decode, b64encode
from functools import lru_cache
from zlib import MAX_WBITS, decompressobj, error

from planner.logic.datalog.language.functions import compiled_pattern, searched
from planner.logic.datalog.language.values import Row, Value

MAX_ROWS = 100_000
_MAX_WORK = 1_000_000_000
"""maximum number of characters that a search for all matches may read in total, because it may read the whole string
again for each match"""


def is_pattern(value: Value) -> bool:
    return type(value) is str and compiled_pattern(value) is not None


def split(text: Value, separator: Value) -> list[Row] | None:
    """(index, part) of each string between separators; indexes begin at 0. None if an argument is invalid, or if there
    are too many rows."""
    if type(text) is not str or type(separator) is not str or not separator:
        return None
    if text.count(separator) >= MAX_ROWS:
        return None
    return list(enumerate(text.split(separator)))


def captures(text: Value, pattern: Value) -> list[Row] | None:
    """(group, part) of each group of the first match; group 0 is the whole match. A named group has two rows, with its
    number and with its name. A group that did not match has no row. None if an argument is invalid."""
    if type(text) is not str or type(pattern) is not str:
        return None
    expression = compiled_pattern(pattern)
    if expression is None:
        return None
    match = searched(expression, text)
    if match is None:
        return []
    rows: list[Row] = [(n, match.group(n)) for n in range(expression.groups + 1)]
    rows += [(name, match.group(n)) for name, n in sorted(expression.groupindex.items())]
    return [row for row in rows if row[1] is not None]


def find_all(text: Value, pattern: Value) -> list[Row] | None:
    """(index, part) of each match of the pattern; indexes begin at 0. None if an argument is invalid, or if there are
    too many rows."""
    if type(text) is not str or type(pattern) is not str:
        return None
    expression = compiled_pattern(pattern)
    if expression is None or searched(expression, text) is None:
        return None if expression is None else []
    rows: list[Row] = []
    for match in expression.finditer(text):
        if len(rows) == MAX_ROWS or len(rows) * len(text) > _MAX_WORK:
            return None
        rows.append((len(rows), match.group(0)))
    return rows


def range_(first: Value, last: Value) -> list[Row] | None:
    """(number,) for each integer from `first` to `last`, inclusive. None if an argument is invalid, or if there are too
    many rows."""
    if type(first) is not int or type(last) is not int or last - first >= MAX_ROWS:
        return None
    return [(number,) for number in range(first, last + 1)]


def member(*values: Value) -> list[Row]:
    return [(value,) for value in dict.fromkeys(values)]


LONGEST = 16_000_000  # maximum length, in characters, of a string that is decoded or encoded


def is_base64(value: Value) -> bool:
    """Whether a value is the Base64 encoding of a text in UTF-8."""
    return base64_decode(value) is not None


def base64_decode(text: Value) -> str | None:
    """The decoded string; None if `text` is not the Base64 encoding of a text in UTF-8. The standard and the URL-safe
    alphabet are accepted, with or without padding."""
    data = _decode(text)
    return _text(data) if data is not None else None


def is_gzip(value: Value) -> bool:
    """Whether a value is the Base64 encoding of a gzip-compressed text in UTF-8."""
    return base64_gunzip(value) is not None


@lru_cache(4)
def base64_gunzip(text: Value) -> str | None:
    """The decompressed text of data in Base64; None if the data are invalid, or if the text is too long."""
    data = _decode(text)
    if data is None or data[:2] != b"\x1f\x8b":
        return None
    reader = decompressobj(16 + MAX_WBITS)
    try:
        plain = reader.decompress(data, LONGEST)
    except error:
        return None
    return _text(plain) if reader.eof else None


def _decode(text: Value) -> bytes | None:
    if type(text) is not str or len(text) > LONGEST:
        return None
    plain = "".join(text.split()).rstrip("=").replace("-", "+").replace("_", "/")
    try:
        return b64decode(plain + "=" * (-len(plain) % 4), validate=True)
    except ValueError:
        return None


def _text(data: bytes) -> str | None:
    try:
        return data.decode("utf-8")
    except ValueError:
        return None


def base64_encode(text: Value) -> str | None:
    if type(text) is not str or len(text) > LONGEST:
        return None
    return b64encode(text.encode("utf-8", "replace")).decode("ascii")
