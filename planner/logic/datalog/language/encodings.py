"""Built-in functions of texts that are written in base64."""

from __future__ import annotations

from base64 import b64decode, b64encode
from functools import lru_cache
from zlib import MAX_WBITS, decompressobj, error

from planner.logic.datalog.language.values import Value

LONGEST = 16_000_000
"""of a text that is decoded or encoded, in characters"""


def is_base64(value: Value) -> bool:
    """Whether a string is the base64 of text in UTF-8."""
    return base64_decode(value) is not None


def base64_decode(text: Value) -> str | None:
    """The text whose base64 this is: of either alphabet, with or without padding."""
    data = _decoded(text)
    return _text(data) if data is not None else None


def is_gzip(value: Value) -> bool:
    """Whether a string is the base64 of text in UTF-8 that is compressed by gzip."""
    return base64_gunzip(value) is not None


@lru_cache(4)
def base64_gunzip(text: Value) -> str | None:
    """The text whose base64 this is, compressed by gzip; none that is very long."""
    data = _decoded(text)
    if data is None or data[:2] != b"\x1f\x8b":
        return None
    reader = decompressobj(16 + MAX_WBITS)
    try:
        plain = reader.decompress(data, LONGEST)
    except error:
        return None
    return _text(plain) if reader.eof else None


def _decoded(text: Value) -> bytes | None:
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
    """The base64 of a string in UTF-8."""
    if type(text) is not str or len(text) > LONGEST:
        return None
    return b64encode(text.encode("utf-8", "replace")).decode("ascii")
