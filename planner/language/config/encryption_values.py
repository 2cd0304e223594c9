"""Values of the language as settings of key providers and methods, and keys as values."""

from __future__ import annotations

from typing import Any

from planner.foundation.encryption.keys import Key, Keys
from planner.foundation.values.convert import ConversionError, convert
from planner.foundation.values.types import NUMBER, ListType, Type, friendly_name
from planner.foundation.values.value import (
    UNKNOWN,
    List,
    Map,
    Null,
    Set,
    Unknown,
    Value,
    is_null,
    is_wholly_known,
    type_of,
)

_BYTES = ListType(NUMBER)


def plain(value: Value) -> Any:
    """A value in Python's terms: numbers have to be whole. None for null. Raises ConversionError."""
    if not is_wholly_known(value):
        raise ConversionError("value must be known")
    if is_null(value):
        return None
    if isinstance(value, List | Set):
        return tuple(plain(item) for item in value.items)
    if isinstance(value, tuple):
        return tuple(plain(item) for item in value)
    if isinstance(value, Map | dict):
        items = value.items if isinstance(value, Map) else value
        found = {name: plain(item) for name, item in items.items()}
        return {name: item for name, item in found.items() if item is not None}
    if isinstance(value, str | bool):
        return value
    if value.__class__ is not int or not -(1 << 63) <= value < 1 << 63:
        raise ConversionError("value must be a whole number")
    return value


def converted(value: Value, wanted: Type) -> Value:
    """A value as one of a type; a list of numbers is one of bytes. Raises ConversionError."""
    if isinstance(wanted, ListType) and not isinstance(value, List | Set | tuple | Null | Unknown):
        raise ConversionError(f"{friendly_name(wanted)} required, but have {type_name(value)}")
    value = convert(value, wanted)
    if (
        wanted == _BYTES
        and isinstance(value, List)
        and any(n.__class__ is not int or not 0 <= n <= 255 for n in value.items)
    ):
        raise ConversionError("value must be a whole number, between 0 and 255 inclusive")
    return value


def keys_value(keys: Keys | None) -> Value:
    """Keys as expressions see them: lists of bytes, null where there is none."""
    if keys is None:
        return UNKNOWN
    return {"encryption_key": _list(keys.encryption), "decryption_key": _list(keys.decryption)}


def _list(key: Key | None) -> Value:
    return Null(_BYTES) if key is None else List(NUMBER, tuple(key.bytes()))


def keys_in(value: Value) -> Keys | tuple[()] | None:
    """Keys from an object that is made like that of a key provider. None for what is no object, nothing for one without
    a key to encrypt with. Raises ConversionError."""
    if not isinstance(value, Map | dict):
        return None
    items = value.items if isinstance(value, Map) else value
    if "encryption_key" not in items:
        return ()
    encryption, decryption = (_key(items.get(name)) for name in ("encryption_key", "decryption_key"))
    return Keys(encryption, decryption)


def _key(value: Value | None) -> Key | None:
    if value is None or is_null(value):
        return None
    return Key.of(bytes(plain(converted(value, _BYTES))))


def type_name(value: Value) -> str:
    """The type of a value, as messages call it."""
    return friendly_name(value.type if isinstance(value, Null | Unknown) else type_of(value))
