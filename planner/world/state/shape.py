"""Parts of a state file, each of the shape that it must have."""

from __future__ import annotations

from typing import Any

LARGEST = (1 << 63) - 1
"""of serials and versions; none has this number itself, so that one can follow"""


class MalformedError(Exception):
    """Something in the file has the wrong shape; the text says where and what."""


def as_object(raw: Any, place: str) -> dict[str, Any]:
    """An object. Raises MalformedError."""
    if raw.__class__ is dict:
        return raw
    raise MalformedError(f"{place} must be an object")


def as_list(raw: dict[str, Any], key: str, place: str) -> list[Any]:
    """A member that is a list; empty where there is none. Raises MalformedError."""
    value = raw.get(key)
    if value is None:
        return []
    if value.__class__ is list:
        return value
    raise MalformedError(f'"{key}" of {place} must be a list')


def as_text(raw: dict[str, Any], key: str, place: str) -> str:
    """A member that is a string; "" where there is none. Raises MalformedError."""
    value = raw.get(key)
    if value is None:
        return ""
    if value.__class__ is str:
        return value
    raise MalformedError(f'"{key}" of {place} must be a string')


def as_whole(raw: dict[str, Any], key: str, place: str) -> int:
    """A member that is a whole number, not below 0 and not too large; 0 where there is none. Raises MalformedError."""
    value = raw.get(key, 0)
    if value is None:
        return 0
    if value.__class__ is int and 0 <= value < LARGEST:
        return value
    raise MalformedError(f'"{key}" of {place} must be a whole number')
