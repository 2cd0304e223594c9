"""Functions for sets."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from itertools import filterfalse, product
from math import prod
from typing import Any

from planner.foundation.values.convert import convert, unify
from planner.foundation.values.operations import membership
from planner.foundation.values.refine import length_bounds, length_is_known, refine
from planner.foundation.values.sets import make_set
from planner.foundation.values.types import DYNAMIC, ListType, SetType, TupleType, Type
from planner.foundation.values.value import (
    NO_MARKS,
    List,
    Refinement,
    Set,
    Unknown,
    Value,
    is_wholly_known,
    mark,
    unmark,
)
from planner.language.functions.protocol import Function, FunctionError, Param, function, items, kind, shape, unknown

FUNCTIONS: list[Function] = []

Combine = Callable[[Set, Set], Iterable[Value]]

_ANY_SET = SetType(DYNAMIC)
MAX_COMBINATIONS = 10_000_000
_PRODUCT_LIMIT = 1024  # if a set may have more elements, the length of an unknown product has no upper bound


def _common_type(*sets: Value) -> Type:
    elements = []
    for each in sets:
        t = shape(each)[1]
        element = DYNAMIC if t is DYNAMIC else t.element
        if each.__class__ is Set and not each.items and element is DYNAMIC:
            continue  # an empty set of unknown type matches any type
        elements.append(element)
    if not elements:
        return _ANY_SET
    common = unify(elements)
    if common is None:
        raise FunctionError("The sets have elements of different types.")
    return SetType(common)


def _combine(sets: tuple[Value, ...], result_type: Type, combine: Combine, unknown_elements: bool) -> Value:
    """Convert the sets to one type, and combine them one after the other. `unknown_elements`: whether unknown elements
    are combined, too; otherwise they make the result unknown. Raises FunctionError."""
    result: Any = None
    for index, each in enumerate(sets):
        try:
            converted = convert(each, result_type)
        except ValueError as problem:
            raise FunctionError(str(problem), index) from None
        if not unknown_elements and not is_wholly_known(converted):
            return unknown(result_type)
        if result is None:
            result = converted
        elif converted.element != result.element:
            raise FunctionError("The sets have elements of different types.")  # some sets have an unknown type
        else:
            result = make_set(result.element, combine(result, converted))
    return result


_FIRST = Param("first_set", _ANY_SET, "A set.", allow_dynamic=True)
_OTHERS = Param("other_sets", _ANY_SET, "More sets.", allow_dynamic=True)


@function(_FIRST, variadic=_OTHERS, result=_common_type, into=FUNCTIONS)
def setunion(*sets: Value, result_type: Type) -> Value:
    """Returns the union of sets: all elements of any of them."""
    return _combine(sets, result_type, lambda a, b: a.items + b.items, True)


@function(_FIRST, variadic=_OTHERS, result=_common_type, into=FUNCTIONS)
def setintersection(*sets: Value, result_type: Type) -> Value:
    """Returns the intersection of sets: the elements that all of them have."""
    return _combine(sets, result_type, lambda a, b: filter(membership(b.items), a.items), False)


@function(
    Param("a", _ANY_SET, "A set.", allow_dynamic=True),
    Param("b", _ANY_SET, "The set whose elements are removed.", allow_dynamic=True),
    result=_common_type,
    into=FUNCTIONS,
)
def setsubtract(*sets: Value, result_type: Type) -> Value:
    """Returns the elements of one set that are not in another."""
    return _combine(sets, result_type, lambda a, b: filterfalse(membership(b.items), a.items), False)


def _product_type(*sequences: Value) -> Type:
    if len(sequences) < 2:
        raise FunctionError("There must be at least two sets or lists.")
    elements: list[Type] = []
    is_set = False
    for index, each in enumerate(sequences):
        what, t = shape(each)
        if what in ("set", "list"):
            elements.append(t.element)
            is_set = is_set or what == "set"
        elif what == "tuple":
            common = unify(t.elements) if t.elements else DYNAMIC
            if common is None:
                raise FunctionError("All its elements must be of one type.", index)
            elements.append(common)
        else:
            raise FunctionError("It must be a set or a list.", index)
    product = TupleType(tuple(elements))
    return SetType(product) if is_set else ListType(product)


@function(
    variadic=Param("sets", DYNAMIC, "The sets, lists or tuples.", allow_unknown=True, allow_marked=True),
    result=_product_type,
    into=FUNCTIONS,
)
def setproduct(*sequences: Value, result_type: Any) -> Value:
    """Returns all combinations of one element from each of the sets. If the arguments are lists, the result is a list
    in the order of their elements."""
    plain: list[Value] = []
    marks = NO_MARKS
    for each in sequences:
        value, own = unmark(each)
        plain.append(value)
        marks |= own
    if not all(_has_length(each) for each in plain):
        return mark(_unknown_product(plain, result_type), marks)
    if prod(len(items(each)) for each in plain) > MAX_COMBINATIONS:
        raise FunctionError("The result would be too large.")
    element = result_type.element
    try:
        columns = [[convert(e, t) for e in items(each)] for each, t in zip(plain, element.elements, strict=True)]
    except ValueError as problem:
        raise FunctionError(str(problem)) from None
    rows = tuple(product(*columns))
    return mark(List(element, rows) if isinstance(result_type, ListType) else make_set(element, rows), marks)


def _has_length(value: Value) -> bool:
    return value.__class__ is not Unknown and (value.__class__ is not Set or length_is_known(value))


def _longest(value: Value) -> int | None:
    """The maximum number of elements of a value, which may be unknown; None if no maximum is known."""
    if value.__class__ is not Unknown:
        return len(items(value))
    return len(shape(value)[1].elements) if kind(value) == "tuple" else length_bounds(value)[1]


def _unknown_product(sequences: list[Value], result_type: Type) -> Value:
    most = 1
    for each in sequences:
        limit = _longest(each)
        if limit is None or limit > _PRODUCT_LIMIT:
            return unknown(result_type)
        most *= limit
        if most > 2 * _PRODUCT_LIMIT:
            return unknown(result_type)
    bounds = Refinement(True, min_length=0 if most == 0 else 1, max_length=most)
    return refine(result_type, bounds)
