"""Encodes and decodes values in the plugin protocol: MessagePack as in go-cty's msgpack package.

Unknown values are extension 0, or extension 12 with a map of refinements: 1 nullness, 2 prefix, 3 and 4 bounds of a
number, 5 and 6 bounds of a length. Whole numbers within 64 bits are integers; other numbers are doubles if that is
exact, otherwise decimal strings. A value of dynamic type is encoded as a pair of its type's JSON and the value."""

from __future__ import annotations

import json
import unicodedata
from typing import Any

import msgpack
from msgpack import ExtType

from planner.foundation.values.json_codec import CodecError
from planner.foundation.values.numbers import from_float, is_infinite, number_to_text
from planner.foundation.values.refine import is_collection, refine
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
    has_dynamic,
    type_from_json,
    type_to_json,
)
from planner.foundation.values.value import (
    List,
    Map,
    Marked,
    Null,
    Refinement,
    Set,
    Unknown,
    Value,
    number_from_text,
    type_of,
)

_UNKNOWN = ExtType(0, b"\0")
_REFINED = 12
_LONGEST_REFINEMENT = 1024  # bytes
_LONGEST_PREFIX = 256  # bytes
_INT64 = 1 << 63


# ---------------------------------------------------------------- to bytes


def encode(value: Value, wanted: Type) -> bytes:
    """A value in MessagePack. Raises CodecError for marked values, values of a different type, and values that
    MessagePack cannot represent."""
    try:
        return msgpack.packb(_out(value, wanted), unicode_errors="surrogateescape")  # type: ignore[no-any-return]
    except (UnicodeEncodeError, RecursionError, OverflowError, ValueError) as problem:
        if isinstance(problem, CodecError):
            raise
        raise CodecError(f"the value cannot be sent to a provider: {problem}") from None


def _out(value: Value, wanted: Type) -> Any:
    cls = value.__class__
    if cls is Marked:
        raise CodecError("a marked value cannot be sent to a provider")
    if wanted is DYNAMIC:
        given = type_of(value)
        if given is not DYNAMIC:
            return [json.dumps(type_to_json(given), separators=(",", ":")).encode(), _out(value, given)]
    if cls is Null:
        return None
    if cls is Unknown:
        return _unknown_out(value)
    if (wanted is STRING and cls is str) or (wanted is BOOL and cls is bool):
        return value
    if wanted is NUMBER and cls is not str and cls is not bool:
        return _number_out(value)
    if isinstance(wanted, ObjectType) and cls is dict:
        return _object_out(value, wanted)
    if isinstance(wanted, TupleType) and cls is tuple:
        return [_out(item, of) for item, of in zip(value, wanted.elements, strict=True)]
    if isinstance(wanted, ListType | SetType) and cls in (List, Set):
        return [_out(item, wanted.element) for item in value.items]
    if isinstance(wanted, MapType) and cls is Map:
        return {key: _out(value.items[key], wanted.element) for key in sorted(value.items)}
    raise CodecError(f"a {friendly_name(wanted)} is required, not a {friendly_name(type_of(value))}")


def _object_out(value: dict[str, Value], wanted: ObjectType) -> dict[str, Any]:
    out: dict[str, Any] = {}
    for name, of in wanted.attributes.items():
        item = value[name]
        cls = item.__class__
        # most attributes of most objects are null or strings
        if (cls is str and of is STRING) or (cls is bool and of is BOOL):
            out[name] = item
        elif cls is Null and of is not DYNAMIC:
            out[name] = None
        else:
            out[name] = _out(item, of)
    return out


def _number_out(x: Any) -> Any:
    if x.__class__ is int:
        return x if -_INT64 <= x < _INT64 else number_to_text(x)
    if is_infinite(x):
        return float(x)
    return _float_out(x)


def _float_out(x: Any) -> Any:
    import gmpy2

    if gmpy2.is_integer(x):  # a whole number that is not an int (see planner.foundation.values.numbers)
        small = abs(x) < _INT64
        return int(x) if small else number_to_text(x)
    double = float(x)
    return double if double == x else number_to_text(x)


def _unknown_out(value: Unknown) -> ExtType:
    refinement, wanted = value.refinement, value.type
    if refinement is None or wanted is DYNAMIC:
        return _UNKNOWN
    out: dict[int, Any] = {}
    if refinement.not_null:
        out[1] = False
    if wanted is NUMBER:
        for key, bound in ((3, refinement.lower), (4, refinement.upper)):
            if bound is not None and not is_infinite(bound[0]):
                out[key] = [_number_out(bound[0]), bound[1]]
    elif wanted is STRING:
        if refinement.prefix:
            out[2] = _short(refinement.prefix)
    elif is_collection(wanted):
        if refinement.min_length:
            out[5] = refinement.min_length
        if refinement.max_length is not None:
            out[6] = refinement.max_length
    return ExtType(_REFINED, msgpack.packb(out, unicode_errors="surrogateescape")) if out else _UNKNOWN


def _short(prefix: str) -> str:
    """The prefix, shortened if it is too long, because readers reject long refinements. A shortened prefix ends where
    no combining character can follow."""
    data = prefix.encode("utf-8", "surrogateescape")
    if len(data) <= _LONGEST_PREFIX:
        return prefix
    text = data[: _LONGEST_PREFIX - 1].decode(errors="ignore")
    while text and (unicodedata.combining(text[-1]) or not text[-1].isascii()):
        text = text[:-1]
    return text[:-1]


# ---------------------------------------------------------------- from bytes


