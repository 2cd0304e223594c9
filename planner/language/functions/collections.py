"""Functions that test collections and select elements of them."""

from __future__ import annotations

from planner.foundation.values.convert import convert, unify
from planner.foundation.values.operations import equal
from planner.foundation.values.refine import length_bounds, length_is_known, refine
from planner.foundation.values.types import BOOL, DYNAMIC, NUMBER, STRING, ListType, Type
from planner.foundation.values.value import List, Null, Refinement, Set, Unknown, Value, mark, type_of, unmark
from planner.foundation.vocabulary.span import count_graphemes
from planner.language.functions.protocol import (
    INT64_MAX,
    Function,
    FunctionError,
    Param,
    function,
    items,
    kind,
    shape,
    small_int,
    unknown,
)

FUNCTIONS: list[Function] = []


@function(Param("list", ListType(BOOL)), result=BOOL, into=FUNCTIONS)
def alltrue(values: List) -> Value:
    """Returns whether all elements of a list are true; true for an empty list."""
    for value in values.items:
        if value.__class__ is Unknown:
            return unknown(BOOL)
        if value is not True:
            return False
    return True


@function(Param("list", ListType(BOOL)), result=BOOL, into=FUNCTIONS)
def anytrue(values: List) -> Value:
    """Returns whether at least one element of a list is true."""
    if any(value is True for value in values.items):
        return True
    return unknown(BOOL) if any(value.__class__ is Unknown for value in values.items) else False


@function(
    Param("list", DYNAMIC, "The list, tuple or set to search."),
    Param("value", DYNAMIC, "The value to look for.", next_allows_null=True),
    result=BOOL,
    into=FUNCTIONS,
)
def contains(values: Value, wanted: Value) -> Value:
    """Returns whether a list, tuple or set has a value among its elements."""
    if kind(values) not in ("list", "tuple", "set"):
        raise FunctionError("The first argument must be a list, tuple or set.")
    candidates = items(values)
    if wanted.__class__ is str:
        if wanted in candidates:
            return True
        candidates = tuple([value for value in candidates if value.__class__ is not str])
    answer: Value = False
    for value in candidates:
        same = value.__class__ is Null if wanted.__class__ is Null else equal(wanted, value)
        if same:
            return True
        if same is None:
            answer = unknown(BOOL)
    return answer


@function(
    Param("list", DYNAMIC, "The list or tuple to search."),
    Param("value", DYNAMIC, "The value to look for."),
    result=NUMBER,
    into=FUNCTIONS,
)
def index(values: Value, wanted: Value) -> Value:
    """Returns the index of the first element of a list that equals a value. Fails if there is none."""
    if kind(values) not in ("list", "tuple"):
        raise FunctionError("The first argument must be a list or a tuple.")
    for position, value in enumerate(items(values)):
        same = equal(value, wanted)
        if same is None:
            return unknown(NUMBER)
        if same:
            return position
    raise FunctionError("The list does not have this value.")


@function(
    Param("value", DYNAMIC, allow_unknown=True, allow_marked=True, allow_dynamic=True),
    result=lambda value: _length_type(value),
    into=FUNCTIONS,
)
def length(value: Value) -> Value:
    """Returns the number of elements of a collection, or of characters of a string."""
    value, marks = unmark(value)
    what = kind(value)
    if what == "dynamic":
        return mark(unknown(NUMBER), marks)
    if value.__class__ is Unknown:
        return mark(_unknown_length(value, what), marks)
    if what == "string":
        return mark(_characters(value), marks)
    if what == "set" and not length_is_known(value):
        return mark(refine(NUMBER, Refinement(True, lower=(1, True), upper=(len(value), True))), marks)
    return mark(len(value), marks)


def _unknown_length(value: Unknown, what: str) -> Value:
    if what in ("tuple", "object"):
        t = shape(value)[1]
        return len(t.elements if what == "tuple" else t.attributes)
    if what == "string":
        prefix = value.refinement.prefix if value.refinement is not None else ""
        return refine(NUMBER, Refinement(True, lower=(_characters(prefix), True)))
    least, most = length_bounds(value)
    upper = INT64_MAX if most is None else most
    return refine(NUMBER, Refinement(True, lower=(least, True), upper=(upper, True)))


def _characters(text: str) -> int:
    return count_graphemes(text)


