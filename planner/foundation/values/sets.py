"""Sets: equality and order of items.

As in go-cty (set_internals.go, set/ops.go): strings are ordered by code point, numbers by size, false before true, and
other values by a text that represents them (see `set_text`). Known values come before unknown ones, and null comes
last. The CRC-32 of the text resolves remaining ties."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any
from zlib import crc32

from planner.foundation.values.numbers import exact_digits, round_digits
from planner.foundation.values.types import BOOL, DYNAMIC, NUMBER, STRING, Type
from planner.foundation.values.value import (
    List,
    Map,
    Marked,
    Null,
    Set,
    Unknown,
    Value,
    is_wholly_known,
    mark,
    unmark_deep,
    with_parts,
)


def make_set(element: Type, items: Iterable[Value]) -> Value:
    """A set of items that have the element type, or are null or unknown. Marks of items, at any depth, are moved to the
    set: the result is then Marked."""
    values: list[Value] = []
    marks: frozenset[Any] = frozenset()
    plain = element is STRING
    for item in items:
        cls = item.__class__
        if plain and cls is str:
            values.append(item)
            continue
        if cls is not str and cls is not int and cls is not bool:
            item, own = unmark_deep(item)
            if own:
                marks |= own
            if item.__class__ is not str:
                plain = False
        values.append(item)
    ordered = tuple(sorted(set(values))) if plain else _in_order(element, values)
    return mark(Set(element, ordered), marks)


def _in_order(element: Type, values: list[Value]) -> tuple[Value, ...]:
    from planner.foundation.values.operations import same_value

    buckets: dict[int, list[tuple[bytes, Value]]] = {}
    for value in values:
        text = set_text(value).encode("utf-8", "surrogatepass")
        bucket = buckets.setdefault(crc32(text), [])
        if not any(same_value(value, other) for _, other in bucket):
            bucket.append((text, value))
    items = [entry for key in sorted(buckets) for entry in buckets[key]]
    primitive = element is STRING or element is NUMBER or element is BOOL or element is DYNAMIC

    def order(entry: tuple[bytes, Value]) -> tuple[int, Any]:
        text, value = entry
        if value.__class__ is Null:
            return (2, 0)
        if value.__class__ is Unknown:
            return (1, 0)
        return (0, value if primitive else text)

    items.sort(key=order)
    return tuple(value for _, value in items)


def set_text(value: Value) -> str:
    """The text that determines the position of a value in a set. Equal values have equal texts; different values may
    also have equal texts."""
    parts: list[str] = []
    _append(value, parts)
    return "".join(parts)


def _append(value: Value, parts: list[str]) -> None:
    cls = value.__class__
    if cls is str:
        parts.append(quote(value))
    elif cls is bool:
        parts.append("T" if value else "F")
    elif cls is Unknown:
        parts.append("?")
    elif cls is Null:
        parts.append("~")
    elif cls is dict:
        parts.append("<")
        for key in sorted(value):
            _append(value[key], parts)
            parts.append(";")
        parts.append(">")
    elif cls is tuple or cls is List or cls is Set:
        opening, closing = "<>" if cls is tuple else "[]"
        parts.append(opening)
        for item in value if cls is tuple else value.items:
            _append(item, parts)
            parts.append(";")
        parts.append(closing)
    elif cls is Map:
        parts.append("{")
        for key in sorted(value.items):
            parts.append(quote(key) + ":")
            _append(value.items[key], parts)
            parts.append(";")
        parts.append("}")
    elif cls is Marked:
        _append(value.value, parts)
    else:
        parts.append(_number_text(value))


_ESCAPES = {
    "\a": "\\a", "\b": "\\b", "\f": "\\f", "\n": "\\n", "\r": "\\r", "\t": "\\t", "\v": "\\v", '"': '\\"', "\\": "\\\\",
}  # fmt: skip


def quote(text: str) -> str:
    """Quote a string like Go's `%q`."""
    if text.isprintable() and '"' not in text and "\\" not in text:
        return f'"{text}"'
    return '"' + "".join(_ESCAPES.get(c) or (c if c.isprintable() else _escape(ord(c))) for c in text) + '"'


def _escape(code: int) -> str:
    if code < 0x80:
        return f"\\x{code:02x}"
    return f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


def _number_text(x: Any) -> str:
    """A number with at most ten significant digits, like Go's `%.10g`."""
    if x.__class__ is int and -(10**10) < x < 10**10:
        return str(x)
    return _ten_digits(x)


def _ten_digits(x: Any) -> str:
    negative, digits, point = exact_digits(x)
    sign = "-" if negative else ""
    if not digits:
        return f"{sign}0" if point == 0 else ("-Inf" if negative else "+Inf")
    digits, point = round_digits(digits, point, 10)
    precision = len(digits) if 10 > len(digits) >= point else 10
    exponent = point - 1
    if exponent < -4 or exponent >= precision:
        fraction = "." + digits[1:] if len(digits) > 1 else ""
        return f"{sign}{digits[0]}{fraction}e{'-' if exponent < 0 else '+'}{abs(exponent):02d}"
    if point <= 0:
        return f"{sign}0.{'0' * -point}{digits}"
    if point >= len(digits):
        return sign + digits + "0" * (point - len(digits))
    return f"{sign}{digits[:point]}.{digits[point:]}"


# States cannot store unknown values.


def unknown_as_null(value: Value) -> Value:
    """Replace unknown parts with null. The value must have no marks."""
    if is_wholly_known(value):
        return value
    if value.__class__ is Unknown:
        return Null(value.type)
    if value.__class__ is Set:
        return make_set(value.element, map(unknown_as_null, value.items))
    return with_parts(value, unknown_as_null)