def decode(data: bytes, wanted: Type) -> Value:
    """The value in msgpack bytes. Raises CodecError."""
    try:
        return _in(msgpack.unpackb(data, ext_hook=ExtType, strict_map_key=False), wanted)
    except CodecError:
        raise
    except (ValueError, TypeError, RecursionError, msgpack.UnpackException) as problem:
        raise CodecError(f"the bytes cannot be read: {problem}") from None


def _in(data: Any, wanted: Type) -> Value:
    cls = data.__class__
    if cls is ExtType:
        return _unknown_in(data, wanted)
    if wanted is DYNAMIC:
        return _dynamic_in(data)
    if data is None:
        return Null(wanted)
    if wanted is STRING and cls is str:
        return _text(data)
    if wanted is BOOL and cls is bool:
        return data
    if wanted is NUMBER:
        return _number_in(data)
    if isinstance(wanted, ObjectType) and cls is dict:
        return _object_in(data, wanted)
    if isinstance(wanted, TupleType) and cls is list:
        if len(data) != len(wanted.elements):
            raise CodecError(f"the required number of elements in a tuple is {len(wanted.elements)}, not {len(data)}")
        return tuple(_in(item, of) for item, of in zip(data, wanted.elements, strict=True))
    if isinstance(wanted, ListType | SetType) and cls is list:
        items = [_in(item, wanted.element) for item in data]
        element = _element(wanted.element, items)
        return List(element, tuple(items)) if isinstance(wanted, ListType) else make_set(element, items)
    if isinstance(wanted, MapType) and cls is dict:
        entries = {_key(key): _in(item, wanted.element) for key, item in data.items()}
        return Map(_element(wanted.element, list(entries.values())), entries)
    raise CodecError(f"a {friendly_name(wanted)} is required")


def _object_in(data: dict[Any, Any], wanted: ObjectType) -> Value:
    attributes = wanted.attributes
    if data.keys() != attributes.keys():
        names = {_key(key): key for key in data}
        for name in attributes:
            if name not in names:
                raise CodecError(f'the attribute "{name}" is missing')
        for name in names:
            if name not in attributes:
                raise CodecError(f'the attribute "{name}" is not part of the type')
        data = {name: data[key] for name, key in names.items()}
    values: dict[str, Value] = {}
    for name, of in attributes.items():
        item = data[name]
        if item is None:
            values[name] = Null(of)
        elif of is STRING and item.__class__ is str and item.isascii():
            values[name] = item
        else:
            try:
                values[name] = _in(item, of)
            except CodecError as problem:
                raise CodecError(f"{name}: {problem}") from None
    return values


def _element(wanted: Type, items: list[Value]) -> Type:
    """The wanted element type or, if it has dynamic parts, the type of the elements. Raises CodecError."""
    if not items or not has_dynamic(wanted):
        return wanted
    types = {type_of(item) for item in items} - {DYNAMIC}
    if len(types) > 1:
        raise CodecError("the elements of a collection must all have one type")
    return types.pop() if types else wanted


def _dynamic_in(data: Any) -> Value:
    if data is None:
        return Null(DYNAMIC)
    if data.__class__ is not list or len(data) != 2 or data[0].__class__ not in (bytes, str):
        raise CodecError("a pair of a type and a value is required")
    try:
        wanted = type_from_json(json.loads(data[0]))
    except ValueError:
        raise CodecError("the type of a value of dynamic type cannot be read") from None
    return _in(data[1], wanted)


def _key(key: Any) -> str:
    if key.__class__ is not str:
        raise CodecError("a key must be a string")
    return _text(key)


def _text(text: str) -> str:
    return text if text.isascii() else unicodedata.normalize("NFC", text)


def _number_in(data: Any) -> Value:
    if data.__class__ is int:
        return data
    if data.__class__ is float and data == data:
        return from_float(data)
    if data.__class__ is str:
        try:
            return number_from_text(data)
        except ValueError:
            pass
    raise CodecError("a number is required")


def _unknown_in(data: ExtType, wanted: Type) -> Value:
    if len(data.data) <= 1 or wanted is DYNAMIC:
        return Unknown(wanted)
    if data.code != _REFINED or len(data.data) > _LONGEST_REFINEMENT:
        raise CodecError(f"an unknown value of the unsupported kind {data.code} ({len(data.data)} bytes)")
    unpacker = msgpack.Unpacker(strict_map_key=False)
    unpacker.feed(data.data)  # padding may follow the map
    refinement = unpacker.unpack()
    if refinement.__class__ is not dict:
        raise CodecError("the refinement of an unknown value must be a map")
    if refinement.get(1) is True:
        return Null(wanted)
    lower, upper = (_bound_in(refinement.get(key), wanted) for key in (3, 4))
    least, most = (_length_in(refinement.get(key), wanted) for key in (5, 6))
    prefix = refinement.get(2, "")
    if prefix.__class__ is not str or (prefix and wanted is not STRING):
        raise CodecError("only an unknown string can have a known prefix")
    return refine(wanted, Refinement(refinement.get(1) is False, _text(prefix), lower, upper, least, most))


def _bound_in(data: Any, wanted: Type) -> tuple[Any, bool] | None:
    if data is None:
        return None
    if wanted is not NUMBER or data.__class__ is not list or len(data) != 2 or data[1].__class__ is not bool:
        raise CodecError("only an unknown number can have bounds, each a pair of a number and a bool")
    return _number_in(data[0]), data[1]


def _length_in(data: Any, wanted: Type) -> int | None:
    if data is None:
        return None
    if not is_collection(wanted) or data.__class__ is not int:
        raise CodecError("only an unknown collection can have bounds of its length, each a whole number")
    return int(data)
