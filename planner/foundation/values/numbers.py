"""Arithmetic of OpenTofu: 512-bit binary floating point, rounded to nearest even (go-cty with Go's big.Float).

A whole number is a Python int, any other number a gmpy2 mpfr. Three kinds of whole numbers are also mpfr: negative
zero, which prints as `-0`; numbers beyond 2^65536, so that `1e99999999` needs no gigabytes; and results of float64
functions such as `pow` that print with fewer digits than they have. The precision of an mpfr is 512 bits, or 53 after a
float64 function. A result has the larger precision of its operands.

gmpy2 is imported on first use, because most configurations contain only whole numbers."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable
from functools import cache
from typing import TYPE_CHECKING, Any

from planner.foundation.vocabulary.diagnostic import Failure, error

if TYPE_CHECKING:
    import gmpy2

PRECISION = 512
LIMIT = 1 << PRECISION
HUGE_BITS = 65536
LONGEST = 20_000_000  # the maximum number of digits of a number that is written in full
MAX_EXPONENT = 2**31 - 1


class NumberTooLongError(Failure, OverflowError):
    """The number has too many digits to be written in full."""


@cache
def _load() -> Any:
    import gmpy2

    return gmpy2


def context(precision: int = PRECISION) -> gmpy2.context:
    """The gmpy2 context for a precision, with the exponent range of Go's big.Float."""
    return _load().context(precision=precision, emax=MAX_EXPONENT, emin=-MAX_EXPONENT - 1)


def __getattr__(name: str) -> Any:
    if name == "CONTEXT":  # the context of precision 512
        globals()["CONTEXT"] = context()
        return globals()["CONTEXT"]
    raise AttributeError(name)


def normal(x: Any) -> Any:
    """An mpfr as a number of the language: an int if it is whole, except for the three kinds that the module's
    docstring lists."""
    g = _load()
    if not g.is_integer(x) or g.is_infinite(x):
        return x
    if g.is_zero(x):
        return x if g.is_signed(x) else 0
    if abs(x.as_mantissa_exp()[1]) > HUGE_BITS:
        return x
    whole = int(x)
    if x.precision < PRECISION and whole.bit_length() > x.precision and number_to_text(x) != str(whole):
        return x
    return whole


def negative_zero() -> Any:
    """-0, which equals 0 and prints as `-0`."""
    return _load().mpfr("-0", PRECISION)


def infinity(negative: bool = False) -> Any:
    return _load().mpfr("-inf" if negative else "inf", PRECISION)


def has_inexact_numbers() -> bool:
    """Whether this process may have created numbers other than ints. If not, no number is infinite."""
    return "gmpy2" in sys.modules


def is_infinite(x: Any) -> bool:
    return x.__class__ is not int and bool(_load().is_infinite(x))


def parse_number(text: str) -> Any:
    """Parse a number as Go's big.ParseFloat does (`1e3`, `.5`, `1p4`, `Inf`). Raises ValueError."""
    match = re.fullmatch(r"([+-]?)(?:([0-9]*)(?:\.([0-9]*))?(?:([eEpP])([+-]?[0-9]+))?|([iI]nf))", text, re.ASCII)
    if match is None:
        raise ValueError(f"{text!r} is not a number")
    sign, whole, fraction, kind, exponent, infinite = match.groups()
    if infinite:
        return infinity(sign == "-")
    digits = (whole or "") + (fraction or "")
    if not digits:
        raise ValueError(f"{text!r} is not a number")
    power = int(exponent[-20:]) if exponent else 0
    if abs(power) > MAX_EXPONENT:
        raise ValueError(f"{text!r} has an exponent out of range")
    g = _load()
    with context():
        if kind in ("p", "P"):
            return normal(g.mul_2exp(g.mpfr(f"{sign}{whole or 0}.{fraction or 0}", PRECISION), power))
        return normal(g.mpfr(text, PRECISION))


def from_float(x: float) -> Any:
    """A float64 as a number of the language, with the precision of a float64 (53 bits)."""
    if x.is_integer() and abs(x) < 2**53 and (x or str(x) == "0.0"):
        return int(x)
    return normal(_load().mpfr(x, 53))


def same_number(a: Any, b: Any) -> bool:
    """Whether two numbers are equal. Fractions of different precision are compared by their shortest decimal notations,
    so that a float64 from a provider equals the same number in the configuration (go-cty, rawNumberEqual)."""
    if a.__class__ is int or b.__class__ is int or a.precision == b.precision:
        return bool(a == b)
    g = _load()
    if g.is_integer(a) or g.is_integer(b):
        return bool(a == b)
    return number_to_text(a) == number_to_text(b)


