"""Determines whether types can be converted to each other, and the common type of several types.

As in go-cty (convert/conversion.go, unify.go, compare_types.go). An "unsafe" conversion may fail for some values of a
type (string to number). The language uses unsafe conversions except when it unifies nested collections."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache

from planner.foundation.values.types import (
    BOOL,
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
)


@lru_cache(4096)
def conversion_possible(given: Type, wanted: Type, unsafe: bool = True) -> bool:
    """Whether values of the type `given` can be converted to `wanted`, or the types are equal. `unsafe`: whether unsafe
    conversions count."""
    if wanted is DYNAMIC or given == wanted:
        return True
    if given is DYNAMIC:
        return unsafe
    if isinstance(given, Primitive) or isinstance(wanted, Primitive):
        return _primitive_possible(given, wanted, unsafe)
    if isinstance(wanted, ObjectType):
        return _to_object(given, wanted, unsafe)
    if isinstance(wanted, TupleType):
        return (
            isinstance(given, TupleType)
            and len(given.elements) == len(wanted.elements)
            and all(map(_either_way(unsafe), given.elements, wanted.elements))
        )
    if isinstance(wanted, MapType):
        if isinstance(given, MapType):
            return conversion_possible(given.element, wanted.element, unsafe)
        return isinstance(given, ObjectType) and _elements_to(
            list(given.attributes.values()), wanted.element, unsafe, strict=False
        )
    if isinstance(given, TupleType):
        return _elements_to(given.elements, wanted.element, unsafe, strict=True)
    if not isinstance(given, (ListType, SetType)):
        return False
    if isinstance(wanted, SetType) and isinstance(given, ListType) and not unsafe:
        return False
    return conversion_possible(given.element, wanted.element, unsafe)


def _either_way(unsafe: bool) -> Callable[[Type, Type], bool]:
    return lambda given, wanted: conversion_possible(given, wanted, unsafe)


def _primitive_possible(given: Type, wanted: Type, unsafe: bool) -> bool:
    if wanted is STRING:
        return given is NUMBER or given is BOOL
    return unsafe and given is STRING and (wanted is NUMBER or wanted is BOOL)


def _to_object(given: Type, wanted: ObjectType, unsafe: bool) -> bool:
    if isinstance(given, ObjectType):
        for name, t in wanted.attributes.items():
            own = given.attributes.get(name)
            if own is None:
                if name not in wanted.optional:
                    return False
            elif not conversion_possible(own, t, unsafe):
                return False
        return True
    if not isinstance(given, MapType) or not unsafe:
        return False
    return all(
        conversion_possible(given.element, t, unsafe) or name in wanted.optional
        for name, t in wanted.attributes.items()
    )


def _elements_to(elements: Sequence[Type], wanted: Type, unsafe: bool, strict: bool) -> bool:
    if not elements:
        return True
    if wanted is DYNAMIC:
        return common_element(elements, unsafe, strict) is not None
    return all(conversion_possible(e, wanted, unsafe) for e in elements)


def common_element(elements: Sequence[Type], unsafe: bool, strict: bool) -> Type | None:
    """The element type for a type constraint that leaves it open (`list(any)`), given the types of the elements; None
    if there is no common type. With `strict`, the result is dynamic only if all types are."""
    common = unify(elements, unsafe)
    if strict and common is DYNAMIC and any(e is not DYNAMIC for e in elements):
        return None
    return common


def unify(types: Sequence[Type], unsafe: bool = True) -> Type | None:
    """A type to which values of all these types can be converted, preferably one of them; None if there is none."""
    if not types:
        return None
    first = types[0]
    if all(t is first or t == first for t in types):
        return first
    return _unify(tuple(types), unsafe)


@lru_cache(1024)
def _unify(types: tuple[Type, ...], unsafe: bool) -> Type | None:
    count: dict[type, int] = {}
    for t in types:
        count[t.__class__] = count.get(t.__class__, 0) + (t.__class__ is not Primitive)
    dynamic = sum(t is DYNAMIC for t in types)
    maps, lists, sets = count.get(MapType, 0), count.get(ListType, 0), count.get(SetType, 0)
    objects, tuples, total = count.get(ObjectType, 0), count.get(TupleType, 0), len(types)
    if maps and maps + dynamic == total:
        return DYNAMIC if dynamic else _unify_elements(types, MapType, unsafe)
    if maps and maps + objects + dynamic == total:
        unified = _unify_disguised(types, ObjectType, _objects_to_map, MapType, unsafe)
        if unified is not None:
            return unified
    elif lists and lists + dynamic == total:
        return DYNAMIC if dynamic else _unify_elements(types, ListType, unsafe)
    elif lists and lists + tuples + dynamic == total:
        unified = _unify_disguised(types, TupleType, _tuples_to_list, ListType, unsafe)
        if unified is not None:
            return unified
    elif sets and sets + dynamic == total:
        return DYNAMIC if dynamic else _unify_elements(types, SetType, unsafe)
    elif objects and objects + dynamic == total:
        return DYNAMIC if dynamic else _unify_objects(types, unsafe)
    elif tuples and tuples + dynamic == total:
        return DYNAMIC if dynamic else _unify_tuples(types, unsafe)
    elif objects and tuples:
        return None
    for wanted in _by_generality(types):
        if all(t == wanted or conversion_possible(t, wanted, unsafe) for t in types):
            return wanted
    return None


def _all_convert(types: Sequence[Type], wanted: Type, unsafe: bool) -> bool:
    return all(t == wanted or conversion_possible(t, wanted, unsafe) for t in types)


def _unify_elements(types: Sequence[Type], kind: type, unsafe: bool) -> Type | None:
    element = unify([t.element for t in types if isinstance(t, (ListType, SetType, MapType))], unsafe)
    if element is None:
        return None
    wanted: Type = kind(element)
    return wanted if _all_convert(types, wanted, unsafe) else None


def _unify_disguised(
    types: Sequence[Type], structural: type, to_collection: Callable[..., Type | None], kind: type, unsafe: bool
) -> Type | None:
    """The common type of objects and maps; for this, the objects are first converted to maps. The same holds for tuples
    and lists. `structural`: ObjectType or TupleType. `kind`: MapType or ListType. None if the common type does not have
    this kind."""
    collection = to_collection([t for t in types if t.__class__ is structural], unsafe)
    if collection is None:
        return None
    unified = unify([collection if t.__class__ is structural else t for t in types], unsafe)
    return unified if unified.__class__ is kind else None


def way_to_common(given: Type, other: Type) -> MapType | ListType | None:
    """A value of the type `given` is converted to the common type with `other` in two steps if it is an object and
    `other` is a map type, or if it is a tuple and `other` is a list type. Returns the map or list type of the first
    step; None if one step suffices. The first step can fail where a direct conversion would succeed."""
    if isinstance(given, ObjectType) and isinstance(other, MapType):
        return _objects_to_map([given], True)
    if isinstance(given, TupleType) and isinstance(other, ListType):
        return _tuples_to_list([given], True)
    return None


def _unify_objects(types: Sequence[Type], unsafe: bool) -> Type | None:
    shapes = [t for t in types if isinstance(t, ObjectType)]
    names = shapes[0].attributes.keys()
    if any(s.attributes.keys() != names for s in shapes):
        return _objects_to_map(shapes, unsafe)
    attributes: dict[str, Type] = {}
    for name in names:
        unified = unify([s.attributes[name] for s in shapes], unsafe)
        if unified is None:
            return None
        attributes[name] = unified
    wanted = ObjectType(attributes)
    return wanted if _all_convert(types, wanted, unsafe) else _objects_to_map(shapes, unsafe)


def _objects_to_map(shapes: Sequence[ObjectType], unsafe: bool) -> MapType | None:
    element = unify([t for s in shapes for t in s.attributes.values()], unsafe)
    if element is None:
        return None
    wanted = MapType(element)
    return wanted if _all_convert(shapes, wanted, unsafe) else None


def _unify_tuples(types: Sequence[Type], unsafe: bool) -> Type | None:
    shapes = [t for t in types if isinstance(t, TupleType)]
    length = len(shapes[0].elements)
    if any(len(s.elements) != length for s in shapes):
        return _tuples_to_list(shapes, unsafe)
    elements: list[Type] = []
    for i in range(length):
        unified = unify([s.elements[i] for s in shapes], unsafe)
        if unified is None:
            return None
        elements.append(unified)
    wanted = TupleType(tuple(elements))
    return wanted if _all_convert(types, wanted, unsafe) else _tuples_to_list(shapes, unsafe)


def _tuples_to_list(shapes: Sequence[TupleType], unsafe: bool) -> ListType | None:
    element = unify([t for s in shapes for t in s.elements], unsafe)
    if element is None:
        return None
    wanted = ListType(element)
    return wanted if _all_convert(shapes, wanted, unsafe) else None


def _by_generality(types: Sequence[Type]) -> list[Type]:
    """Distinct types, more general ones first (a topological order of `_compare`)."""
    distinct = list(dict.fromkeys(types))
    after: list[list[int]] = [[] for _ in distinct]
    waiting = [0] * len(distinct)
    for i, a in enumerate(distinct):
        for j in range(i + 1, len(distinct)):
            order = _compare(a, distinct[j])
            if order:
                general, special = (i, j) if order < 0 else (j, i)
                after[general].append(special)
                waiting[special] += 1
    queue = [i for i, n in enumerate(waiting) if n == 0]
    for i in queue:
        for j in after[i]:
            waiting[j] -= 1
            if waiting[j] == 0:
                queue.append(j)
    return [distinct[i] for i in queue]


_RANK: dict[type, int] = {SetType: 2, TupleType: 1, ListType: 0}


def _compare(a: Type, b: Type) -> int:
    """The order of two types: negative if a is more general than b, positive if b is more general than a, otherwise
    0."""
    if a is DYNAMIC or b is DYNAMIC:
        return (a is DYNAMIC) - (b is DYNAMIC)
    if isinstance(a, Primitive) and isinstance(b, Primitive):
        return (b is STRING) - (a is STRING)
    if isinstance(a, (ListType, SetType, MapType)) and a.__class__ is b.__class__:
        return _compare(a.element, b.element)
    if isinstance(a, ObjectType) and isinstance(b, ObjectType):
        if a.attributes.keys() != b.attributes.keys():
            return 0
        return _compare_parts([_compare(t, b.attributes[k]) for k, t in a.attributes.items()])
    if isinstance(a, TupleType) and isinstance(b, TupleType):
        if len(a.elements) != len(b.elements):
            return 0
        return _compare_parts(list(map(_compare, a.elements, b.elements)))
    if isinstance(a, MapType) and isinstance(b, ObjectType):
        return -1
    if isinstance(a, ObjectType) and isinstance(b, MapType):
        return 1
    ra, rb = _RANK.get(a.__class__), _RANK.get(b.__class__)
    if ra is None or rb is None:
        return 0
    return -1 if ra < rb else 1


def _compare_parts(orders: list[int]) -> int:
    general, special = any(o < 0 for o in orders), any(o > 0 for o in orders)
    return special - general
