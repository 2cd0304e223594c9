"""Functions that create lists from other lists."""

from __future__ import annotations

from collections.abc import Hashable

from planner.foundation.values.convert import convert, unify
from planner.foundation.values.operations import equal, equality_key, same_value
from planner.foundation.values.refine import length_bounds, length_is_known, refine
from planner.foundation.values.types import BOOL, DYNAMIC, NUMBER, STRING, ListType, TupleType, Type
from planner.foundation.values.value import (
    NO_MARKS,
    UNKNOWN,
    List,
    Mark,
    Null,
    Refinement,
    Set,
    Unknown,
    Value,
    is_null,
    is_wholly_known,
    mark,
    type_of,
    unmark,
)
from planner.language.functions.protocol import (
    Function,
    FunctionError,
    Param,
    function,
    items,
    kind,
    sequence,
    shape,
    small_int,
    unknown,
)

FUNCTIONS: list[Function] = []

_STRINGS = ListType(STRING)
_ANY_LIST = ListType(DYNAMIC)


@function(
    Param("list", _ANY_LIST, "The list to split.", allow_marked=True),
    Param("size", NUMBER, "The length of each part except the last; 0 means a single part.", allow_marked=True),
    result=lambda values, size: ListType(type_of(values)),
    into=FUNCTIONS,
)
def chunklist(values: Value, size: Value, *, result_type: ListType) -> Value:
    """Splits a list into several lists, each with at most the given number of elements."""
    values, marks = unmark(values)
    size, size_marks = unmark(size)
    count = small_int(size)
    if count < 0:
        raise FunctionError("The size must not be negative.")
    elements = items(values)
    starts = range(0, len(elements), count or max(len(elements), 1))
    chunks = [List(values.element, elements[start : start + (count or len(elements))]) for start in starts]
    return mark(List(result_type.element, tuple(chunks)), marks | size_marks)


@function(Param("list", _STRINGS), result=_STRINGS, into=FUNCTIONS)
def compact(values: List) -> Value:
    """Removes the empty strings and nulls from a list of strings."""
    if not is_wholly_known(values):
        return unknown(_STRINGS)
    return List(STRING, tuple(v for v in values.items if v.__class__ is str and v))


@function(
    variadic=Param("seqs", DYNAMIC, "The lists or tuples.", allow_marked=True),
    result=lambda *sequences: _concat_type(sequences),
    into=FUNCTIONS,
)
def concat(*sequences: Value, result_type: Type) -> Value:
    """Concatenates lists."""
    marks = NO_MARKS
    out: list[Value] = []
    for position, each in enumerate(sequences):
        if isinstance(result_type, ListType):
            try:
                each = convert(each, result_type)
            except ValueError as problem:
                raise FunctionError(str(problem), position) from None
        each, own = unmark(each)
        marks |= own
        out += items(each)
    return mark(sequence(result_type, out), marks)


def _concat_type(sequences: tuple[Value, ...]) -> Type:
    if not sequences:
        raise FunctionError("There must be at least one list.")
    if all(kind(each) == "list" for each in sequences):
        common = unify([type_of(each) for each in sequences])
        if common is not None:
            return common
    types: list[Type] = []
    for position, each in enumerate(sequences):
        what, t = shape(each)
        if what == "tuple":
            types += t.elements
        elif what == "list":
            plain = unmark(each)[0]
            if plain.__class__ is Unknown:
                return DYNAMIC
            types += [t.element] * len(plain)
        else:
            raise FunctionError(f"It must be a list or a tuple, not {what}.", position)
    return TupleType(tuple(types))


@function(Param("list", _ANY_LIST), result=type_of, into=FUNCTIONS)
def distinct(values: List, *, result_type: Type) -> Value:
    """Removes duplicates from a list. Of several equal elements, the first one is kept."""
    if not is_wholly_known(values):
        return unknown(result_type)
    if values.element is STRING or values.element is BOOL:
        return List(values.element, tuple(dict.fromkeys(values.items)))
    out: list[Value] = []
    by_key: dict[Hashable, list[Value]] = {}
    for value in values.items:
        alike = by_key.setdefault(equality_key(value), [])
        if not any(same_value(value, other) for other in alike):
            alike.append(value)
            out.append(value)
    return List(values.element, tuple(out))


@function(
    Param("list", DYNAMIC, "The list, set or tuple.", allow_marked=True),
    result=lambda values: _flatten_type(values),
    into=FUNCTIONS,
)
def flatten(values: Value, *, result_type: Type) -> Value:
    """Replaces all lists, sets and tuples within a list with their elements, at any depth."""
    plain, marks = unmark(values)
    if kind(plain) in ("list", "set", "tuple", "object", "map") and not len(plain):
        return mark((), marks)
    out: list[Value] = []
    inner_marks: set[Mark] = set()
    known = _flatten(values, out, inner_marks)
    return mark(tuple(out) if known else unknown(result_type), frozenset(inner_marks))


def _flatten(values: Value, out: list[Value], marks: set[Mark]) -> bool:
    """Append the elements to `out`, and their marks to `marks`. Returns whether the number of elements is known."""
    values, own_marks = unmark(values)
    marks |= own_marks
    if values.__class__ is Set and not length_is_known(values):
        return False
    known = True
    for value in items(values):
        if value.__class__ is Unknown and value.type is DYNAMIC:
            known = False
        if kind(value) in ("list", "set", "tuple") and not is_null(value):
            plain, inner_marks = unmark(value)
            if plain.__class__ is Unknown:
                known = False
                marks |= inner_marks
            else:
                known = _flatten(value, out, marks) and known
        else:
            out.append(value)
    return known


