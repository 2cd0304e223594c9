"""Walking values along a schema: parts that may be null or unknown, and the attribute that a path leads to."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from planner.foundation.values.schema import AttributeSchema, BlockSchema, NestedAttributes
from planner.foundation.values.types import DYNAMIC, ObjectType, TupleType, Type
from planner.foundation.values.value import List, Map, Null, Set, Unknown, Value

Schema = BlockSchema | NestedAttributes
Path = tuple[tuple[str, Any], ...]


def attribute(value: Value, name: str, type: Type) -> Value:
    """An attribute of an object; of a null or unknown object a null or unknown of the attribute's type."""
    cls = value.__class__
    if cls is Null:
        return Null(type)
    if cls is Unknown:
        return Unknown(type)
    return value[name]


def elements(value: Value) -> tuple[Value, ...]:
    """The elements of a known list, set or tuple; none of a null."""
    cls = value.__class__
    if cls is tuple:
        return value  # type: ignore[no-any-return]
    return value.items if cls is List or cls is Set else ()


def entries(value: Value) -> Mapping[str, Value]:
    """The entries of a known map or object; none of a null."""
    cls = value.__class__
    if cls is dict:
        return value  # type: ignore[no-any-return]
    return value.items if cls is Map else {}


def element_type(t: Type, key: Any) -> Type:
    """The type of the element with a key in a collection, tuple or object of type `t`."""
    if isinstance(t, TupleType):
        return t.elements[key] if isinstance(key, int) and key < len(t.elements) else DYNAMIC
    if isinstance(t, ObjectType):
        return t.attributes.get(key, DYNAMIC)
    return getattr(t, "element", DYNAMIC)


def attribute_at(schema: Schema, path: Path) -> AttributeSchema | None:
    """The attribute that a path ends at; None where it ends at a block, an element, or inside a plain attribute."""
    here: Schema = schema
    for i, (kind, name) in enumerate(path):
        if kind != "attr":
            continue
        attribute = here.attributes.get(name)
        if attribute is not None:
            if i == len(path) - 1:
                return attribute
            if attribute.nested is None:
                return None
            here = attribute.nested
        elif isinstance(here, BlockSchema) and name in here.blocks:
            here = here.blocks[name].block
        else:
            return None
    return None
