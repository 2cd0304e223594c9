"""Functions of OpenTofu 1.13 that declare properties of unknown values. The properties are checked once the values are
known."""

from __future__ import annotations

from collections.abc import Callable

from planner.foundation.values.convert import ConversionError, convert
from planner.foundation.values.operations import equal
from planner.foundation.values.refine import NOTHING, length_bounds, refine, safe_prefix
from planner.foundation.values.types import DYNAMIC, NUMBER, STRING, ListType, MapType, SetType, Type
from planner.foundation.values.value import (
    EPHEMERAL,
    SENSITIVE,
    Null,
    Refinement,
    Unknown,
    Value,
    mark,
    type_of,
    unmark,
    unmark_deep,
)
from planner.language.functions.protocol import Function, FunctionError, Param, function, small_int

FUNCTIONS: list[Function] = []
_FAILED = "The assumption is not true."


def _assumed_parameter(type: Type) -> Param:
    description = "The value that the assumption is about."
    return Param("value", type, description, allow_null=True, allow_unknown=True, allow_dynamic=True)


def _marked_parameter(name: str, description: str) -> Param:
    return Param(name, DYNAMIC, description, allow_null=True, allow_unknown=True, allow_marked=True, allow_dynamic=True)


@function(
    _marked_parameter("actual_value", "The value that the assumption is about."),
    _marked_parameter("expected_value", "The value that is expected."),
    result=lambda actual, expected: type_of(expected),
    not_null=False,
    into=FUNCTIONS,
)
def assumeequal(actual: Value, expected: Value) -> Value:
    """Returns the second value, on the assumption that the first one equals it."""
    try:
        converted = convert(actual, type_of(expected))
    except ConversionError:
        raise FunctionError("Its type differs from the type of the expected value.", 0) from None
    plain, marks = unmark_deep(converted)
    if equal(plain, unmark_deep(expected)[0]) is False:
        raise FunctionError(_FAILED, 0)
    return mark(expected, marks - {SENSITIVE, EPHEMERAL})


@function(_assumed_parameter(DYNAMIC), result=lambda value: type_of(unmark(value)[0]), not_null=False, into=FUNCTIONS)
def assumenotnull(value: Value) -> Value:
    """Returns a value, on the assumption that it is not null."""
    if type_of(value) is DYNAMIC:
        raise FunctionError("Its type must be known; `convert` sets the type.", 0)
    return _with(value, Refinement(not_null=True))


@function(
    _assumed_parameter(STRING),
    Param("prefix", STRING, "The assumed prefix."),
    result=STRING,
    not_null=False,
    into=FUNCTIONS,
)
def assumestringprefix(value: Value, prefix: str) -> Value:
    """Returns a string, on the assumption that it begins with a prefix."""
    if value.__class__ is str:
        if not value.startswith(prefix):
            raise FunctionError(_FAILED, 0)
        return value
    return _with(value, Refinement(prefix=safe_prefix(prefix)))


def _with(value: Value, more: Refinement) -> Value:
    """Refine an unknown value; a known value is returned unchanged. Raises FunctionError for null, and if the
    refinement contradicts what is already known about the value."""
    if value.__class__ is Null:
        raise FunctionError(_FAILED, 0)
    if value.__class__ is not Unknown:
        return value
    known = value.refinement or NOTHING
    prefix = max(known.prefix, more.prefix, key=len)
    if not prefix.startswith(min(known.prefix, more.prefix, key=len)):
        raise FunctionError(_FAILED, 0)
    least, most = length_bounds(value)
    least, most = max(least, more.min_length or 0), _smaller(most, more.max_length)
    if most is not None and least > most:
        raise FunctionError(_FAILED, 0)
    is_not_null = known.not_null or more.not_null
    return refine(value.type, Refinement(is_not_null, prefix, known.lower, known.upper, least or None, most))


def _smaller(one: int | None, other: int | None) -> int | None:
    return other if one is None else one if other is None else min(one, other)


def _lengths(kind: str, type: Type) -> None:
    """Declare three functions about the length of one kind of collection."""
    least = Param("min_length", NUMBER, f"The smallest length that the {kind} can have.")
    most = Param("max_length", NUMBER, f"The greatest length that the {kind} can have.")

    def declare(suffix: str, params: tuple[Param, ...], words: str, bounds: Callable[..., Refinement]) -> None:
        def impl(value: Value, *numbers: Value) -> Value:
            wanted = bounds(*(small_int(number, at) for at, number in enumerate(numbers, 1)))
            low, high = length_bounds(value)
            too_short = wanted.min_length is not None and high is not None and high < wanted.min_length
            if too_short or (wanted.max_length is not None and low > wanted.max_length):
                raise FunctionError(_FAILED, 0)
            return _with(value, wanted)

        impl.__doc__ = f"Returns a {kind}, whose length is assumed to be {words}."
        name = f"assume{kind}length{suffix}"
        declared = function(
            _assumed_parameter(type),
            *params,
            result=lambda value, *_: type_of(value),
            not_null=False,
            name=name,
            into=FUNCTIONS,
        )
        declared(impl)

    declare("", (least, most), "within bounds", lambda low, high: Refinement(min_length=low, max_length=high))
    declare("min", (least,), "at least this", lambda low: Refinement(min_length=low))
    declare("max", (most,), "at most this", lambda high: Refinement(max_length=high))


_lengths("list", ListType(DYNAMIC))
_lengths("map", MapType(DYNAMIC))
_lengths("set", SetType(DYNAMIC))
