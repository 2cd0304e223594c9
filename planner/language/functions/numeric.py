"""Numbers: rounding, extremes, powers and logarithms, parsing, sequences, sums."""

from __future__ import annotations

from typing import Any

from planner.foundation.values import numbers
from planner.foundation.values.convert import convert
from planner.foundation.values.types import DYNAMIC, NUMBER, STRING, ListType, Type
from planner.foundation.values.value import List, Null, Value, is_wholly_known, mark, type_of, unmark
from planner.language.functions.floating import log
from planner.language.functions.floating import power as double_power
from planner.language.functions.protocol import (
    Function,
    FunctionError,
    Param,
    function,
    items,
    kind,
    small_int,
    unknown,
)

FUNCTIONS: list[Function] = []

LONGEST_RANGE = 1024


@function(Param("num", NUMBER, allow_marked=True, allow_dynamic=True), result=NUMBER, into=FUNCTIONS, name="abs")
def absolute(number: Value) -> Value:
    """Gives the distance of a number from zero: the number without its sign."""
    number, marks = unmark(number)
    if number == 0:
        return mark(0, marks)
    return mark(numbers.negate(number) if number < 0 else number, marks)


@function(Param("num", NUMBER), result=NUMBER, into=FUNCTIONS)
def ceil(number: Value) -> Value:
    """Rounds a number up to a whole number."""
    if number.__class__ is int or numbers.is_infinite(number):
        return number
    whole = int(number)
    return whole + 1 if whole < number else _whole(number, whole)


@function(Param("num", NUMBER), result=NUMBER, into=FUNCTIONS)
def floor(number: Value) -> Value:
    """Rounds a number down to a whole number."""
    if number.__class__ is int or numbers.is_infinite(number):
        return number
    whole = int(number)
    return whole - 1 if whole > number else _whole(number, whole)


def _whole(number: Any, whole: int) -> Value:
    # A number that is whole and yet no int has a reason for that, save negative zero.
    return number if number == whole != 0 else whole


@function(variadic=Param("numbers", NUMBER, allow_dynamic=True), result=NUMBER, into=FUNCTIONS, name="max")
def maximum(*given: Value) -> Value:
    """Gives the greatest of the numbers."""
    if not given:
        raise FunctionError("There must be at least one number.")
    greatest: Any = given[0]
    for number in given:
        if number > greatest:
            greatest = number
    return greatest


@function(variadic=Param("numbers", NUMBER, allow_dynamic=True), result=NUMBER, into=FUNCTIONS, name="min")
def minimum(*given: Value) -> Value:
    """Gives the least of the numbers."""
    if not given:
        raise FunctionError("There must be at least one number.")
    least: Any = given[0]
    for number in given:
        if number < least:
            least = number
    return least


@function(
    Param("num", NUMBER, "The number to take the logarithm of."),
    Param("base", NUMBER, "The base."),
    result=NUMBER,
    into=FUNCTIONS,
    name="log",
)
def logarithm(number: Value, base: Value) -> Value:
    """Gives the logarithm of a number in a base, computed in double precision."""
    numerator, denominator = log(_double(number)), log(_double(base))
    if denominator == 0 and numerator != 0 and numerator == numerator:
        return numbers.infinity(negative=numerator < 0)
    return _from_double(numerator / denominator if denominator != 0 else float("nan"))


@function(
    Param("num", NUMBER, "The base."),
    Param("power", NUMBER, "The exponent."),
    result=NUMBER,
    into=FUNCTIONS,
    name="pow",
)
def power(number: Value, exponent: Value) -> Value:
    """Raises a number to a power, computed in double precision."""
    return _from_double(double_power(_double(number), _double(exponent)))


def _double(number: Value) -> float:
    double = numbers.to_float(number)
    if double in (float("inf"), float("-inf")) and not numbers.is_infinite(number):
        raise FunctionError("The number is too large to compute with in double precision.")
    return double


def _from_double(x: float) -> Value:
    if x != x:
        raise FunctionError("The result is not a number.")
    return numbers.from_float(x)


