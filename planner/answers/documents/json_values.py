"""Converts values to JSON as in `show -json`, without types, marks and unknown values."""

from __future__ import annotations

from typing import Any

from planner.foundation.values.json_codec import CodecError, json_number
from planner.foundation.values.value import List, Map, Marked, Null, Set, Unknown, Value
from planner.foundation.vocabulary.diagnostic import Failure, error


def plain(value: Value) -> Any:
    """A value as JSON. Unknown attributes and map elements are omitted; other unknown parts are null. Raises Failure
    for infinities."""
    cls = value.__class__
    if cls is str or cls is bool or cls is int:
        return value
    if cls is dict:
        return _plain_items(value)
    if cls is Null or cls is Unknown:
        return None
    if cls is Map:
        return _plain_items(value.items)
    if cls is tuple:
        return [plain(v) for v in value]
    if cls is List or cls is Set:
        return [plain(v) for v in value.items]
    if cls is Marked:
        return plain(value.value)
    return plain_number(value)


def _plain_items(items: dict[str, Value]) -> dict[str, Any]:
    out = {}
    for key in sorted(items):
        value = items[key]
        cls = value.__class__
        if cls is str or cls is bool:
            out[key] = value
        elif cls is not Unknown and not (cls is Marked and value.value.__class__ is Unknown):
            out[key] = plain(value)
    return out


def plain_number(value: Any) -> Any:
    """A number as an int or Decimal with all its digits. Raises Failure for infinities."""
    try:
        return json_number(value)
    except CodecError:
        raise Failure(error("json.infinity", "Number too large", "JSON cannot represent an infinite number.")) from None
