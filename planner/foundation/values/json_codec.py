"""Converts values to and from JSON, in the forms of go-cty's json package. JSON data consists of dict, list, str, bool,
None and int, and of Decimal for all other numbers; planner.foundation.support.exact_json prints them exactly. Keys of
objects are sorted."""

from __future__ import annotations

import unicodedata
from typing import Any

from planner.foundation.values.numbers import LIMIT, decimal_digits, number_to_text, round_whole
from planner.foundation.values.sets import make_set
from planner.foundation.values.types import (
    BOOL,
    DYNAMIC,
    NUMBER,
    STRING,
    ListType,
    MapType,
    ObjectType,
    SetType,
    TupleType,
    Type,
    friendly_name,
    type_from_json,
    type_to_json,
)
from planner.foundation.values.value import (
    List,
    Map,
    Marked,
    Null,
    Set,
    Unknown,
    Value,
    is_null,
    number_from_text,
    type_of,
    unmark_deep,
)


class CodecError(ValueError):
    """JSON cannot represent the value, or the JSON does not match the type. The message is the reason."""


# ---------------------------------------------------------------- to JSON


def to_json(value: Value, wanted: Type = DYNAMIC) -> Any:
    """The JSON form of a value without marks. If `wanted` is the dynamic type, the result is an object with "value" and
    "type", or None for a null of dynamic type. Raises CodecError for unknown and infinite values."""
    cls = value.__class__
    if cls is str or cls is bool:
        if wanted is not DYNAMIC:
            return value
    elif cls is Null and (wanted is not DYNAMIC or value.type is DYNAMIC):
        return None
    if wanted is DYNAMIC and not (cls is Unknown or cls is Marked):
        given = type_of(value)
        return {"value": to_json(value, given), "type": type_to_json(given)}
    if isinstance(wanted, ObjectType) and cls is dict:
        return {k: to_json(value[k], t) for k, t in wanted.attributes.items()}
    if isinstance(wanted, TupleType) and cls is tuple:
        return [to_json(v, t) for v, t in zip(value, wanted.elements, strict=True)]
    if isinstance(wanted, (ListType, SetType)) and cls in (List, Set):
        return [to_json(v, wanted.element) for v in value.items]
    if isinstance(wanted, MapType) and cls is Map:
        return {k: to_json(value.items[k], wanted.element) for k in sorted(value.items)}
    return _leaf(value)


def simple_json(value: Value) -> Any:
    """The JSON data that `jsonencode` writes: arrays for lists, sets and tuples, and objects for maps and objects. The
    value must have no marks. Raises CodecError for unknown and infinite values."""
    cls = value.__class__
    if cls is str or cls is bool:
        return value
    if cls is Null:
        return None
    if cls is dict:
        return {k: simple_json(value[k]) for k in sorted(value)}
    if cls is tuple:
        return [simple_json(v) for v in value]
    if cls is List or cls is Set:
        return [simple_json(v) for v in value.items]
    if cls is Map:
        return {k: simple_json(value.items[k]) for k in sorted(value.items)}
    return _leaf(value)


def _leaf(value: Value) -> Any:
    cls = value.__class__
    if cls is Unknown:
        raise CodecError("a value that is not known yet has no JSON form")
    if cls is Marked:
        raise CodecError("a marked value has no JSON form")
    if cls is str or cls is bool:
        return value
    return json_number(value)


def _decimal(text: str) -> Any:
    from decimal import Decimal

    return Decimal(text)


def _is_decimal(data: Any) -> bool:
    from decimal import Decimal

    return data.__class__ is Decimal


def json_number(value: Any) -> Any:
    """A number as an int or a Decimal, which exact_json writes exactly. Raises CodecError for infinities."""
    if value.__class__ is int and -LIMIT < value < LIMIT:
        return value
    negative, digits, point = decimal_digits(value)
    if not digits:
        if point:
            raise CodecError("an infinite number has no JSON form")
        return _decimal("-0") if negative else 0
    return _decimal(f"{'-' if negative else ''}{digits}E{point - len(digits)}")


# ---------------------------------------------------------------- from JSON


