"""Functions that convert values, try expressions, and mark values as sensitive or ephemeral."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from planner.foundation.values.convert import conversion_possible, convert
from planner.foundation.values.types import BOOL, DYNAMIC, NUMBER, STRING, ListType, MapType, SetType, Type
from planner.foundation.values.value import (
    EPHEMERAL,
    SENSITIVE,
    UNKNOWN,
    List,
    Map,
    Null,
    Set,
    Unknown,
    Value,
    is_wholly_known,
    mark,
    type_of,
    unmark,
    unmark_deep,
)
from planner.foundation.vocabulary.diagnostic import Failure
from planner.language.functions.protocol import Function, FunctionError, Param, function, kind, unknown

FUNCTIONS: list[Function] = []


@function(
    Param("value", DYNAMIC, "The value to convert.", allow_null=True, allow_unknown=True, allow_marked=True),
    Param("type", DYNAMIC, "A type, written like the type of a variable."),
    result=DYNAMIC,
    not_null=False,
    name="convert",
    into=FUNCTIONS,
)
def _convert_to_type(value: Value, constraint: Value) -> Value:
    """Returns a value converted to a type."""
    # the compiler of calls handles all calls in which the type is written out
    raise FunctionError("The type must be written literally in the call.", 1)


def _conversion(name: str, wanted: Type, what: str) -> None:
    def result(value: Value) -> Type:
        given = type_of(value)
        if given != wanted and not conversion_possible(given, wanted):
            raise FunctionError(f"{_a(kind(value))} cannot be converted to {what}.", 0)
        return wanted

    def convert_to(value: Value) -> Value:
        try:
            return convert(value, wanted)
        except ValueError as problem:
            _, marks = unmark_deep(value)
            hidden = [word for word, m in (("ephemeral", EPHEMERAL), ("sensitive", SENSITIVE)) if m in marks]
            reason = f"This {hidden[0]} {kind(value)} cannot be converted to {what}" if hidden else str(problem)
            raise FunctionError(reason, 0) from None

    convert_to.__doc__ = f"Converts a value to {what}."
    param = Param("v", DYNAMIC, allow_null=True, allow_marked=True, allow_dynamic=True)
    function(param, result=result, not_null=False, name=name, into=FUNCTIONS)(convert_to)


def _a(what: str) -> str:
    return f"An {what}" if what[0] in "aeiou" else f"A {what}"


_conversion("tobool", BOOL, "a bool")
_conversion("tolist", ListType(DYNAMIC), "a list")
_conversion("tomap", MapType(DYNAMIC), "a map")
_conversion("tonumber", NUMBER, "a number")
_conversion("toset", SetType(DYNAMIC), "a set")
_conversion("tostring", STRING, "a string")


_ANYTHING = Param("value", DYNAMIC, allow_null=True, allow_unknown=True, allow_marked=True, allow_dynamic=True)


@function(_ANYTHING, result=type_of, not_null=False, into=FUNCTIONS)
def sensitive(value: Value) -> Value:
    """Marks a value as sensitive, so that it is not shown."""
    return mark(value, frozenset([SENSITIVE]))


@function(_ANYTHING, result=type_of, not_null=False, into=FUNCTIONS)
def nonsensitive(value: Value) -> Value:
    """Removes the mark of a sensitive value, so that it may be shown."""
    value, marks = unmark(value)
    return mark(value, marks - {SENSITIVE})


@function(_ANYTHING, result=BOOL, into=FUNCTIONS)
def issensitive(value: Value) -> Value:
    """Returns whether a value as a whole is sensitive."""
    plain, marks = unmark(value)
    # the final value may or may not be sensitive
    return unknown(BOOL) if plain.__class__ is Unknown else SENSITIVE in marks


@function(_ANYTHING, result=type_of, not_null=False, into=FUNCTIONS)
def ephemeralasnull(value: Value) -> Value:
    """Replaces all ephemeral parts of a value with null."""
    return _without_ephemeral(value)


def _without_ephemeral(value: Value) -> Value:
    plain, marks = unmark(value)
    cls = plain.__class__
    if cls is tuple:
        plain = tuple(map(_without_ephemeral, plain))
    elif cls is dict:
        plain = {name: _without_ephemeral(part) for name, part in plain.items()}
    elif cls is List or cls is Set:
        plain = cls(plain.element, tuple(map(_without_ephemeral, plain.items)))
    elif cls is Map:
        plain = Map(plain.element, {key: _without_ephemeral(part) for key, part in plain.items.items()})
    elif cls is Unknown:
        plain = unknown(plain.type)
        return mark(plain, marks - {EPHEMERAL})
    if EPHEMERAL in marks:
        return mark(Null(type_of(plain)), marks - {EPHEMERAL})
    return mark(plain, marks)


@function(
    Param("expression", DYNAMIC, "The expression to try."),
    result=BOOL,
    not_null=False,
    lazy=True,
    into=FUNCTIONS,
)
def can(expression: Callable[[], Value]) -> Value:
    """Returns whether an expression can be evaluated without an error."""
    try:
        value = expression()
    except Failure:
        return False
    # the expression may still fail when its unknown part becomes known
    return True if is_wholly_known(value) else unknown(BOOL)


@function(
    variadic=Param("expressions", DYNAMIC, "The expressions to try."),
    result=DYNAMIC,
    not_null=False,
    lazy=True,
    name="try",
    into=FUNCTIONS,
)
def first_success(*expressions: Callable[[], Value]) -> Value:
    """Returns the value of the first expression that can be evaluated without an error."""
    if not expressions:
        raise FunctionError("There must be at least one expression.")
    problems: list[Any] = []
    for expression in expressions:
        try:
            value = expression()
        except Failure as failure:
            problems += failure.diagnostics
            continue
        # if this expression fails when its unknown part becomes known, the result comes from a later expression and may
        # have a different type
        return value if is_wholly_known(value) else UNKNOWN
    reasons = "".join(f"\n- {d.summary}{f' (at {d.subject})' if d.subject else ''}: {d.detail}" for d in problems)
    raise FunctionError(f"None of the expressions has a value:{reasons}")


# Removed functions; a call reports the replacement.

_ANYTHING = Param("vals", DYNAMIC, allow_null=True, allow_unknown=True, allow_dynamic=True)


def _no_list(*values: Value) -> Type:
    raise FunctionError("The function list no longer exists: write tolist([...]), or only the brackets.")


def _no_map(*values: Value) -> Type:
    raise FunctionError("The function map no longer exists: write tomap({...}), or only the braces.")


@function(variadic=_ANYTHING, result=_no_list, not_null=False, into=FUNCTIONS, name="list")
def list_(*values: Value) -> Value:
    """No longer exists: use tolist([...])."""
    raise AssertionError


@function(variadic=_ANYTHING, result=_no_map, not_null=False, into=FUNCTIONS, name="map")
def map_(*values: Value) -> Value:
    """No longer exists: use tomap({...})."""
    raise AssertionError
