"""Names, texts and numbers as the configuration language writes them."""

from __future__ import annotations

import json
from functools import lru_cache
from typing import Any

from planner.foundation.values.numbers import number_to_text
from planner.foundation.values.value import Null, Value
from planner.foundation.vocabulary.address import valid_identifier
from planner.render.diff_model import MISSING, Digits


@lru_cache(maxsize=4096)  # few names, of many objects
def attribute_name(name: str) -> str:
    """The name, quoted when it is no identifier."""
    return name if valid_identifier(name) else quoted(name)


_ESCAPES = {"\a": "\\a", "\b": "\\b", "\f": "\\f", "\n": "\\n", "\r": "\\r", "\t": "\\t", "\v": "\\v"}


def quoted(text: str) -> str:
    """The text between double quotes, everything unprintable escaped."""
    if text.isprintable() and '"' not in text and "\\" not in text:
        return f'"{text}"'
    out = []
    for char in text:
        if char in '"\\':
            out.append("\\" + char)
        elif char in _ESCAPES:
            out.append(_ESCAPES[char])
        elif char.isprintable():
            out.append(char)
        else:
            code = ord(char)
            out.append(f"\\x{code:02x}" if code < 0x80 else f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}")
    return f'"{"".join(out)}"'


def number_text(value: Value) -> str:
    """A number in decimal notation, as short as it can be said exactly."""
    return number_to_text(value)


def text_value(value: Value) -> str | None:
    return value if value.__class__ is str else None


def json_value(text: str | None) -> Value:
    """The value of a text that is a JSON object or array; MISSING for other texts."""
    if text is None or text[:1] not in ("{", "["):
        return MISSING
    return _json_value(text)


def _json_value(text: str) -> Value:
    try:
        return _from_json(json.loads(text, parse_int=Digits, parse_float=Digits, parse_constant=_no_constant))
    except (ValueError, RecursionError):
        return MISSING


def _no_constant(name: str) -> Value:
    raise ValueError(name)


def _from_json(data: Any) -> Value:
    if data is None:
        return Null()
    if isinstance(data, dict):
        return {key: _from_json(value) for key, value in data.items()}
    if isinstance(data, list):
        return tuple(_from_json(value) for value in data)
    return data
