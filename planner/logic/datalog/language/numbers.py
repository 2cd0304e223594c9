"""Built-in functions for numbers. They are exact for numbers of any size, except for quotients with more than 200
digits. They return None if there is no result."""

from __future__ import annotations

from decimal import Context, Decimal

from planner.logic.datalog.language.values import (
    LARGEST_EXPONENT,
    Fraction,
    Number,
    Value,
    is_a_number,
    number,
    quotient,
)

MAX_DIGITS = 100  # maximum number of decimal places for rounding and formatting


def absolute(value: Value) -> Number | None:
    if not is_a_number(value):
        return None
    return value * -1 if value < 0 else value


def floor(value: Value) -> Number | None:
    return _round(value, 0, "ROUND_FLOOR")


def ceil(value: Value) -> Number | None:
    return _round(value, 0, "ROUND_CEILING")


def rounded(value: Value, digits: Value) -> Number | None:
    """The nearest number with at most `digits` decimal places; halves are rounded away from 0."""
    return _round(value, digits, "ROUND_HALF_UP")


def _round(value: Value, digits: Value, mode: str) -> Number | None:
    decimal = _at_digits(value, digits, mode)
    return None if decimal is None else number(decimal)


def _at_digits(value: Value, digits: Value, mode: str) -> Decimal | None:
    if not is_a_number(value) or type(digits) is not int or not 0 <= digits <= MAX_DIGITS:
        return None
    decimal = value.value if isinstance(value, Fraction) else Decimal(value)
    if abs(decimal.adjusted()) > LARGEST_EXPONENT:
        return None
    context = Context(prec=max(decimal.adjusted(), 0) + digits + 2, rounding=mode)
    return decimal.quantize(Decimal(1).scaleb(-digits), context=context)


def ratio(a: Value, b: Value) -> Number | None:
    """`a` divided by `b`. The result for integers may also be a fraction: 1 divided by 4 is 0.25. The result is exact
    if it has at most 200 digits, otherwise it is rounded to 200 digits."""
    if not is_a_number(a) or not is_a_number(b) or not (b < 0 or b > 0):
        return None
    return quotient(a, b)


def format_number(value: Value, digits: Value) -> str | None:
    """The number as a string, rounded to `digits` decimal places."""
    decimal = _at_digits(value, digits, "ROUND_HALF_UP")
    if decimal is None:
        return None
    return format(decimal or abs(decimal), "f")
