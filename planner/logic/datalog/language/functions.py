"""Tests, functions, operators and comparisons on values in rules.

They are Python functions without side effects, and accept all values; builtins.py lists the built-in ones. A function
returns None if there is no result: for a value of the wrong type, a division by zero, or a separator that does not
occur. Then the literal is false. The compiler inlines common functions if the column types allow it."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import lru_cache
from typing import Any

from planner.foundation.support.lazy import is_too_deep
from planner.foundation.vocabulary.diagnostic import Failure, error
from planner.logic.datalog.language.values import Fraction, Number, Truth, Value, is_a_number, number, quotient

LONGEST_TEXT = 1_000_000  # the maximum length of a computed string, in characters
_LARGEST_NUMBER = 1 << 512


def _limit(what: str) -> Failure:
    detail = f"A rule computed {what}. Look for a rule that doubles a value: computed values must stay small."
    return Failure(error("rules.limit", "Computed value too large", detail))


# ---------------------------------------------------------------- comparisons


def equal(a: Value, b: Value) -> bool:
    return a == b


def different(a: Value, b: Value) -> bool:
    return a != b


def _order(a: Value, b: Value) -> tuple[Any, Any] | None:
    """(a, b) if both values are strings or both are numbers, otherwise None."""
    if type(a) is str or type(b) is str:
        return (a, b) if type(a) is type(b) else None
    return None if type(a) is Truth or type(b) is Truth else (a, b)


def less(a: Value, b: Value) -> bool:
    pair = _order(a, b)
    return pair is not None and pair[0] < pair[1]


def less_or_equal(a: Value, b: Value) -> bool:
    pair = _order(a, b)
    return pair is not None and pair[0] <= pair[1]


def greater(a: Value, b: Value) -> bool:
    return less(b, a)


def greater_or_equal(a: Value, b: Value) -> bool:
    return less_or_equal(b, a)


COMPARISONS: dict[str, Callable[[Any, Any], bool]] = {
    "=": equal,
    "!=": different,
    "<": less,
    "<=": less_or_equal,
    ">": greater,
    ">=": greater_or_equal,
}


# ---------------------------------------------------------------- tests


def starts_with(text: Value, prefix: Value) -> bool:
    return type(text) is str and type(prefix) is str and text.startswith(prefix)


def ends_with(text: Value, suffix: Value) -> bool:
    return type(text) is str and type(suffix) is str and text.endswith(suffix)


def contains(text: Value, part: Value) -> bool:
    return type(text) is str and type(part) is str and part in text


def matches(text: Value, pattern: Value) -> bool:
    """Whether RE2 finds the pattern anywhere in the string, in linear time for any pattern. For a match of the whole
    string, the pattern must contain ^ and $."""
    if type(text) is not str or type(pattern) is not str:
        return False
    expression = compiled_pattern(pattern)
    return expression is not None and searched(expression, text) is not None


def searched(expression: Any, text: str) -> Any:
    """The first match in the text; None if there is none. A text with lone surrogates is not valid UTF-8 and never
    matches."""
    try:
        return expression.search(text)
    except UnicodeError:
        return None


@lru_cache(maxsize=1000)
def finder(pattern: str) -> Callable[[str], Any] | None:
    """The search function of a regular expression; None if it is not valid RE2 or is nested too deeply."""
    expression = compiled_pattern(pattern)
    return None if expression is None else expression.search


@lru_cache(maxsize=1000)
def compiled_pattern(pattern: str) -> Any | None:
    """The compiled regular expression; None if it is not valid RE2 or is nested too deeply."""
    import re2  # imported on first use, because few programs match patterns

    if is_too_deep(pattern):
        return None

    options = re2.Options()
    options.log_errors = False
    try:
        return re2.compile(pattern, options)
    except (re2.error, UnicodeError):
        return None


def is_symbol(value: Value) -> bool:
    return type(value) is str


def is_number(value: Value) -> bool:
    return is_a_number(value)


# ---------------------------------------------------------------- ranges of IP addresses


@lru_cache(maxsize=10_000)
def _range(text: str) -> tuple[int, int, int, int] | None:
    """(IP version, first address, last address, prefix length) of an address or a range such as 10.0.0.0/8, all as
    numbers; None for other strings. Bits after the prefix are ignored."""
    from ipaddress import ip_network

    try:
        network = ip_network(text.strip(), strict=False)
    except ValueError:
        return None
    return network.version, int(network.network_address), int(network.broadcast_address), network.prefixlen


def cidr(value: Value) -> tuple[int, int, int, int] | None:
    return _range(value) if type(value) is str else None


def is_cidr(value: Value) -> bool:
    """Whether a string is a range of IP addresses or one address."""
    return cidr(value) is not None


def cidr_contains(outer: Value, inner: Value) -> bool:
    """Whether the first range contains every address of the second."""
    a, b = cidr(outer), cidr(inner)
    return a is not None and b is not None and a[0] == b[0] and a[1] <= b[1] and b[2] <= a[2]


def cidr_overlaps(a: Value, b: Value) -> bool:
    x, y = cidr(a), cidr(b)
    return x is not None and y is not None and x[0] == y[0] and x[1] <= y[2] and y[1] <= x[2]


def cidr_prefix(text: Value) -> int | None:
    """The prefix length of a range, such as 8 for 10.0.0.0/8; None for an invalid range."""
    parts = cidr(text)
    return parts[3] if parts is not None else None


def cidr_version(text: Value) -> int | None:
    """The version of the IP addresses in a range, 4 or 6; None for an invalid range."""
    parts = cidr(text)
    return parts[0] if parts is not None else None


def cidr_network(text: Value) -> str | None:
    """The canonical form of a range, such as 10.0.0.0/8 for 10.1.2.3/8; None for an invalid range."""
    parts = cidr(text)
    if parts is None:
        return None
    from ipaddress import IPv4Network, IPv6Network

    return str((IPv4Network if parts[0] == 4 else IPv6Network)((parts[1], parts[3])))


def cidr_addresses(text: Value) -> int | None:
    parts = cidr(text)
    return parts[2] - parts[1] + 1 if parts is not None else None


# ---------------------------------------------------------------- functions


def length(text: Value) -> int | None:
    return len(text) if type(text) is str else None


def lower(text: Value) -> str | None:
    return text.lower() if type(text) is str else None


def upper(text: Value) -> str | None:
    return text.upper() if type(text) is str else None


def trim(text: Value) -> str | None:
    return text.strip() if type(text) is str else None


def before(text: Value, separator: Value) -> str | None:
    """The part of the text before the first separator; None if the text contains no separator."""
    return _part(text, separator, "partition", 0)


def after(text: Value, separator: Value) -> str | None:
    """The part of the text after the first separator; None if the text contains no separator."""
    return _part(text, separator, "partition", 2)


def before_last(text: Value, separator: Value) -> str | None:
    """The part of the text before the last separator; None if the text contains no separator."""
    return _part(text, separator, "rpartition", 0)


def after_last(text: Value, separator: Value) -> str | None:
    """The part of the text after the last separator; None if the text contains no separator."""
    return _part(text, separator, "rpartition", 2)


def _part(text: Value, separator: Value, method: str, index: int) -> str | None:
    if type(text) is not str or type(separator) is not str or not separator:
        return None
    parts = getattr(text, method)(separator)
    return parts[index] if parts[1] else None


def trim_prefix(text: Value, prefix: Value) -> str | None:
    return text.removeprefix(prefix) if type(text) is str and type(prefix) is str else None


def trim_suffix(text: Value, suffix: Value) -> str | None:
    return text.removesuffix(suffix) if type(text) is str and type(suffix) is str else None


def replace(text: Value, old: Value, new: Value) -> str | None:
    if type(text) is not str or type(old) is not str or type(new) is not str or not old:
        return None
    if len(text) * max(1, len(new)) > LONGEST_TEXT:
        raise _limit("a very long string")
    return text.replace(old, new)


def substring(text: Value, start: Value, count: Value) -> str | None:
    """At most `count` characters of the text from the index `start`; None for invalid arguments."""
    if type(text) is not str or type(start) is not int or type(count) is not int or start < 0 or count < 0:
        return None
    return text[start : start + count]


def to_number(text: Value) -> Number | None:
    """The number in a string, in the syntax of the configuration language; None if there is none. A number is returned
    unchanged."""
    if is_a_number(text):
        return text
    if type(text) is not str or len(text) > 150:
        return None
    digits = text[1:] if text[:1] == "-" else text
    if digits.isascii() and digits.isdigit():
        return int(text)
    return _decimal_number(text)


def _decimal_number(text: str) -> Number | None:
    from decimal import Decimal

    if not re.fullmatch(r"-?[0-9]+(\.[0-9]+)?([eE][+-]?[0-9]{1,3})?", text, re.ASCII):
        return None
    return number(Decimal(text))


def to_symbol(value: Value) -> str:
    """The value as a string, converted as by the operator `++`."""
    return value if type(value) is str else str(value)  # the repr of a Truth or Fraction is its text in rules


# ---------------------------------------------------------------- operators


def join(a: Value, b: Value) -> str:
    left, right = to_symbol(a), to_symbol(b)
    if len(left) + len(right) > LONGEST_TEXT:
        raise _limit("a very long string")
    return left + right


def add(a: Value, b: Value) -> Number | None:
    return a + b if is_a_number(a) and is_a_number(b) else None


def subtract(a: Value, b: Value) -> Number | None:
    return a - b if is_a_number(a) and is_a_number(b) else None


def multiply(a: Value, b: Value) -> Number | None:
    if not is_a_number(a) or not is_a_number(b):
        return None
    product: Number = a * b
    if not -_LARGEST_NUMBER < product < _LARGEST_NUMBER:
        raise _limit("a very large number")
    return product


def divide(a: Value, b: Value) -> Number | None:
    """The quotient of two numbers; None for invalid arguments and for a division by zero. The quotient of two integers
    is rounded towards zero."""
    if not is_a_number(a) or not is_a_number(b) or not (b > 0 or b < 0):
        return None
    if type(a) is not int or type(b) is not int:
        return quotient(a, b)
    whole = abs(a) // abs(b)
    return whole if (a < 0) == (b < 0) else -whole


def remainder(a: Value, b: Value) -> Number | None:
    """The remainder of the division of `a` by `b`, with the sign of `a`; None in the same cases as `divide`."""
    quotient = divide(a, b)
    if quotient is None or not is_a_number(a) or not is_a_number(b):
        return None
    whole = int(quotient.value) if isinstance(quotient, Fraction) else quotient
    return a - b * whole


def incomparable(a: Value, b: Value) -> bool:
    """Whether the values are neither two numbers nor two strings."""
    return _order(a, b) is None


def undefined(value: Value | None) -> bool:
    return value is None


def optional(function: Callable[..., Any], *arguments: Value | None) -> Any:
    """The result of a function; None if one of the arguments is None."""
    return None if None in arguments else function(*arguments)


# ---------------------------------------------------------------- aggregates


def aggregate(function: str, values: list[Any]) -> Any | None:
    """The count, sum, minimum or maximum of the values; None if there is no result, as for the sum of strings."""
    if function == "count":
        return len(values)
    if function == "sum":
        return sum(values) if all(map(is_a_number, values)) else None
    if not values:
        return None
    kinds = {type(v) for v in values}
    if not kinds <= {int, Fraction} and kinds != {str}:
        return None
    return min(values) if function == "min" else max(values)
