"""Evaluates steps into values (`.name`, `[key]`), and iterates over values, as in HCL (hcl/ops.go)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from planner.foundation.values.convert import ConversionError, convert
from planner.foundation.values.refine import is_collection
from planner.foundation.values.types import (
    DYNAMIC,
    NUMBER,
    STRING,
    ListType,
    MapType,
    ObjectType,
    Primitive,
    SetType,
    TupleType,
    friendly_name,
)
from planner.foundation.values.value import (
    UNKNOWN,
    List,
    Map,
    Marked,
    Null,
    Set,
    Unknown,
    Value,
    mark,
    type_of,
)
from planner.foundation.vocabulary.nearest import did_you_mean


class TraversalError(ValueError):
    """A value does not have the attribute or element that a step selects. `summary` is a title, `detail` consists of
    sentences."""

    def __init__(self, summary: str, detail: str) -> None:
        super().__init__(detail)
        self.summary = summary
        self.detail = detail


def get_attr(value: Value, name: str) -> Value:
    """The value of `value.name`. Raises TraversalError."""
    cls = value.__class__
    if cls is dict:
        if name in value:
            return value[name]
        raise _no_attribute(name, value)
    if cls is Marked:
        return mark(get_attr(value.value, name), value.marks)
    if cls is Map:
        if name in value.items:
            return value.items[name]
        hint = _similar_names(name, value.items)
        raise TraversalError("Missing map element", f'This map has no element with the key "{name}".{hint}')
    if cls is Null:
        raise TraversalError("Attempt to get attribute from null value", "This value is null: it has no attributes.")
    t = type_of(value)
    if t is DYNAMIC:
        return UNKNOWN
    if isinstance(t, ObjectType):
        if name in t.attributes:
            return Unknown(t.attributes[name])
        raise _no_attribute(name, t.attributes)
    if isinstance(t, MapType):
        return Unknown(t.element)
    if isinstance(t, Primitive):
        detail = f"A {t.name} has no attributes."
    elif isinstance(t, (ListType, SetType)) and isinstance(t.element, ObjectType):
        detail = f"A {t.kind} of objects has no attributes of its own. {_of_elements(isinstance(t, ListType))}"
    elif isinstance(t, TupleType) and any(isinstance(element, ObjectType) for element in t.elements):
        detail = f"A tuple has no attributes of its own. {_of_elements(True)}"
    else:
        detail = f"A {friendly_name(t)} has no attributes."
    raise TraversalError(UNSUPPORTED_ATTRIBUTE, detail)


def _of_elements(has_indices: bool) -> str:
    one = "one of its elements by an index, or " if has_indices else ""
    return f"Choose {one}the attribute of all elements by [*]."


def _no_attribute(name: str, known: Any) -> TraversalError:
    hint = _similar_names(name, known)
    return TraversalError(UNSUPPORTED_ATTRIBUTE, f'This object has no attribute named "{name}".{hint}')


def _similar_names(name: str, known: Any) -> str:
    names = sorted(known)
    listed = f" It has {', '.join(names)}." if names and len(names) <= _FEW else ""
    return did_you_mean(name, names) or listed


_FEW = 6  # the maximum number of listed names

INVALID_INDEX = "Invalid index"
UNSUPPORTED_ATTRIBUTE = "Unsupported attribute"


def index(collection: Value, key: Value) -> Value:
    """The value of `collection[key]`. Raises TraversalError."""
    cls = collection.__class__
    if key.__class__ is int:
        if (cls is tuple or cls is List) and key >= 0:
            items = collection if cls is tuple else collection.items
            if key < len(items):
                return items[key]
    elif key.__class__ is str:
        if cls is dict and key in collection:
            return collection[key]
        if cls is Map and key in collection.items:
            return collection.items[key]
    return _index(collection, key)


def _index(collection: Value, key: Value) -> Value:
    inner = collection.value if collection.__class__ is Marked else collection
    marks = collection.marks if collection.__class__ is Marked else frozenset()
    if inner.__class__ is Null:
        raise TraversalError("Attempt to index null value", "This value is null: it has no elements.")
    bare_key = key.value if key.__class__ is Marked else key
    if bare_key.__class__ is Null:
        raise TraversalError(INVALID_INDEX, "The key is null.")
    t = type_of(inner)
    if t is DYNAMIC or type_of(bare_key) is DYNAMIC:
        return mark(UNKNOWN, marks)
    if isinstance(t, ObjectType):
        return mark(_index_object(inner, t, bare_key, is_shown=not marks and key.__class__ is not Marked), marks)
    if isinstance(t, SetType):
        raise TraversalError(
            INVALID_INDEX,
            "The elements of a set have no index and no key: they are identified by their values alone.",
        )
    if isinstance(t, Primitive):
        raise TraversalError(INVALID_INDEX, f"A {t.name} has no elements.")
    wanted = STRING if isinstance(t, MapType) else NUMBER
    bare_key = _key(bare_key, wanted)
    if bare_key.__class__ is Unknown or (inner.__class__ is Unknown and is_collection(t)):
        return mark(UNKNOWN if isinstance(t, TupleType) else Unknown(t.element), marks)
    if key.__class__ is Marked:
        marks |= key.marks
    if isinstance(t, MapType):
        if bare_key not in inner.items:
            hint = "" if marks else _similar_names(str(bare_key), inner.items)
            raise TraversalError(INVALID_INDEX, f"This map has no element with {_key_words(key)}.{hint}")
        return mark(inner.items[bare_key], marks)
    items: Any
    if inner.__class__ is Unknown:
        assert isinstance(t, TupleType)
        items = tuple(map(Unknown, t.elements))
    else:
        items = inner if inner.__class__ is tuple else inner.items
    if bare_key.__class__ is not int:
        if bare_key:
            detail = "The index of an element must be a whole number, but this one has a fraction."
            raise TraversalError(INVALID_INDEX, detail)
        bare_key = 0  # -0
    if bare_key < 0:
        raise TraversalError(INVALID_INDEX, "The index of an element must not be negative.")
    if bare_key >= len(items):
        count = "is empty" if not items else f"has {len(items)} element{'s' if len(items) > 1 else ''}, counted from 0"
        raise TraversalError(INVALID_INDEX, f"There is no element with this index: the {t_name(t)} {count}.")
    return mark(items[bare_key], marks)


def t_name(t: Any) -> str:
    """The name of a list or tuple type in messages: "list" or "tuple"."""
    return "tuple" if isinstance(t, TupleType) else str(t.kind)


def _key_words(key: Value) -> str:
    return f'the key "{key}"' if key.__class__ is str else "this key"


def _key(key: Value, wanted: Primitive) -> Value:
    try:
        return convert(key, wanted)
    except ConversionError as e:
        raise TraversalError(INVALID_INDEX, f"Invalid key: {e}.") from None


def _index_object(value: Value, t: ObjectType, key: Value, is_shown: bool) -> Value:
    was_number = type_of(key) is NUMBER
    key = _key(key, STRING)
    if value.__class__ is Unknown or key.__class__ is Unknown:
        return UNKNOWN
    if key not in t.attributes:
        named = f'named "{key}"' if is_shown else "of that name"
        hint = " Objects are read by the names of their attributes, not by numbers." if was_number else ""
        if is_shown and not was_number:
            hint = _similar_names(key, t.attributes)
        raise TraversalError(INVALID_INDEX, f"This object has no attribute {named}.{hint}")
    return value[key]


def can_iterate(value: Value) -> bool:
    """Whether it is possible to iterate over a value without marks, according to its type: a collection, tuple or
    object. False for a value of unknown type."""
    cls = value.__class__
    if cls is dict or cls is tuple:  # `type_of` would compute the types of all elements
        return True
    return not isinstance(type_of(value), Primitive)


def elements(value: Value) -> Iterator[tuple[Value, Value]]:
    """Keys and values of a known collection, tuple or object without marks, in the order in which the language iterates
    over them."""
    cls = value.__class__
    if cls is tuple:
        return enumerate(value)
    if cls is List:
        return enumerate(value.items)
    if cls is Set:
        return ((item, item) for item in value.items)
    items = value if cls is dict else value.items
    return ((key, items[key]) for key in sorted(items))
