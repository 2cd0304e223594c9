"""What implementations need to read their arguments and build results: whole numbers, strings, kinds of values."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable
from typing import Any

from planner.foundation.values.numbers import is_infinite
from planner.foundation.values.types import DYNAMIC, ListType, MapType, ObjectType, Primitive, SetType, TupleType, Type
from planner.foundation.values.value import List, Map, Marked, Null, Set, Unknown, Value, type_of
from planner.language.functions.protocol import FunctionError

INT64_MIN, INT64_MAX = -(2**63), 2**63 - 1


def small_int(value: Value, argument: int | None = None) -> int:
    """A number as a whole number of 64 bits. Raises FunctionError for any other."""
    whole = big_int(value, argument)
    if not INT64_MIN <= whole <= INT64_MAX:
        raise FunctionError("It must be a whole number that fits into 64 bits.", argument)
    return whole


def big_int(value: Value, argument: int | None = None) -> int:
    """A number as a whole number of any size. Raises FunctionError for any other."""
    if value.__class__ is int:
        return value
    return _big_int(value, argument)


def _big_int(value: Value, argument: int | None) -> int:
    if is_infinite(value) or value != int(value):
        raise FunctionError("It must be a whole number.", argument)
    return int(value)


def text(s: str) -> str:
    """A string as the language keeps it: in normal form NFC."""
    if s.isascii():
        return s
    return _normal_form(s)


def _normal_form(s: str) -> str:
    return unicodedata.normalize("NFC", s)


def text_from_bytes(data: bytes) -> str:
    """The text that bytes are as UTF-8; each byte that belongs to no character becomes U+FFFD."""
    try:
        return text(data.decode("utf-8"))
    except UnicodeDecodeError:
        out, start = [], 0
        while start < len(data):
            try:
                out.append(data[start:].decode("utf-8"))
                break
            except UnicodeDecodeError as problem:
                out.append(data[start : start + problem.start].decode("utf-8"))
                out.append("\ufffd")
                start += problem.start + 1
        return text("".join(out))


def kind(value: Value) -> str:
    """What a value is, whatever marks it: object, tuple, list, set, map, string, number, bool or dynamic."""
    cls = value.__class__
    if cls is Marked:
        value = value.value
        cls = value.__class__
    if cls is Null or cls is Unknown:
        return kind_of_type(value.type)
    return _KINDS.get(cls, "number")


def shape(value: Value) -> tuple[str, Any]:
    """The kind of a value, and its type."""
    return kind(value), type_of(value)


_KINDS: dict[Any, str] = {
    str: "string",
    bool: "bool",
    dict: "object",
    tuple: "tuple",
    List: "list",
    Set: "set",
    Map: "map",
}
_TYPE_KINDS: dict[Any, str] = {
    ObjectType: "object",
    TupleType: "tuple",
    ListType: "list",
    SetType: "set",
    MapType: "map",
}


def kind_of_type(t: Type) -> str:
    """The kind that `kind` tells for a value of this type."""
    return t.name if t.__class__ is Primitive else _TYPE_KINDS[t.__class__]


def items(value: Value) -> tuple[Value, ...]:
    """The elements of a known list, set or tuple (marks of the whole taken off before), of a map or object in the
    order of its keys."""
    cls = value.__class__
    if cls is tuple:
        return value  # type: ignore[no-any-return]
    if cls is dict:
        return tuple(value[key] for key in sorted(value))
    if cls is Map:
        return tuple(value.items[key] for key in sorted(value.items))
    return value.items  # type: ignore[no-any-return]


def sequence(t: Type, values: Iterable[Value]) -> Value:
    """A list of a type or, when that is no list type, a tuple. Where the type leaves it open, the elements tell theirs.

    Raises FunctionError when they are of several types."""
    elements = tuple(values)
    if not isinstance(t, ListType):
        return elements
    if t.element is not DYNAMIC:
        return List(t.element, elements)
    types = [kind for kind in map(type_of, elements) if kind is not DYNAMIC]
    if any(kind != types[0] for kind in types):
        raise FunctionError("The elements are of different types.")
    return List(types[0] if types else DYNAMIC, elements)


def entries(value: Value) -> dict[str, Value]:
    """The entries of a known map or object."""
    return value if value.__class__ is dict else value.items
