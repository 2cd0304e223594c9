"""Recorded objects made to fit a type that has changed since."""

from __future__ import annotations

from typing import Any

from planner.foundation.values.types import ListType, MapType, ObjectType, SetType, Type


def without_removed(attributes: Any, wanted: Type) -> Any:
    """Recorded attributes without those that the type does not have (any more), at any depth."""
    if isinstance(wanted, ObjectType) and isinstance(attributes, dict):
        of = wanted.attributes
        return {name: without_removed(value, of[name]) for name, value in attributes.items() if name in of}
    if isinstance(wanted, MapType) and isinstance(attributes, dict):
        return {key: without_removed(value, wanted.element) for key, value in attributes.items()}
    if isinstance(wanted, ListType | SetType) and isinstance(attributes, list):
        return [without_removed(value, wanted.element) for value in attributes]
    return attributes