def _length_type(value: Value) -> Type:
    if kind(value) in ("number", "bool"):
        raise FunctionError("It must be a collection, an object, a tuple or a string.")
    return NUMBER


@function(
    variadic=Param(
        "vals", DYNAMIC, "The values to choose from.", allow_null=True, allow_unknown=True, allow_dynamic=True
    ),
    result=lambda *values: _common_type(values),
    into=FUNCTIONS,
)
def coalesce(*values: Value, result_type: Type) -> Value:
    """Returns the first of its arguments that is neither null nor an empty string."""
    for value in values:
        try:
            value = convert(value, result_type)
        except ValueError:
            continue  # as in OpenTofu, values are skipped that cannot be converted to the common type
        if value.__class__ is Unknown:
            return unknown(result_type)
        if value.__class__ is not Null and not (result_type is STRING and value == ""):
            return value
    raise FunctionError("All arguments are null or empty strings.")


def _common_type(values: tuple[Value, ...]) -> Type:
    common = unify([type_of(value) for value in values]) if values else None
    if common is None:
        raise FunctionError("The arguments must all be of one type.")
    return common


@function(
    variadic=Param(
        "vals", DYNAMIC, "The lists to choose from.", allow_null=True, allow_unknown=True, allow_dynamic=True
    ),
    result=lambda *lists: _coalescelist_type(lists),
    into=FUNCTIONS,
)
def coalescelist(*lists: Value, result_type: Type) -> Value:
    """Returns the first of the lists that is not empty."""
    for each in lists:
        if each.__class__ is Unknown:
            return unknown(result_type)
        if each.__class__ is not Null and items(each):
            return each
    raise FunctionError("All lists are empty or null.")


def _coalescelist_type(lists: tuple[Value, ...]) -> Type:
    if not lists:
        raise FunctionError("There must be at least one argument.")
    types: list[Type] = []
    for each in lists:
        if each.__class__ is Unknown:
            return DYNAMIC
        if kind(each) not in ("list", "tuple"):
            raise FunctionError("All arguments must be lists or tuples.")
        types.append(type_of(each))
    return types[0] if all(t == types[0] for t in types) else DYNAMIC


@function(
    Param("list", DYNAMIC, "The list or tuple.", allow_marked=True),
    Param("index", NUMBER, "The index; a negative one counts from the end."),
    result=lambda values, position: _element_type(values, position),
    not_null=False,
    into=FUNCTIONS,
)
def element(values: Value, position: Value) -> Value:
    """Returns the element of a list at an index. Indexes beyond the end continue at the beginning of the list."""
    values, marks = unmark(values)
    if values.__class__ is Unknown:
        return mark(unknown(_element_type(values, position)), marks)
    return mark(items(values)[_wrap(small_int(position), len(items(values)))], marks)


def _wrap(position: int, count: int) -> int:
    if count == 0:
        raise FunctionError("An empty list has no elements.")
    return position % count


def _element_type(values: Value, position: Value) -> Type:
    what, t = shape(values)
    if what == "list":
        return t.element  # type: ignore[no-any-return]
    if what != "tuple":
        raise FunctionError(f"The first argument must be a list or a tuple, not {what}.")
    if position.__class__ is Unknown:
        return DYNAMIC
    elements = t.elements
    return elements[_wrap(small_int(position), len(elements))]  # type: ignore[no-any-return]


@function(Param("list", DYNAMIC), result=lambda values: _one_type(values), not_null=False, into=FUNCTIONS)
def one(values: Value, *, result_type: Type) -> Value:
    """Returns the only element of a list, set or tuple, or null if it is empty. Fails if there are several elements."""
    if values.__class__ is Set and not length_is_known(values):
        return unknown(result_type)
    elements = items(values)
    if len(elements) > 1:
        raise FunctionError("It must have no more than one element.", 0)
    return elements[0] if elements else Null(result_type)


def _one_type(values: Value) -> Type:
    what, t = shape(values)
    if what in ("list", "set"):
        return t.element  # type: ignore[no-any-return]
    elements = t.elements if what == "tuple" else ()
    if what != "tuple" or len(elements) > 1:
        raise FunctionError("It must be a list, set or tuple with no more than one element.", 0)
    return elements[0] if elements else DYNAMIC
