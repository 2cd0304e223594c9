"""Unknown values that are left where a state is to keep the value: it cannot keep them."""

from __future__ import annotations

from planner.foundation.values.sets import make_set
from planner.foundation.values.value import List, Map, Null, Set, Unknown, Value, is_wholly_known


def unknown_as_null(value: Value) -> Value:
    """The unmarked value with null in place of everything unknown."""
    if is_wholly_known(value):
        return value
    cls = value.__class__
    if cls is Unknown:
        return Null(value.type)
    if cls is dict:
        return {name: unknown_as_null(part) for name, part in value.items()}
    if cls is tuple:
        return tuple(map(unknown_as_null, value))
    if cls is List:
        return List(value.element, tuple(map(unknown_as_null, value.items)))
    if cls is Set:
        return make_set(value.element, map(unknown_as_null, value.items))
    if cls is Map:
        return Map(value.element, {key: unknown_as_null(part) for key, part in value.items.items()})
    return value
