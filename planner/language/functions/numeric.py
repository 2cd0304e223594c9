"""Functions for numbers: rounding, extremes, powers and logarithms, parsing, sequences, sums."""

from __future__ import annotations

import math
import struct
from typing import Any

import gmpy2

from planner.foundation.values import numbers
from planner.foundation.values.convert import convert
from planner.foundation.values.types import DYNAMIC, NUMBER, STRING, ListType, Type
from planner.foundation.values.value import List, Null, Value, is_wholly_known, mark, type_of, unmark
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

LONGEST_RANGE = 1024  # the maximum number of elements of the result of `range`


@function(Param("num", NUMBER, allow_marked=True, allow_dynamic=True), result=NUMBER, into=FUNCTIONS, name="abs")
def absolute(number: Value) -> Value:
    """Returns the absolute value of a number."""
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
    return whole + 1 if whole < number else _whole_result(number, whole)


@function(Param("num", NUMBER), result=NUMBER, into=FUNCTIONS)
def floor(number: Value) -> Value:
    """Rounds a number down to a whole number."""
    if number.__class__ is int or numbers.is_infinite(number):
        return number
    whole = int(number)
    return whole - 1 if whole > number else _whole_result(number, whole)


def _whole_result(number: Any, whole: int) -> Value:
    # whole numbers that are not ints are returned unchanged, except negative zero
    return number if number == whole != 0 else whole


@function(variadic=Param("numbers", NUMBER, allow_dynamic=True), result=NUMBER, into=FUNCTIONS, name="max")
def maximum(*given: Value) -> Value:
    """Returns the greatest of the numbers."""
    if not given:
        raise FunctionError("There must be at least one number.")
    greatest: Any = given[0]
    for number in given:
        if number > greatest:
            greatest = number
    return greatest


@function(variadic=Param("numbers", NUMBER, allow_dynamic=True), result=NUMBER, into=FUNCTIONS, name="min")
def minimum(*given: Value) -> Value:
    """Returns the least of the numbers."""
    if not given:
        raise FunctionError("There must be at least one number.")
    least: Any = given[0]
    for number in given:
        if number < least:
            least = number
    return least


@function(
    Param("num", NUMBER, "The argument of the logarithm."),
    Param("base", NUMBER, "The base."),
    result=NUMBER,
    into=FUNCTIONS,
    name="log",
)
def logarithm(number: Value, base: Value) -> Value:
    """Returns the logarithm of a number to a base, computed in double precision."""
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
    Param("number", DYNAMIC, "The digits, optionally after a sign."),
    Param("base", NUMBER, "The base: 2 to 62."),
    result=lambda number, base: _parseint_type(number),
    into=FUNCTIONS,
)
def parseint(number: Value, base: Value) -> Value:
    """Parses a whole number in a base from 2 to 62. The digits after 9 are a to z, then A to Z."""
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
    """Returns the numbers from a start (0 by default) up to, but not including, a limit. The step is 1 or -1 by
    default."""
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
            raise FunctionError(f"The result would have more than {LONGEST_RANGE} numbers.")
        numbers.append(start)
        start = _add(start, step)
    return List(NUMBER, tuple(numbers))


@function(Param("num", NUMBER), result=NUMBER, into=FUNCTIONS)
def signum(number: Value) -> Value:
    """Returns the sign of a whole number: -1, 0 or 1."""
    whole = small_int(number)
    return (whole > 0) - (whole < 0)


@function(Param("list", DYNAMIC), result=NUMBER, into=FUNCTIONS, name="sum")
def total(terms: Value) -> Value:
    """Returns the sum of the numbers of a list, set or tuple."""
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
        raise FunctionError("The sum of positive and negative infinity is not defined.") from None


# Logarithms and powers of doubles, with exactly the same bits as in released programs of OpenTofu; the C library rounds
# some results differently. Algorithms: the natural logarithm of FreeBSD's e_log.c; the exponential of N. Shibata,
# "Efficient evaluation methods of elementary functions suitable for SIMD computation" (2010), with fused multiply-add;
# powers by repeated squaring of the mantissa.

