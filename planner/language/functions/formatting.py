"""`format` and `formatlist`: the verbs of printf, with the number formats of Go's math/big."""

from __future__ import annotations

import re
from typing import Any

from planner.foundation.values import numbers
from planner.foundation.values.convert import convert
from planner.foundation.values.refine import UNKNOWN_STRING, length_is_known, safe_prefix
from planner.foundation.values.types import BOOL, DYNAMIC, NUMBER, STRING, ListType
from planner.foundation.values.value import List, Null, Refinement, Set, Unknown, Value, is_wholly_known, type_of
from planner.foundation.vocabulary.span import count_graphemes, graphemes
from planner.language.functions.encoding import json_text
from planner.language.functions.protocol import (
    Function,
    FunctionError,
    Param,
    function,
    items,
    kind,
    shape,
    text,
    unknown,
)

FUNCTIONS: list[Function] = []

_VERB = re.compile(r"%%|%([0#+\- ]*)([1-9][0-9]*)?(?:\.([0-9]*))?(?:\[([1-9][0-9]*)\])?([a-zA-Z])", re.ASCII)


class Verb:
    """One verb of a format: flags, width and precision (-1: not set), number of its argument, and letter."""

    __slots__ = ("argument", "flags", "letter", "precision", "text", "width")

    def __init__(self, match: re.Match[str], next_argument: int) -> None:
        flags, width, precision, argument, letter = match.groups()
        self.text = match[0]
        self.flags = flags
        self.width = self._count(width) if width else -1
        self.precision = self._count(precision or "0") if precision is not None else -1
        self.argument = self._count(argument) if argument else next_argument
        self.letter = letter

    def _count(self, digits: str) -> int:
        if len(digits) > 9 or int(digits) > numbers.LONGEST:
            raise FunctionError(f"A verb of the format requires more than {numbers.LONGEST} characters.")
        return int(digits)


def format_values(form: str, values: list[Value]) -> str:
    """Format values according to a format string with verbs like `%s` and `%d`. Raises FunctionError."""
    out: list[str] = []
    next_argument, used, position = 1, 0, 0
    while True:
        percent = form.find("%", position)
        if percent < 0:
            out.append(form[position:])
            break
        out.append(form[position:percent])
        match = _VERB.match(form, percent)
        if match is None:
            raise FunctionError(f'The verb that begins with "{form[percent : percent + 3]}" is not valid.')
        position = match.end()
        if match[0] == "%%":
            out.append("%")
            continue
        verb = Verb(match, next_argument)
        used = max(used, verb.argument)
        next_argument = verb.argument + 1
        if verb.argument > len(values):
            raise FunctionError(
                f"There is no value for {verb.text}: it needs value number {verb.argument}, but the "
                f"number of values is {len(values)}."
            )
        out.append(_format_verb(verb, values[verb.argument - 1]))
    if used < len(values):
        raise FunctionError(f"There are too many values; the format uses only {used}.", used + 1)
    return "".join(out)


def _format_verb(verb: Verb, value: Value) -> str:
    letter = verb.letter
    if letter == "v":
        return _as_is(verb, value)
    if value.__class__ is Null:
        raise FunctionError(f"Null cannot be written with {verb.text}.")
    if letter == "t":
        return "true" if _convert_argument(verb, value, BOOL) else "false"
    if letter in "bdoxX":
        return _integer(verb, _convert_argument(verb, value, NUMBER))
    if letter in "eEfgG":
        return _float(verb, _convert_argument(verb, value, NUMBER))
    if letter in "sq":
        string: str = _convert_argument(verb, value, STRING)
        if verb.precision > 0:
            string = "".join(graphemes(string)[: verb.precision])
        return _pad(verb, string if letter == "s" else _json(verb, text(string)))
    raise FunctionError(f"The format verb {verb.text} is not supported.")


def _convert_argument(verb: Verb, value: Value, t: Any) -> Any:
    try:
        return convert(value, t)
    except ValueError as problem:
        raise FunctionError(f"The value for {verb.text} is not valid: {problem}.") from None


def _as_is(verb: Verb, value: Value) -> str:
    if "#" not in verb.flags and value.__class__ is not Null:
        if value.__class__ is str:
            return _pad(verb, value)
        if type_of(value) is NUMBER:
            return _pad(verb, general(value, -1, "e"))
    return _pad(verb, _json(verb, value))


def _json(verb: Verb, value: Value) -> str:
    try:
        return json_text(value)
    except ValueError as problem:
        raise FunctionError(f"The value for {verb.text} cannot be written as JSON: {problem}.") from None


def _pad(verb: Verb, string: str) -> str:
    missing = verb.width - count_graphemes(string) if verb.width > 0 else 0
    if missing <= 0:
        return string
    padding = ("0" if "0" in verb.flags else " ") * missing
    return string + padding if "-" in verb.flags else padding + string


def _sign(verb: Verb, negative: bool) -> str:
    return "-" if negative else "+" if "+" in verb.flags else " " if " " in verb.flags else ""


def _integer(verb: Verb, number: Any) -> str:
    if numbers.is_infinite(number) or number != int(number):
        raise FunctionError(f"The value for {verb.text} must be a whole number.")
    whole = int(number)
    digits = numbers.whole_text(abs(whole)) if verb.letter == "d" else f"{abs(whole):{verb.letter}}"
    if verb.precision == 0 and whole == 0:
        return ""
    digits = digits.rjust(verb.precision, "0")
    prefix = {"b": "0b", "o": "0", "x": "0x", "X": "0X"}.get(verb.letter, "") if "#" in verb.flags else ""
    head = _sign(verb, whole < 0) + prefix
    width = verb.width - len(head)
    if "-" in verb.flags:
        return head + digits.ljust(width)
    if "0" in verb.flags and verb.precision < 0:
        return head + digits.rjust(width, "0")
    return (head + digits).rjust(verb.width)


