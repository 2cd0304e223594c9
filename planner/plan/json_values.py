"""Values as plain JSON, and the maps that say which parts of them are unknown or sensitive.

As `show -json` prints them: no types, unknown parts left out of objects (null inside lists), and in the maps `true`
where a part is unknown or sensitive and nothing where it is not.
"""

from __future__ import annotations

from typing import Any

from planner.language.types import Primitive, TupleType
from planner.language.values import SENSITIVE, List, Map, Marked, Null, Set, Unknown, Value, is_wholly_known
from planner.vocabulary.diagnostic import Failure, error


def plain(value: Value) -> Any:
    """The JSON of a value; marks do not show. Unknown attributes and map elements are left out, other unknown parts
    are null. Raises Failure for infinities."""
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
    """A number in JSON with all its digits: int or Decimal. Raises Failure for infinities."""
    from planner.language.json_codec import CodecError, json_number

    try:
        return json_number(value)
    except CodecError:
        raise Failure(error("json.infinity", "Number too large", "An infinite number has no JSON form.")) from None


def unknown_map(value: Value) -> Any:
    """`True` where a value is unknown, False where it is known; known parts of objects and maps are left out."""
    cls = value.__class__
    if cls is dict:
        return _unknown_items(value)
    if cls is Unknown:
        return True
    if cls is Map:
        return _unknown_items(value.items)
    if cls is tuple:
        return [unknown_map(v) for v in value]
    if cls is List or cls is Set:
        return [unknown_map(v) for v in value.items]
    if cls is Marked:
        return unknown_map(value.value)
    return False


def _unknown_items(items: dict[str, Value]) -> dict[str, Any]:
    out = {}
    for key in sorted(items):
        found = unknown_map(items[key])
        if found is not False:
            out[key] = found
    return out


def sensitive_map(value: Value) -> Any:
    """`True` where a value is sensitive, False where it is not; other parts of objects and maps are left out."""
    cls = value.__class__
    if cls is str or cls is bool or cls is int:
        return False
    if cls is Marked:
        return True if SENSITIVE in value.marks else sensitive_map(value.value)
    if cls is dict:
        return _sensitive_items(value)
    if cls is Map:
        return _sensitive_items(value.items)
    if cls is tuple:
        return [sensitive_map(v) for v in value]
    if cls is List or cls is Set:
        return [sensitive_map(v) for v in value.items]
    if cls is Unknown and not isinstance(value.type, Primitive):
        return [] if isinstance(value.type, TupleType) or getattr(value.type, "kind", "") in ("list", "set") else {}
    return False


def _sensitive_items(items: dict[str, Value]) -> dict[str, Any]:
    out = {}
    for key in sorted(items):
        found = sensitive_map(items[key])
        if found is not False:
            out[key] = found
    return out


def known_plain(value: Value) -> Any:
    """Like `plain`, but None when the value as a whole is not wholly known."""
    return plain(value) if is_wholly_known(value) else None