def whole_hash(x: Any) -> int | None:
    """The hash of a whole number, the same for an int and an mpfr; None for fractions."""
    return hash(x) if x.__class__ is int or _load().is_integer(x) else None


def to_float(x: Any) -> float:
    """The nearest float64; an infinity for numbers that are too large."""
    try:
        return float(x)
    except OverflowError:
        return float("-inf" if x < 0 else "inf")


def _precision(x: Any) -> int:
    return PRECISION if x.__class__ is int else x.precision


def _compute(operation: str, a: Any, b: Any, precision: int) -> Any:
    g = _load()
    with context(precision):
        result = getattr(g, operation)(g.mpfr(a, PRECISION) if a.__class__ is int else a, b)
    if g.is_nan(result):
        raise ArithmeticError(operation)
    return result


def round_whole(x: int) -> Any:
    """Round an int to 512 bits. Only numbers beyond 2^512 change."""
    if -LIMIT < x < LIMIT:
        return x
    g = _load()
    with context():
        return normal(g.mpfr(x, PRECISION))


def add(a: Any, b: Any) -> Any:
    """a + b. Raises ArithmeticError for opposite infinities."""
    if a.__class__ is int and b.__class__ is int:
        return round_whole(a + b)
    return normal(_compute("add", a, b, max(_precision(a), _precision(b))))


def subtract(a: Any, b: Any) -> Any:
    """a - b. Raises ArithmeticError for equal infinities."""
    if a.__class__ is int and b.__class__ is int:
        return round_whole(a - b)
    return normal(_compute("sub", a, b, max(_precision(a), _precision(b))))


def multiply(a: Any, b: Any) -> Any:
    """a * b. Raises ArithmeticError for zero times infinity."""
    if a.__class__ is int and b.__class__ is int:
        if a and b:
            return round_whole(a * b)
        return 0 if a >= 0 and b >= 0 else negative_zero()
    result = _compute("mul", a, b, PRECISION)
    precision = max(_precision(a), _precision(b))
    if precision < PRECISION:
        needed = int(result.as_mantissa_exp()[0]).bit_length() if _load().is_finite(result) else 1
        result = _load().mpfr(result, max(precision, needed))
    return normal(result)


def divide(a: Any, b: Any) -> Any:
    """a / b. The result is an infinity if b is zero. Raises ArithmeticError for 0 / 0 and infinity / infinity."""
    if a.__class__ is int and b.__class__ is int and a and b and a % b == 0:
        return a // b
    return normal(_compute("div", a, b, max(_precision(a), _precision(b))))


def remainder(a: Any, b: Any) -> Any:
    """a % b with the sign of a. The result is a if b is zero. Raises ArithmeticError for infinities."""
    if not b:
        return a
    if a.__class__ is int and b.__class__ is int:
        rest = abs(a) % abs(b)
        return rest if a >= 0 else -rest
    if is_infinite(a) or is_infinite(b):
        raise ArithmeticError("remainder")
    g = _load()
    precision = _precision(a)
    quotient = _compute("div", a, b, max(precision, _precision(b)))
    with context(precision):
        product = g.mul(g.trunc(quotient), g.mpfr(b, PRECISION))
    return normal(_compute("sub", a, product, precision))


def negate(a: Any) -> Any:
    """The negative of a number; for zero, negative zero."""
    if a.__class__ is int:
        return -a if a else negative_zero()
    with context(a.precision):
        return normal(-a)


# ---------------------------------------------------------------- text


def number_to_text(x: Any) -> str:
    """The shortest decimal text that reads back as the same number at its precision, without an exponent.

    The result equals that of Go's `big.Float.Text('f', -1)`; infinities are `+Inf` and `-Inf`. Raises
    NumberTooLongError for more than LONGEST characters, because a number can have hundreds of millions of digits.
    """
    if x.__class__ is int and -LIMIT < x < LIMIT:
        return str(x)
    negative, digits, point = decimal_digits(x)
    if abs(point) > LONGEST:
        detail = f"Written out, a number here has more than {LONGEST:,} digits."
        raise NumberTooLongError(error("language.number_too_long", "Number too long", detail))
    if not digits:
        return ("-" if negative else "") + "0" if point == 0 else ("-Inf" if negative else "+Inf")
    if point <= 0:
        text = "0." + "0" * -point + digits
    elif point >= len(digits):
        text = digits + "0" * (point - len(digits))
    else:
        text = f"{digits[:point]}.{digits[point:]}"
    return f"-{text}" if negative else text