def from_json(data: Any, wanted: Type = DYNAMIC) -> Value:
    """A value of the type `wanted` from JSON data, in which numbers may be int, float or Decimal. Missing attributes
    are null. Raises CodecError."""
    if data is None:
        return Null(wanted)
    if wanted is STRING:
        return data if data.__class__ is str and data.isascii() else _string(data)
    if wanted is NUMBER:
        return _number(data)
    if wanted is BOOL:
        return _bool(data)
    if wanted is DYNAMIC:
        if not isinstance(data, dict) or data.keys() != {"value", "type"}:
            raise CodecError('an object with "value" and "type" is required')
        try:
            inner = _cached_type(data["type"])
        except ValueError as problem:
            raise CodecError(str(problem)) from None
        return from_json(data["value"], inner)
    if isinstance(wanted, ObjectType):
        return _object(_check_kind(data, dict, wanted), wanted)
    if isinstance(wanted, MapType):
        items = _check_kind(data, dict, wanted)
        return Map(wanted.element, {_text(k): from_json(v, wanted.element) for k, v in items.items()})
    items = _check_kind(data, list, wanted)
    if isinstance(wanted, TupleType):
        if len(items) != len(wanted.elements):
            raise CodecError(f"the required number of elements in a tuple is {len(wanted.elements)}, not {len(items)}")
        return tuple(from_json(v, t) for v, t in zip(items, wanted.elements, strict=True))
    assert isinstance(wanted, (ListType, SetType))
    element = wanted.element
    values = [from_json(v, element) for v in items]
    if element is DYNAMIC and values:
        element = type_of(values[0])
    return List(element, tuple(values)) if isinstance(wanted, ListType) else make_set(element, values)


_MAX_TYPES = 4096
_named: dict[str, Type] = {}  # a cache of types by their encoding, because many objects of a state have equal types


def _cached_type(data: Any) -> Type:
    """`type_from_json` with a cache."""
    if data.__class__ is str:
        return type_from_json(data)
    key = repr(data)
    known = _named.get(key)
    if known is None:
        if len(_named) >= _MAX_TYPES:
            _named.clear()
        known = _named[key] = type_from_json(data)
    return known


def _check_kind(data: Any, kind: type, wanted: Type) -> Any:
    if data.__class__ is not kind:
        raise CodecError(f"an {'object' if kind is dict else 'array'} is required for a {friendly_name(wanted)}")
    return data


def _object(data: dict[str, Any], wanted: ObjectType) -> Value:
    attributes = wanted.attributes
    if data.keys() <= attributes.keys() and all(map(str.isascii, data)):  # ASCII names need no normalization
        return {name: from_json(data.get(name), t) for name, t in attributes.items()}
    names = {_text(k): k for k in data}
    for name in names:
        if name not in wanted.attributes:
            raise CodecError(f'the attribute "{name}" is not part of the type')
    return {name: from_json(data[names[name]] if name in names else None, t) for name, t in wanted.attributes.items()}


def _text(text: str) -> str:
    return text if text.isascii() else unicodedata.normalize("NFC", text)


def _string(data: Any) -> Value:
    if data.__class__ is str:
        return _text(data)
    if data.__class__ is bool:
        return "true" if data else "false"
    if isinstance(data, (int, float)) or _is_decimal(data):
        return number_to_text(_number(data))
    raise CodecError("a string is required")


def _number(data: Any) -> Value:
    if data.__class__ is int and -LIMIT < data < LIMIT:
        return data
    try:
        if data.__class__ is float:
            return number_from_text(repr(data))
        if data.__class__ is str or _is_decimal(data):
            return number_from_text(str(data))
        if data.__class__ is int:
            return round_whole(data)
    except ValueError:
        pass
    raise CodecError("a number is required")


def _bool(data: Any) -> Value:
    if data.__class__ is bool:
        return data
    if data in ("true", "1"):
        return True
    if data in ("false", "0"):
        return False
    raise CodecError("a bool is required")


def implied_value(data: Any) -> Value:
    """The value that `jsondecode` returns: JSON arrays become tuples, and JSON objects become objects of the language,
    not maps."""
    cls = data.__class__
    if data is None:
        return Null()
    if cls is str:
        return _text(data)
    if cls is bool:
        return data
    if cls is list:
        return tuple(map(implied_value, data))
    if cls is dict:
        return {_text(k): implied_value(v) for k, v in data.items()}
    return _number(data)


# Converts values to plain Python data, without types and marks.


def plain(value: Value) -> Any:
    value, _ = unmark_deep(value)
    if is_null(value):
        return None
    if isinstance(value, List | Set):
        return [plain(item) for item in value.items]
    if isinstance(value, tuple):
        return [plain(item) for item in value]
    if isinstance(value, Map | dict):
        items = value.items if isinstance(value, Map) else value
        return {name: plain(item) for name, item in items.items()}
    return value if isinstance(value, str | bool | int) else float(value)