def _float(verb: Verb, number: Any) -> str:
    negative, _, _ = numbers.decimal_digits(number)
    infinite = numbers.is_infinite(number)
    if infinite:
        body = "Inf"
    elif verb.letter == "f":
        body = _fixed_point(number, 6 if verb.precision < 0 else verb.precision)
    elif verb.letter in "eE":
        body = _scientific(number, 6 if verb.precision < 0 else verb.precision, verb.letter)
    else:
        body = general(number, verb.precision, "e" if verb.letter == "g" else "E").lstrip("-")
    sign = _sign(verb, negative)
    if infinite and not negative:
        sign = " " if " " in verb.flags else "+"
    if "0" in verb.flags and not infinite:
        return sign + body.rjust(verb.width - len(sign), "0")
    return (sign + body).ljust(verb.width) if "-" in verb.flags else (sign + body).rjust(verb.width)


def _fixed_point(number: Any, places: int) -> str:
    _, digits, point = numbers.exact_digits(number)
    digits, point = numbers.round_digits(digits, point, point + places)
    return _plain(digits, point, places)


def _plain(digits: str, point: int, places: int) -> str:
    if point <= 0:
        whole, fraction = "0", "0" * -point + digits
    else:
        whole, fraction = digits[:point].ljust(point, "0"), digits[point:]
    return f"{whole}.{fraction[:places].ljust(places, '0')}" if places > 0 else whole


def _scientific(number: Any, places: int, letter: str) -> str:
    _, digits, point = numbers.exact_digits(number)
    digits, point = numbers.round_digits(digits, point, 1 + places)
    return _exponential(digits, point, places, letter)


def _exponential(digits: str, point: int, places: int, letter: str) -> str:
    exponent = point - 1 if digits else 0
    fraction = "." + digits[1 : places + 1].ljust(places, "0") if places > 0 else ""
    return f"{digits[:1] or '0'}{fraction}{letter}{'-' if exponent < 0 else '+'}{abs(exponent):02}"


def general(number: Any, precision: int, letter: str) -> str:
    """A number with `precision` digits (-1: as many as needed), with an exponent if it is very small or large."""
    if numbers.is_infinite(number):
        return "-Inf" if number < 0 else "+Inf"
    if precision < 0:
        negative, digits, point = numbers.decimal_digits(number)
        precision, limit = len(digits), 6
    else:
        negative, digits, point = numbers.exact_digits(number)
        precision = precision or 1
        digits, point = numbers.round_digits(digits, point, precision)
        limit = len(digits) if precision > len(digits) >= point else precision
    if point - 1 < -4 or point - 1 >= limit:
        body = _exponential(digits, point, min(precision, len(digits)) - 1, letter)
    else:
        body = _plain(digits, point, max(len(digits) - point, 0))
    return "-" + body if negative else body


_VALUES = Param("args", DYNAMIC, "The values for the verbs.", allow_null=True, allow_unknown=True, allow_dynamic=True)


@function(Param("format", STRING, "The format."), variadic=_VALUES, result=STRING, into=FUNCTIONS, name="format")
def format_one(form: str, *values: Value) -> Value:
    """Formats values according to a format string with verbs like `%s` and `%d`."""
    if not all(map(is_wholly_known, values)):
        before, percent, _ = form.partition("%")
        return unknown(STRING, Refinement(prefix=safe_prefix(before))) if percent and before else unknown(STRING)
    return text(format_values(form, list(values)))


@function(Param("format", STRING, "The format."), variadic=_VALUES, result=ListType(STRING), into=FUNCTIONS)
def formatlist(form: str, *values: Value) -> Value:
    """Formats values according to a format string with verbs, once for each element of the lists among the values. The
    lists must have the same length. Values that are not lists are used each time."""
    if not values:
        return List(STRING, (text(format_values(form, [])),))
    length, first = -1, 0
    columns: list[tuple[Value, ...] | None] = []
    is_unknown = False
    for index, value in enumerate(values):
        if kind(value) not in ("list", "set", "tuple") or value.__class__ is Null:
            is_unknown = is_unknown or (value.__class__ is Unknown and value.type is DYNAMIC)
            columns.append(None)
            continue
        if value.__class__ is Unknown and kind(value) != "tuple":
            is_unknown = True
            columns.append(None)
            continue
        if value.__class__ is Set and not length_is_known(value):
            is_unknown = True
            columns.append(None)
            continue
        own = len(shape(value)[1].elements) if value.__class__ is Unknown else len(items(value))
        if length < 0:
            length, first = own, index
        elif own != length:
            raise FunctionError(
                f"All lists must have the same length: this one has {own} elements, but value number {first + 1} has "
                f"{length}.",
                index + 1,
            )
        is_unknown = is_unknown or value.__class__ is Unknown
        columns.append(None if value.__class__ is Unknown else items(value))
    if is_unknown:
        return unknown(ListType(STRING))
    lines: list[Value] = []
    for row in range(1 if length < 0 else length):
        arguments = [value if column is None else column[row] for value, column in zip(values, columns, strict=True)]
        if not all(map(is_wholly_known, arguments)):
            lines.append(UNKNOWN_STRING)
            continue
        try:
            lines.append(text(format_values(form, arguments)))
        except FunctionError as problem:
            raise FunctionError(f"In the elements with index {row}: {problem.message}") from None
    return List(STRING, tuple(lines))
