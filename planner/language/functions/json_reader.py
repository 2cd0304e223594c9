"""Parses JSON with the rules of Go's decoder and the implied types of go-cty.

If properties of one object have equal names, they must have equal types, and the last one is used. Text after the
document is ignored if it begins with a closing bracket or brace, and a lone surrogate becomes U+FFFD."""

from __future__ import annotations

import json
import re
from typing import Any

from planner.foundation.values.value import NULL, Value, number_from_text, type_of
from planner.language.functions.protocol import text

_SPACE = " \t\r\n"


def read(source: str) -> Value:
    """The value of a JSON text: objects become objects, arrays become tuples. Raises ValueError."""
    start = len(source) - len(source.lstrip(_SPACE))
    decoder = json.JSONDecoder(
        object_pairs_hook=_object,
        parse_float=number_from_text,
        parse_int=number_from_text,
        parse_constant=_refuse,
    )
    data, end = decoder.raw_decode(source, start)
    rest = source[end:].lstrip(_SPACE)
    if rest and rest[0] not in "]}":
        raise ValueError("there is text after its end")
    return _value(data)


def _refuse(name: str) -> Any:
    raise ValueError(f"{name} cannot be written as a number in JSON")


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Value]:
    out: dict[str, Value] = {}
    for raw_name, raw in pairs:
        name, value = _string(raw_name), _value(raw)
        if name in out and type_of(out[name]) != type_of(value):
            raise ValueError(f'an object has the property "{name}" twice, with values of different types')
        out[name] = value
    return out


def _value(data: Any) -> Value:
    if data is None:
        return NULL
    cls = data.__class__
    if cls is str:
        return _string(data)
    return tuple(map(_value, data)) if cls is list else data


def _string(string: str) -> str:
    if not string.isascii() and re.search("[\ud800-\udfff]", string):
        string = re.sub("[\ud800-\udfff]", "\ufffd", string)
    return text(string)