def _flatten_type(values: Value) -> Type:
    if not is_wholly_known(values):
        return DYNAMIC
    if kind(values) not in ("list", "set", "tuple"):
        raise FunctionError("It must be a list, set or tuple.")
    return DYNAMIC  # the type of the resulting tuple depends on the nested elements


@function(
    Param("list", DYNAMIC, "The list, set or tuple.", allow_marked=True),
    result=lambda values: _reverse_type(values),
    into=FUNCTIONS,
)
def reverse(values: Value, *, result_type: Type) -> Value:
    """Returns a list with its elements in reverse order."""
    values, marks = unmark(values)
    return mark(sequence(result_type, items(values)[::-1]), marks)


def _reverse_type(values: Value) -> Type:
    what, t = shape(values)
    if what == "tuple":
        return TupleType(t.elements[::-1])
    if what not in ("list", "set"):
        raise FunctionError(f"It must be a list, set or tuple, not {what}.", 0)
    return ListType(t.element)


@function(
    Param("list", DYNAMIC, "The list or tuple.", allow_marked=True),
    Param("start_index", NUMBER, "The index of the first element of the result."),
    Param("end_index", NUMBER, "The index after the last element of the result."),
    result=lambda values, start, end: _slice_type(values, start, end),
    into=FUNCTIONS,
    name="slice",
)
def slice_(values: Value, start: Value, end: Value, *, result_type: Type) -> Value:
    """Returns the part of a list from one index up to, but not including, another."""
    values, marks = unmark(values)
    if result_type is DYNAMIC:
        return mark(UNKNOWN, marks)
    return mark(sequence(result_type, items(values)[small_int(start) : small_int(end)]), marks)


def _slice_type(values: Value, start: Value, end: Value) -> Type:
    what, t = shape(values)
    if what not in ("list", "tuple"):
        reason = " It has no indices: convert it to a list." if what == "set" else ""
        raise FunctionError(f"It must be a list or a tuple, not a {what}.{reason}", 0)
    plain = unmark(values)[0]
    count: int | None = len(t.elements) if what == "tuple" else None
    if count is None and plain.__class__ is not Unknown:
        count = len(plain)
    bounds: list[int | None] = []
    for position, bound in enumerate((start, end), 1):
        if bound.__class__ is Unknown:
            bounds.append(None)
            continue
        number = small_int(bound, position)
        if number < 0 or (count is not None and number > count):
            raise FunctionError("It must be an index within the list, or the index after its end.", position)
        bounds.append(number)
    first, last = bounds
    if first is not None and last is not None and first > last:
        raise FunctionError("It must not be greater than the end.", 1)
    if what == "list":
        return t  # type: ignore[no-any-return]
    if first is None or last is None:
        return DYNAMIC
    return TupleType(t.elements[first:last])


@function(Param("list", _STRINGS, allow_unknown=True), result=_STRINGS, into=FUNCTIONS)
def sort(values: Value) -> Value:
    """Sorts a list of strings by their characters' code points."""
    if not is_wholly_known(values):
        least, most = length_bounds(values)
        return refine(_STRINGS, Refinement(min_length=least or None, max_length=most))
    for position, value in enumerate(values.items):
        if value.__class__ is Null:
            raise FunctionError(f"The element with index {position} is null, which cannot be sorted.")
    return List(STRING, tuple(sorted(values.items)))


@function(
    Param("values", _ANY_LIST, "The list to choose from."),
    Param("keys", _ANY_LIST, "A list of the same length, with a key for each value."),
    Param("searchset", _ANY_LIST, "The keys to look for."),
    result=lambda chosen, keys, wanted: _matchkeys_type(chosen, keys, wanted),
    into=FUNCTIONS,
)
def matchkeys(chosen: List, keys: List, wanted: List, *, result_type: ListType) -> Value:
    """Selects elements of a list by their keys: a second list contains the key of each element, a third list the keys
    to select."""
    if len(chosen) != len(keys):
        raise FunctionError("The list of values and the list of keys must be of the same length.")
    common = unify([type_of(keys), type_of(wanted)])
    if common is None:
        raise FunctionError("The keys must be of the same type.")
    try:
        keys, wanted = convert(keys, common), convert(wanted, common)
    except ValueError as problem:
        raise FunctionError(str(problem)) from None
    if not wanted.items:
        return List(result_type.element, ())
    if not is_wholly_known(chosen) or not is_wholly_known(keys):
        return unknown(result_type)
    out: list[Value] = []
    for value, key in zip(chosen.items, keys.items, strict=True):
        for candidate in wanted.items:
            same = equal(key, candidate)
            if same is None:
                return List(result_type.element, ())
            if same:
                out.append(value)
                break
    return List(result_type.element, tuple(out))


def _matchkeys_type(chosen: Value, keys: Value, wanted: Value) -> Type:
    if unify([type_of(keys), type_of(wanted)]) is None:
        raise FunctionError("The keys must be of the same type.")
    return type_of(chosen)
