"""Functions for maps and objects."""

from __future__ import annotations

from typing import Any

from planner.foundation.values.convert import convert
from planner.foundation.values.types import (
    DYNAMIC,
    EMPTY_OBJECT,
    STRING,
    ListType,
    MapType,
    ObjectType,
    TupleType,
    Type,
)
from planner.foundation.values.value import (
    NO_MARKS,
    List,
    Map,
    Null,
    Unknown,
    Value,
    is_wholly_known,
    mark,
    type_of,
    unmark,
)
from planner.language.functions.protocol import (
    Function,
    FunctionError,
    Param,
    entries,
    function,
    items,
    kind,
    sequence,
    shape,
    unknown,
)

FUNCTIONS: list[Function] = []

_STRINGS = ListType(STRING)


@function(
    Param("inputMap", DYNAMIC, "The map or object.", allow_unknown=True, allow_marked=True),
    result=lambda mapping: _keys_type(mapping),
    into=FUNCTIONS,
)
def keys(mapping: Value, *, result_type: Type) -> Value:
    """Returns the keys of a map, sorted."""
    mapping, marks = unmark(mapping)
    if kind(mapping) == "object":
        names = shape(mapping)[1].attributes if mapping.__class__ is Unknown else mapping
        return mark(tuple(sorted(names)), marks)
    if mapping.__class__ is Unknown:
        return mark(unknown(result_type), marks)
    return mark(List(STRING, tuple(sorted(mapping.items))), marks)


def _keys_type(mapping: Value) -> Type:
    what = kind(mapping)
    if what == "map":
        return _STRINGS
    if what != "object":
        raise FunctionError("It must be a map or an object.", 0)
    return TupleType((STRING,) * len(shape(mapping)[1].attributes))


@function(
    Param("mapping", DYNAMIC, "The map or object.", allow_marked=True),
    result=lambda mapping: _values_type(mapping),
    into=FUNCTIONS,
)
def values(mapping: Value, *, result_type: Type) -> Value:
    """Returns the elements of a map, sorted by their keys."""
    mapping, marks = unmark(mapping)
    return mark(sequence(result_type, items(mapping)), marks)


def _values_type(mapping: Value) -> Type:
    what, t = shape(mapping)
    if what == "map":
        return ListType(t.element)
    if what != "object":
        raise FunctionError("It must be a map or an object.")
    return TupleType(tuple(t.attributes.values()))


@function(
    variadic=Param("maps", DYNAMIC, "The maps or objects.", allow_null=True, allow_marked=True, allow_dynamic=True),
    result=lambda *maps: _merge_type(maps),
    into=FUNCTIONS,
)
def merge(*maps: Value, result_type: Type) -> Value:
    """Merges maps or objects. If several elements have the same key, the last one is used."""
    marks = NO_MARKS
    merged: dict[str, Value] = {}
    for each in maps:
        each, own = unmark(each)
        if each.__class__ is Null:
            continue
        if kind(each) not in ("map", "object"):  # only for arguments of unknown type
            raise FunctionError(f"All arguments must be maps or objects, not {kind(each)}.")
        marks |= own
        merged.update(entries(each))
    return mark(Map(result_type.element, merged) if isinstance(result_type, MapType) else merged, marks)


def _merge_type(maps: tuple[Value, ...]) -> Type:
    if not maps:
        return EMPTY_OBJECT
    attributes: dict[str, Type] = {}
    types: list[Type] = []
    all_known = True
    for each in maps:
        plain = unmark(each)[0]
        t: Any = type_of(plain)
        if t is DYNAMIC:
            return DYNAMIC  # type: ignore[no-any-return]
        if not isinstance(t, MapType | ObjectType):
            raise FunctionError(f"All arguments must be maps or objects, not {kind(plain)}.")
        types.append(t)
        if plain.__class__ is Null:
            continue
        if isinstance(t, ObjectType):
            attributes.update(t.attributes)
        elif plain.__class__ is Unknown:
            all_known = False
        else:
            attributes.update(dict.fromkeys(plain.items, t.element))
    if all(t == types[0] for t in types):
        return types[0]
    return ObjectType(attributes) if all_known else DYNAMIC