_DOUBLE = gmpy2.context(precision=53)
_LN2_HIGH = 6.93147180369123816490e-01
_LN2_LOW = 1.90821492927058770002e-10
_LOG = (
    6.666666666666735130e-01,
    3.999999999940941908e-01,
    2.857142874366239149e-01,
    2.222219843214978396e-01,
    1.818357216161805012e-01,
    1.531383769920937332e-01,
    1.479819860511658591e-01,
)
_LOG2_E = 1.4426950408889634073599246810018920
_LN2_UPPER = 0.69314718055966295651160180568695068359375
_LN2_LOWER = 0.28235290563031577122588448175013436025525412068e-12
_TAYLOR = (
    2.4801587301587301587e-5,
    1.9841269841269841270e-4,
    1.3888888888888888889e-3,
    8.3333333333333333333e-3,
    4.1666666666666666667e-2,
    1.6666666666666666667e-1,
    0.5,
    1.0,
)


def log(x: float) -> float:
    """The natural logarithm; minus infinity for zero, NaN for negative numbers."""
    if math.isnan(x) or x == math.inf:
        return x
    if x == 0:
        return -math.inf
    if x < 0:
        return math.nan
    bits = struct.unpack("<Q", struct.pack("<d", x))[0]
    mantissa = struct.unpack("<d", struct.pack("<Q", (bits & 0x000FFFFFFFFFFFFF) | 0x3FE0000000000000))[0]
    k = float((bits >> 52 & 0x7FF) - 0x3FE)
    if mantissa < 7.07106781186547524401e-01:
        mantissa *= 2
        k -= 1
    f = mantissa - 1
    l1, l2, l3, l4, l5, l6, l7 = _LOG
    s = f / (2 + f)
    s2 = s * s
    s4 = s2 * s2
    r = s2 * (l1 + s4 * (l3 + s4 * (l5 + s4 * l7))) + s4 * (l2 + s4 * (l4 + s4 * l6))
    half = 0.5 * f * f
    return k * _LN2_HIGH - ((half - (s * (half + r) + k * _LN2_LOW)) - f)  # type: ignore[no-any-return]


def _multiply_add(x: float, y: float, z: float) -> float:
    result: float = float(_DOUBLE.fma(gmpy2.mpfr(x, 53), gmpy2.mpfr(y, 53), gmpy2.mpfr(z, 53)))
    return result


def exp(x: float) -> float:
    """e to the power of x, for a finite x."""
    if x > 7.09782712893384e02:
        return math.inf
    if x < -800:
        return 0.0
    exponent = round(x * _LOG2_E)
    x = _multiply_add(-float(exponent), _LN2_UPPER, x)
    x = _multiply_add(-float(exponent), _LN2_LOWER, x)
    x *= 0.0625
    total = _TAYLOR[0]
    for coefficient in _TAYLOR[1:]:
        total = _multiply_add(x, total, coefficient)
    x *= total
    for _ in range(3):
        x *= x + 2.0
    return math.ldexp(_multiply_add(x + 2.0, x, 1.0), exponent)


def _is_odd(x: float) -> bool:
    return abs(x) < 2**53 and x == int(x) and int(x) % 2 == 1


def double_power(x: float, y: float) -> float:
    """x to the power of y, with the special cases of IEEE 754; NaN if the result is not a real number."""
    if y == 0 or x == 1:
        return 1.0
    if y == 1:
        return x
    if x == 0:
        negative = math.copysign(1, x) < 0 and _is_odd(y)
        if y < 0:
            return -math.inf if negative else math.inf
        return x if negative else 0.0
    if math.isinf(y):
        if x == -1:
            return 1.0
        return 0.0 if (abs(x) < 1) == (y > 0) else math.inf
    if math.isinf(x):
        if x < 0:
            return double_power(-0.0, -y)
        return 0.0 if y < 0 else math.inf
    if y in (0.5, -0.5):
        root = math.sqrt(x) if x >= 0 else math.nan
        return root if y > 0 else 1 / root
    fraction, whole = math.modf(abs(y))
    if fraction != 0 and x < 0:
        return math.nan
    if whole >= 2**63:
        if x == -1:
            return 1.0
        return 0.0 if (abs(x) < 1) == (y > 0) else math.inf
    result, exponent = 1.0, 0
    if fraction != 0:
        if fraction > 0.5:
            fraction -= 1
            whole += 1
        result = exp(fraction * log(x))
    mantissa, step = math.frexp(x)
    remaining = int(whole)
    while remaining:
        if not -4096 <= step <= 4096:
            exponent += step  # the result is too large or too small for a double
            break
        if remaining & 1:
            result *= mantissa
            exponent += step
        mantissa *= mantissa
        step *= 2
        if mantissa < 0.5:
            mantissa += mantissa
            step -= 1
        remaining >>= 1
    if y < 0:
        result = 1 / result
        exponent = -exponent
    try:
        return math.ldexp(result, exponent)
    except OverflowError:
        return math.copysign(math.inf, result)
