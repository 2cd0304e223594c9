"""Conversion of values to types.

    convert(value, type) -> value raises ConversionError with the path and the reason

As in go-cty (package convert): unknown and null values are converted by their types, marks are preserved, and open
parts of a type constraint (`any` inside a collection) are inferred from the values."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from planner.foundation.values.numbers import NumberTooLongError, number_to_text
from planner.foundation.values.refine import length_bounds, length_is_known, refine
from planner.foundation.values.sets import make_set
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
    Type,
    collection_type,
    friendly_name,
    has_dynamic,
    without_optional,
)
from planner.foundation.values.unify import common_element, conversion_possible, unify
from planner.foundation.values.value import (
    List,
    Map,
    Marked,
    Null,
    Refinement,
    Set,
    Unknown,
    Value,
    mark,
    number_from_text,
    type_of,
    unmark_deep,
)

__all__ = ["ConversionError", "conversion_possible", "convert", "path_text", "unify"]

Path = tuple[tuple[str, Any], ...]


class ConversionError(ValueError):
    """A value cannot be converted. `reason` is a clause without a full stop. `path` leads to the invalid part, in steps
    ("attr", name) and ("index", key). The message of the exception joins both."""

    def __init__(self, reason: str, path: Path = ()) -> None:
        super().__init__(f"{path_text(path)}: {reason}" if path else reason)
        self.reason = reason
        self.path = path

    def about(self, value: Value) -> str:
        """The message for users. It has no path if the value is marked, because map keys may be secret."""
        return self.reason if unmark_deep(value)[1] else str(self)


def path_text(path: Path) -> str:
    """A path in the syntax of expressions, without a leading dot: `name[0]["key"]`. An element of a set, or an unknown
    key, is shown as `[...]`."""
    text = ""
    for kind, key in path:
        if kind == "attr":
            text += f".{key}"
        elif isinstance(key, str):
            text += f'["{key}"]'
        elif isinstance(key, int):
            text += f"[{key}]"
        else:
            text += "[...]"
    return text.removeprefix(".")


def convert(value: Value, wanted: Type) -> Value:
    """The value converted to a type. Raises ConversionError."""
    if wanted is DYNAMIC or (wanted is STRING and value.__class__ is str):
        return value
    return _convert(value, wanted, ())


def _convert(value: Value, wanted: Type, path: Path) -> Value:
    if wanted is DYNAMIC:
        return value
    cls = value.__class__
    if cls is Marked:
        return mark(_convert(value.value, wanted, path), value.marks)
    if cls is Null:
        given = value.type
        if given == without_optional(wanted):
            return value
        _require(given, wanted, path)
        return Null(_fill(given, without_optional(wanted)))
    if cls is Unknown:
        if value.type == without_optional(wanted):
            return value
        _require(value.type, wanted, path)
        return _unknown(value, _fill(value.type, without_optional(wanted)))
    if isinstance(wanted, Primitive):
        return _to_primitive(value, wanted, path)
    if isinstance(wanted, ObjectType):
        return _to_object(value, wanted, path)
    if isinstance(wanted, TupleType):
        if cls is not tuple or len(value) != len(wanted.elements):
            raise _mismatch(value, wanted, path)
        return tuple(
            _convert(v, t, (*path, ("index", i))) for i, (v, t) in enumerate(zip(value, wanted.elements, strict=True))
        )
    if isinstance(wanted, MapType):
        return _to_map(value, wanted, path)
    return _to_sequence(value, wanted, path)


# ---------------------------------------------------------------- primitives


def _to_primitive(value: Value, wanted: Primitive, path: Path) -> Value:
    cls = value.__class__
    if wanted is STRING:
        if cls is str:
            return value
        if cls is int:
            return number_text(value)
        if cls is bool:
            return "true" if value else "false"
    elif wanted is NUMBER:
        if cls is int:
            return value
        if cls is str:
            try:
                return number_from_text(value)
            except ValueError:
                raise ConversionError("a number is required", path) from None
    elif cls is bool:
        return value
    elif cls is str:
        if value in ("true", "1"):
            return True
        if value in ("false", "0"):
            return False
        hint = f'; written in lower case ("{value.lower()}") it would be a bool' if value.lower() in _BOOLS else ""
        raise ConversionError(f"a bool is required{hint}", path)
    if cls is str or cls is bool or cls is int or cls in (dict, tuple, List, Set, Map):
        raise _mismatch(value, wanted, path)
    if wanted is NUMBER:
        return value
    if wanted is STRING:
        return number_text(value)
    raise _mismatch(value, wanted, path)


_BOOLS = ("true", "false")


def number_text(value: Any) -> str:
    """The number as a string. Raises ConversionError for a number with too many digits."""
    if value.__class__ is int and -(1 << 500) < value < 1 << 500:
        return str(value)
    try:
        return number_to_text(value)
    except NumberTooLongError:
        raise ConversionError("the number has too many digits to write them all") from None


# ---------------------------------------------------------------- unknown and null


def _fill(given: Type, wanted: Type) -> Type:
    """The type `wanted`, with each open part (`any`) replaced by the corresponding part of the type `given`."""
    if given is DYNAMIC or not has_dynamic(wanted):
        return wanted
    if wanted is DYNAMIC:
        return given
    if isinstance(wanted, ObjectType):
        if isinstance(given, MapType):
            return ObjectType({k: _fill(given.element, t) for k, t in wanted.attributes.items()})
        assert isinstance(given, ObjectType)
        own = given.attributes
        return ObjectType({k: _fill(own[k], t) if k in own else t for k, t in wanted.attributes.items()})
    if isinstance(wanted, TupleType):
        assert isinstance(given, TupleType)
        return TupleType(tuple(map(_fill, given.elements, wanted.elements)))
    assert isinstance(wanted, (ListType, SetType, MapType))
    if isinstance(given, (ListType, SetType, MapType)):
        return collection_type(wanted.kind, _fill(given.element, wanted.element))
    parts = given.elements if isinstance(given, TupleType) else tuple(_attributes(given))
    return collection_type(wanted.kind, _fill(unify(parts) or DYNAMIC, wanted.element))


def _attributes(t: Type) -> Iterable[Type]:
    return t.attributes.values() if isinstance(t, ObjectType) else ()


def _unknown(value: Unknown, wanted: Type) -> Value:
    """Convert an unknown value, keeping the refinements that remain valid."""
    given, known = value.type, value.refinement
    not_null = known is not None and known.not_null
    if isinstance(given, ObjectType) and isinstance(wanted, MapType):
        least = most = len(given.attributes)
    elif isinstance(given, TupleType) and isinstance(wanted, (ListType, SetType)):
        most = len(given.elements)
        least = most if isinstance(wanted, ListType) else min(most, 1)
    elif isinstance(given, (ListType, SetType, MapType)) and isinstance(wanted, (ListType, SetType, MapType)):
        least, upper = length_bounds(value)
        if isinstance(wanted, SetType):
            least = min(least, 1)
        return refine(wanted, Refinement(not_null, min_length=least or None, max_length=upper))
    else:
        return refine(wanted, Refinement(not_null))
    return refine(wanted, Refinement(not_null, min_length=least or None, max_length=most))


def _require(given: Type, wanted: Type, path: Path) -> None:
    if not conversion_possible(given, wanted):
        raise ConversionError(mismatch(given, wanted), path)


# ---------------------------------------------------------------- objects and maps


def _to_object(value: Value, wanted: ObjectType, path: Path) -> Value:
    cls = value.__class__
    if cls is Map:
        return _map_to_object(value, wanted, path)
    if cls is not dict:
        raise _mismatch(value, wanted, path)
    missing = [name for name in wanted.attributes if name not in value and name not in wanted.optional]
    if missing:
        raise ConversionError(_missing(missing), path)
    result: dict[str, Value] = {}
    for name, t in wanted.attributes.items():
        if name in value:
            result[name] = _convert(value[name], t, (*path, ("attr", name)))
        else:
            result[name] = Null(without_optional(t))
    return result


def _map_to_object(value: Map, wanted: ObjectType, path: Path) -> Value:
    _require(MapType(value.element), wanted, path)
    result: dict[str, Value] = {}
    for name, t in wanted.attributes.items():
        if name in value.items:
            result[name] = _convert(value.items[name], t, (*path, ("index", name)))
        elif name in wanted.optional:
            result[name] = Null(without_optional(t))
        else:
            raise ConversionError(_missing([name]), path)
    return result


def _to_map(value: Value, wanted: MapType, path: Path) -> Value:
    cls = value.__class__
    element = wanted.element
    if cls is Map:
        if value.element == without_optional(element):
            return value
        _require(value.element, element, path)
        source: dict[str, Value] = value.items
        if not source:
            return Map(value.element if element is DYNAMIC else without_optional(element), {})
        safe = True
    elif cls is dict:
        source, safe = value, False
        if not source:
            return Map(without_optional(element), {})
        if element is DYNAMIC:
            common = common_element([type_of(v) for v in source.values()], unsafe=True, strict=False)
            if common is None:
                raise ConversionError("all elements of a map must have the same type", path)
            element = common
    else:
        raise _mismatch(value, wanted, path)
    items = {k: _convert(v, element, (*path, ("index", k))) for k, v in source.items()}
    if not has_dynamic(element):
        return Map(without_optional(element), items)
    if not isinstance(element, (Primitive, TupleType)):
        items = dict(zip(items, _same_type(list(items.values()), path, unsafe=not safe), strict=True))
    common, values = _with_common_element(list(items.values()), "map", path)
    return Map(common, dict(zip(items, values, strict=True)))


# ---------------------------------------------------------------- lists, sets and tuples


def _to_sequence(value: Value, wanted: ListType | SetType, path: Path) -> Value:
    cls = value.__class__
    element = wanted.element
    if cls is List or cls is Set:
        if cls is (List if wanted.__class__ is ListType else Set) and value.element == without_optional(element):
            return value
        _require(value.element, element, path)
        if cls is Set and wanted.__class__ is ListType and not length_is_known(value):
            return Unknown(ListType(value.element))
        source = value.items
        if not source:
            return _build(wanted, value.element if element is DYNAMIC else without_optional(element), ())
    elif cls is tuple:
        source = value
        if not source:
            return _build(wanted, without_optional(element), ())
        if element is DYNAMIC:
            common = common_element([type_of(v) for v in source], unsafe=True, strict=True)
            if common is None:
                raise ConversionError(f"all elements of a {wanted.kind} must have the same type", path)
            element = common
    else:
        raise _mismatch(value, wanted, path)
    items = [_convert(v, element, (*path, ("index", i))) for i, v in enumerate(source)]
    if not has_dynamic(element):
        return _build(wanted, without_optional(element), items)
    if cls is tuple and wanted.__class__ is ListType:
        items = _same_type(items, path, unsafe=True)
    common, items = _with_common_element(items, wanted.kind, path)
    return _build(wanted, common, items)


def _build(wanted: ListType | SetType, element: Type, items: Iterable[Value]) -> Value:
    return List(element, tuple(items)) if wanted.__class__ is ListType else make_set(element, items)


def _same_type(items: list[Value], path: Path, unsafe: bool) -> list[Value]:
    common = unify([type_of(v) for v in items], unsafe)
    if common is None:
        raise ConversionError("the elements have no type in common", path)
    return [_convert(v, common, (*path, ("index", i))) for i, v in enumerate(items)]


def _with_common_element(items: list[Value], kind: str, path: Path) -> tuple[Type, list[Value]]:
    """The common element type, and the items; null and unknown items of unknown type get the element type. Raises
    ConversionError if the types differ."""
    element: Type = DYNAMIC
    for item in items:
        t = type_of(item)
        if element is DYNAMIC:
            element = t
        elif t is not DYNAMIC and t != element:
            raise ConversionError(f"all elements of a {kind} must have the same type", path)
    return element, [with_element_type(item, element) for item in items]


def with_element_type(item: Value, element: Type) -> Value:
    """Convert a null or unknown item of unknown type to the element type of its collection."""
    cls = item.__class__
    if cls is Marked:
        return Marked(with_element_type(item.value, element), item.marks)
    if (cls is Null or cls is Unknown) and item.type is DYNAMIC and element is not DYNAMIC:
        return cls(element)
    return item


# ---------------------------------------------------------------- words


def _mismatch(value: Value, wanted: Type, path: Path) -> ConversionError:
    return ConversionError(mismatch(type_of(value), wanted), path)


def _missing(names: list[str]) -> str:
    quoted = ", ".join(f'"{n}"' for n in sorted(names))
    return f"the attribute{'s' if len(names) > 1 else ''} {quoted} {'are' if len(names) > 1 else 'is'} required"


def mismatch(given: Type, wanted: Type) -> str:
    """The reason why no value of the type `given` can be converted to the type `wanted`, as a clause."""
    if isinstance(given, ObjectType) and isinstance(wanted, ObjectType):
        missing = [n for n in wanted.attributes if n not in given.attributes and n not in wanted.optional]
        if missing:
            return _missing(missing)
        for name, t in wanted.attributes.items():
            own = given.attributes.get(name)
            if own is not None and not conversion_possible(own, t):
                return f'in the attribute "{name}", {mismatch(own, t)}'
    if isinstance(given, TupleType) and isinstance(wanted, TupleType) and len(given.elements) != len(wanted.elements):
        return f"the number of elements must be {len(wanted.elements)}, not {len(given.elements)}"
    if isinstance(given, ObjectType) and isinstance(wanted, MapType) and wanted.element is not DYNAMIC:
        for name, t in given.attributes.items():
            if not conversion_possible(t, wanted.element):
                return f'in the element "{name}", {mismatch(t, wanted.element)}'
    if isinstance(given, TupleType) and isinstance(wanted, (ListType, SetType)) and wanted.element is not DYNAMIC:
        for i, t in enumerate(given.elements):
            if not conversion_possible(t, wanted.element):
                return f"in the element {i}, {mismatch(t, wanted.element)}"
    if isinstance(given, (ListType, SetType, MapType)) and given.__class__ is wanted.__class__:
        return f"in its elements, {mismatch(given.element, wanted.element)}"
    return f"{_with_article(friendly_name(wanted))} is required, not {_with_article(friendly_name(given))}"


def _with_article(name: str) -> str:
    return f"{'an' if name[0] in 'aeiou' else 'a'} {name}"