@function(
    Param("values", MapType(_STRINGS)),
    result=MapType(_STRINGS),
    into=FUNCTIONS,
)
def transpose(mapping: Map) -> Value:
    """Swaps the keys of a map of lists with the strings in the lists: each string becomes a key, and its value is the
    list of the keys whose lists contained the string."""
    if not is_wholly_known(mapping):
        return unknown(MapType(_STRINGS))
    swapped: dict[str, list[str]] = {}
    for key in sorted(mapping.items):
        strings = mapping.items[key]
        if strings.__class__ is Null or any(s.__class__ is Null for s in strings.items):
            raise FunctionError(f'The list with the key "{key}" is null or has a null element.', 0)
        for string in strings.items:
            swapped.setdefault(string, []).append(key)
    return Map(_STRINGS, {string: List(STRING, tuple(item)) for string, item in swapped.items()})


@function(
    Param("keys", _STRINGS, "The keys.", allow_marked=True),
    Param("values", DYNAMIC, "The values: a list or tuple with as many elements as there are keys.", allow_marked=True),
    result=lambda keys, found: _zipmap_type(keys, found),
    into=FUNCTIONS,
)
def zipmap(keys: Value, found: Value, *, result_type: Type) -> Value:
    """Returns a map with the keys from one list and the values from another."""
    keys, marks = unmark(keys)
    found, found_marks = unmark(found)
    marks |= found_marks
    if not is_wholly_known(keys):
        return mark(unknown(result_type), marks)
    if len(keys) != len(items(found)):
        raise FunctionError(f"The numbers of keys ({len(keys)}) and of values ({len(items(found))}) differ.")
    out: dict[str, Value] = {}
    for key, value in zip(keys.items, items(found), strict=True):
        name, key_marks = unmark(key)
        marks |= key_marks
        if name.__class__ is Null:
            raise FunctionError("A key must not be null.")
        out[name] = value
    return mark(Map(result_type.element, out) if isinstance(result_type, MapType) else out, marks)


def _zipmap_type(keys: Value, found: Value) -> Type:
    what, t = shape(found)
    if what == "list":
        return MapType(t.element)
    if what != "tuple":
        raise FunctionError("The values must be a list or a tuple.")
    if not is_wholly_known(keys):
        return DYNAMIC
    names = [unmark(key)[0] for key in unmark(keys)[0].items]
    elements = t.elements
    if len(names) != len(elements):
        raise FunctionError(f"The numbers of keys ({len(names)}) and of values ({len(elements)}) differ.")
    if any(name.__class__ is Null for name in names):
        raise FunctionError("A key must not be null.")
    return ObjectType(dict(zip(names, elements, strict=True)))


@function(
    Param("inputMap", DYNAMIC, "The map or object.", allow_marked=True),
    Param("key", STRING, "The key to look up.", allow_marked=True),
    variadic=Param(
        "default",
        DYNAMIC,
        "The default if there is no such key.",
        allow_null=True,
        allow_unknown=True,
        allow_marked=True,
        allow_dynamic=True,
    ),
    result=lambda mapping, key, *default: _lookup_type(mapping, key, default),
    not_null=False,
    into=FUNCTIONS,
)
def lookup(mapping: Value, key: Value, *default: Value, result_type: Type) -> Value:
    """Returns the element at a key of a map, or a default if the map does not have the key."""
    mapping, marks = unmark(mapping)
    name, key_marks = unmark(key)
    marks |= key_marks
    if name in entries(mapping):
        return mark(entries(mapping)[name], marks)
    if not default:
        what = "this key" if key_marks else f'the key "{name}"'
        raise FunctionError(f"The map has no element with {what}, and the call has no default as its third argument.")
    try:
        return mark(convert(default[0], result_type), marks)
    except ValueError as problem:
        raise FunctionError(str(problem)) from None


def _lookup_type(mapping: Value, key: Value, default: tuple[Value, ...]) -> Type:
    if len(default) > 1:
        raise FunctionError("It takes two or three arguments.")
    what, t = shape(mapping)
    if what == "map":
        if default:
            try:
                convert(default[0], t.element)
            except ValueError:
                raise FunctionError("The default must be of the type of the map's elements.", 2) from None
        return t.element  # type: ignore[no-any-return]
    if what != "object":
        raise FunctionError("It must be a map or an object.", 0)
    name = unmark(key)[0]
    if name.__class__ is Unknown:
        return DYNAMIC
    attributes = t.attributes
    if name in attributes:
        return attributes[name]  # type: ignore[no-any-return]
    if not default:
        detail = f'The object has no attribute "{name}", and the call has no default as its third argument.'
        raise FunctionError(detail, 0)
    return type_of(default[0])