@function(
    Param("number", DYNAMIC, "The digits, perhaps after a sign."),
    Param("base", NUMBER, "How many different digits there are: 2 to 62."),
    result=lambda number, base: _parseint_type(number),
    into=FUNCTIONS,
)
def parseint(number: Value, base: Value) -> Value:
    """Reads a whole number written in a base from 2 to 62: after 9 the digits are a to z, then A to Z."""
    radix = small_int(base, 1)
    if not 2 <= radix <= 62:
        raise FunctionError("The base must be a whole number from 2 to 62.", 1)
    digits = number[1:] if number[:1] in ("+", "-") else number
    value = 0
    for character in digits:
        digit = _digit(character, radix)
        if digit >= radix:
            digits = ""
            break
        value = value * radix + digit
    if not digits:
        raise FunctionError(f"It is not a whole number in base {radix}.", 0)
    return -value if number[0] == "-" else value


def _parseint_type(number: Value) -> Type:
    if type_of(number) is not STRING:
        raise FunctionError(f"It must be a string, not {kind(number)}.", 0)
    return NUMBER


def _digit(character: str, base: int) -> int:
    if "0" <= character <= "9":
        return ord(character) - ord("0")
    if "a" <= character <= "z":
        return ord(character) - ord("a") + 10
    if "A" <= character <= "Z":
        return ord(character) - ord("A") + (10 if base <= 36 else 36)
    return base


@function(
    variadic=Param("params", NUMBER, "The limit; or start and limit; or start, limit and step."),
    result=ListType(NUMBER),
    into=FUNCTIONS,
    name="range",
)
def sequence(*bounds: Value) -> Value:
    """Lists the numbers from a start (0 when not given) up to, but not including, a limit."""
    start: Any
    if len(bounds) == 1:
        start, limit, step = 0, bounds[0], -1 if bounds[0] < 0 else 1
    elif len(bounds) == 2:
        start, limit, step = bounds[0], bounds[1], -1 if bounds[1] < bounds[0] else 1
    elif len(bounds) == 3:
        start, limit, step = bounds
    else:
        raise FunctionError("It takes one, two or three numbers.")
    down = step < 0
    if down and limit > start:
        raise FunctionError("The limit must not be above the start when the step is negative.", 1)
    if not down and limit < start:
        raise FunctionError("The limit must not be below the start when the step is positive.", 1)
    numbers: list[Value] = []
    while start > limit if down else start < limit:
        if len(numbers) >= LONGEST_RANGE:
            raise FunctionError(f"These would be more than {LONGEST_RANGE} numbers.")
        numbers.append(start)
        start = _add(start, step)
    return List(NUMBER, tuple(numbers))


@function(Param("num", NUMBER), result=NUMBER, into=FUNCTIONS)
def signum(number: Value) -> Value:
    """Gives -1, 0 or 1: the sign of a whole number."""
    whole = small_int(number)
    return (whole > 0) - (whole < 0)


@function(Param("list", DYNAMIC), result=NUMBER, into=FUNCTIONS, name="sum")
def total(terms: Value) -> Value:
    """Adds up the numbers of a list, set or tuple."""
    what = kind(terms)
    if what not in ("list", "set", "tuple") or not items(terms):
        raise FunctionError("It must be a list, set or tuple with at least one number.", 0)
    if not is_wholly_known(terms):
        return unknown(NUMBER)
    return _total(terms)


def _total(terms: Value) -> Value:
    result: Any = None
    for element in items(terms):
        try:
            number = convert(element, NUMBER)
        except ValueError:
            number = Null(NUMBER)
        if number.__class__ is Null:
            raise FunctionError("All elements must be numbers.", 0)
        result = number if result is None else _add(result, number)
    return result


def _add(a: Value, b: Value) -> Value:
    try:
        return numbers.add(a, b)
    except ArithmeticError:
        raise FunctionError("The sum of opposing infinities is not defined.") from None