def decimal_digits(x: Any) -> tuple[bool, str, int]:
    """The sign, the shortest digits d1d2... without leading and trailing zeros, and the position of the decimal point:
    the number is 0.d1d2... times 10^position. Without digits, position 0 means zero, and any other position means
    infinity."""
    negative, mantissa, exponent, precision = _parts(x)
    if not mantissa:
        return negative, "", exponent
    decimal = _decimal if abs(exponent) <= HUGE_BITS else _leading
    return negative, *_shortest(mantissa, exponent, precision, decimal)


def exact_digits(x: Any) -> tuple[bool, str, int]:
    """Like `decimal_digits`, but with all digits. If the exponent is very large, only the first 256 digits are
    included."""
    negative, mantissa, exponent, _ = _parts(x)
    if not mantissa:
        return negative, "", exponent
    return negative, *(_decimal if abs(exponent) <= HUGE_BITS else _leading)(mantissa, exponent)


def _parts(x: Any) -> tuple[bool, int, int, int]:
    """Sign, mantissa, binary exponent and precision. The mantissa is 0 for zero (exponent 0) and infinity (exponent
    1)."""
    if x.__class__ is int:
        return x < 0, abs(x), 0, PRECISION
    g = _load()
    negative = bool(g.is_signed(x))
    if g.is_infinite(x):
        return negative, 0, 1, PRECISION
    if g.is_zero(x):
        return negative, 0, 0, PRECISION
    mantissa, exponent = x.as_mantissa_exp()
    return negative, abs(int(mantissa)), int(exponent), x.precision


def _decimal(mantissa: int, exponent: int) -> tuple[str, int]:
    """The digits of mantissa * 2^exponent without trailing zeros, and the position of the decimal point."""
    if exponent >= 0:
        text = whole_text(mantissa << exponent)
        return text.rstrip("0"), len(text)
    text = whole_text(mantissa * 5**-exponent)
    return text.rstrip("0"), len(text) + exponent


def whole_text(x: int) -> str:
    """The decimal digits of an int, without Python's limit for the length of numbers."""
    return str(x) if x.bit_length() < 4096 else str(_load().mpz(x).digits(10))


def _leading(mantissa: int, exponent: int) -> tuple[str, int]:
    """Like `_decimal`, but with only the first 256 digits, for numbers with many thousands of digits."""
    g = _load()
    with context(2 * PRECISION):
        digits, point, _ = g.mul_2exp(g.mpfr(mantissa), exponent).digits(10, PRECISION // 2)
    return digits.rstrip("0"), point


def _shortest(
    mantissa: int, exponent: int, precision: int, decimal: Callable[[int, int], tuple[str, int]]
) -> tuple[str, int]:
    # the last bit of `scaled` is half a unit in the last place (Go, math/big/ftoa.go, roundShortest).
    shift = mantissa.bit_length() - (precision + 1)
    scaled = mantissa << -shift if shift < 0 else mantissa >> shift
    base = exponent + shift
    digits, point = decimal(mantissa, exponent)
    lower, _ = decimal(scaled - 1, base)
    upper, _ = decimal(scaled + 1, base)
    inclusive = not scaled & 2
    for i, digit in enumerate(digits):
        low = lower[i] if i < len(lower) else "0"
        high = upper[i] if i < len(upper) else "0"
        down = low != digit or (inclusive and i + 1 == len(lower))
        up = digit != high and (inclusive or ord(digit) + 1 < ord(high) or i + 1 < len(upper))
        if down and up:
            return round_digits(digits, point, i + 1)
        if down:
            return digits[: i + 1].rstrip("0"), point
        if up:
            return _round_up(digits, point, i + 1)
    return digits, point


def round_digits(digits: str, point: int, count: int) -> tuple[str, int]:
    """Round a number in the form of `decimal_digits` to `count` digits; halves are rounded to even."""
    if not 0 <= count < len(digits):
        return digits, point
    if digits[count] == "5" and count + 1 == len(digits):
        up = count > 0 and int(digits[count - 1]) % 2 == 1
    else:
        up = digits[count] >= "5"
    return _round_up(digits, point, count) if up else (digits[:count].rstrip("0"), point)


def _round_up(digits: str, point: int, count: int) -> tuple[str, int]:
    kept = digits[:count].rstrip("9")
    if not kept:
        return "1", point + 1
    return kept[:-1] + chr(ord(kept[-1]) + 1), point
