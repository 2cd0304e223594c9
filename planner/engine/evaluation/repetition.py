"""`count`, `for_each` and `enabled`: the instances of a block, and the values of `count.index` and `each` in each of
them.

Planning requires that the instances are known, so an argument that is known only after apply is an error. For
validation, `repetition_problems` checks arguments only if they are known."""

from __future__ import annotations

from typing import Literal, Protocol, TypeAlias

from planner.foundation.values.convert import ConversionError, convert
from planner.foundation.values.types import (
    BOOL,
    DYNAMIC,
    NUMBER,
    STRING,
    ListType,
    MapType,
    ObjectType,
    SetType,
    TupleType,
    friendly_name,
)
from planner.foundation.values.value import (
    EPHEMERAL,
    SENSITIVE,
    UNKNOWN,
    Map,
    Null,
    Set,
    Unknown,
    Value,
    is_wholly_known,
    type_of,
    unmark,
    unmark_deep,
)
from planner.foundation.vocabulary.address import InstanceKey
from planner.foundation.vocabulary.diagnostic import Diagnostic, Failure, error, has_errors
from planner.foundation.vocabulary.nearest import option
from planner.foundation.vocabulary.records import field, frozen
from planner.language.config.model import Expr
from planner.language.expressions.evaluate import try_evaluate
from planner.language.expressions.operands import operand_values
from planner.language.expressions.scope import Scope

MAX_INSTANCES = 1_000_000  # the greatest count of a block; a larger one is a mistake and would use all memory

Argument: TypeAlias = Literal["none", "count", "for_each", "enabled"]


class Repetition:
    """The values of `count.index`, `each.key` and `each.value` in one instance. A value that is not available is
    None."""

    __slots__ = ("count_index", "each_key", "each_value")

    def __init__(self, count_index: Value = None, each_key: Value = None, each_value: Value = None) -> None:
        self.count_index = count_index
        self.each_key = each_key
        self.each_value = each_value


NO_REPETITION = Repetition()


def repetition_of(key: InstanceKey) -> Repetition:
    """The values of `count.index` and `each.key` for an instance of which only the key is known; `each.value` is not
    available."""
    return Repetition(key if isinstance(key, int) else None, key if isinstance(key, str) else None)


UNKNOWN_COUNT = Repetition(count_index=Unknown(NUMBER))
UNKNOWN_EACH = Repetition(each_key=Unknown(STRING), each_value=UNKNOWN)
UNKNOWN_REPETITION = Repetition(Unknown(NUMBER), Unknown(STRING), UNKNOWN)


@frozen(eq=False)
class Expansion:
    """The instances of a block, in the order of their keys, and warnings about count, for_each or enabled."""

    argument: Argument
    instances: dict[InstanceKey, Repetition] = field(factory=dict)
    warnings: tuple[Diagnostic, ...] = ()


SINGLE = Expansion("none", {None: NO_REPETITION})


class Repeatable(Protocol):
    @property
    def count(self) -> Expr | None: ...
    @property
    def for_each(self) -> Expr | None: ...
    @property
    def enabled(self) -> Expr | None: ...


def repetition_argument(block: Repeatable) -> Argument:
    if block.count is not None:
        return "count"
    if block.for_each is not None:
        return "for_each"
    return "none" if block.enabled is None else "enabled"


def unknown_repetition(block: Repeatable) -> Repetition:
    if block.count is not None:
        return UNKNOWN_COUNT
    return NO_REPETITION if block.for_each is None else UNKNOWN_EACH


def expand(block: Repeatable, scope: Scope, what: str) -> Expansion:
    """The instances of a block. `what`: the name of the block in messages. Raises Failure."""
    if block.count is not None:
        count, problems = _count(block.count, scope)
        if count.__class__ is Unknown:
            problems = [*problems, _unknown("count", block.count, scope, what)]
        _raise(problems)
        return Expansion("count", {i: Repetition(count_index=i) for i in range(count)}, tuple(problems))
    if block.enabled is not None:
        enabled, problems = _is_enabled(block.enabled, scope)
        return Expansion("enabled", {None: NO_REPETITION} if enabled else {}, tuple(problems))
    if block.for_each is not None:
        items, problems = _items(block.for_each, scope, what)
        instances: dict[InstanceKey, Repetition] = {str(k): Repetition(each_key=k, each_value=v) for k, v in items}
        return Expansion("for_each", instances, tuple(problems))
    return SINGLE


def repetition_problems(block: Repeatable, scope: Scope) -> list[Diagnostic]:
    """Problems of the argument count or for_each. Empty if the block has neither argument, or if the value or an
    element of a set is unknown."""
    if block.count is not None:
        value, problems = _count(block.count, scope)
    elif block.for_each is not None:
        value, problems = _for_each(block.for_each, scope)
    else:
        return []
    return [] if value.__class__ is Unknown else problems


def for_each_items(expr: Expr, scope: Scope, what: str, allow_tuple: bool = False) -> list[tuple[Value, Value]]:
    """(key, value) for each item of a for_each argument, sorted by key. For a set, key and value are both the element.
    `allow_tuple`: whether a tuple is also valid; its indexes are the keys. Raises Failure."""
    return _items(expr, scope, what, allow_tuple)[0]


def _items(
    expr: Expr, scope: Scope, what: str, allow_tuple: bool = False
) -> tuple[list[tuple[Value, Value]], list[Diagnostic]]:
    value, problems = _for_each(expr, scope, allow_tuple, what)
    _raise(problems)
    if value.__class__ is tuple:
        return list(enumerate(value)), problems
    if value.__class__ is Set:
        return [(item, item) for item in value.items], problems
    items: dict[str, Value] = value.items if value.__class__ is Map else value
    return [(key, items[key]) for key in sorted(items)], problems


# ---------------------------------------------------------------- the three arguments


def _count(expr: Expr, scope: Scope) -> tuple[Value, list[Diagnostic]]:
    """The value of count, and problems. The value is a whole number, unknown, or None if it is invalid."""
    value, problems = try_evaluate(expr.node, scope, expr.source)
    if has_errors(problems):
        return None, problems
    try:
        value = convert(value, NUMBER)
    except ConversionError as bad:
        return None, [error("plan.value_type", "Incorrect value type", f"count must be a number: {bad}.", expr.span)]
    value, marks = unmark(value)
    if EPHEMERAL in marks:
        return None, [
            _invalid("count", expr, scope, "it is ephemeral, but the number of instances is stored and shown")
        ]
    if value.__class__ is Null:
        return None, [_invalid("count", expr, scope, "it is null, but a whole number is required")]
    if value.__class__ is Unknown:
        return Unknown(NUMBER), problems
    if value.__class__ is not int:
        return None, [_invalid("count", expr, scope, "it must be a whole number")]
    if value < 0:
        return None, [_invalid("count", expr, scope, "it must not be negative")]
    if value > MAX_INSTANCES:
        return None, [_invalid("count", expr, scope, f"it must not be greater than {MAX_INSTANCES}")]
    return value, problems


def _is_enabled(expr: Expr, scope: Scope) -> tuple[bool, list[Diagnostic]]:
    value, problems = try_evaluate(expr.node, scope, expr.source)
    value, marks = unmark(value)
    if SENSITIVE in marks:
        reason = "it is sensitive, but the existence of the instance would reveal it"
        problems.append(_invalid("enabled", expr, scope, reason, secret=True))
    if EPHEMERAL in marks:
        problems.append(_invalid("enabled", expr, scope, "it is ephemeral"))
    if value.__class__ is Null:
        problems.append(_invalid("enabled", expr, scope, "it is null, but true or false is required"))
    if value.__class__ is Unknown and not has_errors(problems):
        problems.append(_unknown("enabled", expr, scope, ""))
    _raise(problems)
    try:
        return convert(value, BOOL) is True, problems
    except ConversionError as bad:
        raise Failure(_invalid("enabled", expr, scope, str(bad))) from None


def _for_each(
    expr: Expr, scope: Scope, allow_tuple: bool = False, needed_for: str | None = None
) -> tuple[Value, list[Diagnostic]]:
    """The value of for_each without marks, and problems. The value is an object, a Map, a Set of strings, a tuple (if
    allowed), Unknown, or None if it is invalid. `needed_for`: the name in messages of the block for which the value
    must be known; None if the value may be unknown."""
    value, problems = try_evaluate(expr.node, scope, expr.source)
    if has_errors(problems) and value.__class__ is Unknown and value.type is DYNAMIC:
        return None, problems
    value, marks = unmark(value)
    type_ = type_of(value)
    keys: Value = value
    if isinstance(type_, SetType):
        keys, more = _set(expr, scope, value, type_)
        problems += more
    elif not (
        type_ is DYNAMIC or isinstance(type_, (MapType, ObjectType)) or (allow_tuple and type_.__class__ is TupleType)
    ):
        wanted = "a map, a set of strings or a tuple" if allow_tuple else "a map or a set of strings"
        reason = f"it must be {wanted}, not {friendly_name(type_)}"
        if isinstance(type_, ListType | TupleType):
            reason += ". Write toset(...) around a list of strings"
        problems.append(_invalid("for_each", expr, scope, reason))
        keys = None
    if needed_for is not None and Unknown in (value.__class__, keys.__class__):
        problems.append(_unknown("for_each", expr, scope, needed_for))
    if value.__class__ is Null:
        problems.append(_invalid("for_each", expr, scope, "it is null. An empty map or set creates no instances"))
        keys = None
    for mark, word in ((SENSITIVE, "sensitive"), (EPHEMERAL, "ephemeral")):
        if mark in marks:
            detail = f"it is {word}, but its keys name the instances and are stored and shown"
            if mark is SENSITIVE:
                detail += ". Use other keys, or nonsensitive(...) if these keys are not secret"
            problems.append(_invalid("for_each", expr, scope, detail, secret=True))
            keys = None
    return (None if has_errors(problems) else keys), problems


def _set(expr: Expr, scope: Scope, value: Value, type_: SetType) -> tuple[Value, list[Diagnostic]]:
    if type_.element is not STRING and type_.element is not DYNAMIC:
        name = friendly_name(type_.element)
        how = "toset([for item in ... : tostring(item)])"
        if isinstance(type_.element, ObjectType):
            how = "{ for item in ... : item.ATTRIBUTE => item }, with an attribute that names each item"
        reason = f"a set must contain strings, but this one contains {name}. Write {how}"
        return None, [_invalid("for_each", expr, scope, reason)]
    if value.__class__ is Null:
        return value, []
    if not is_wholly_known(value):
        return Unknown(type_), []
    if any(unmark_deep(item)[0].__class__ is Null for item in value.items):
        return None, [_invalid("for_each", expr, scope, "a set must not contain null")]
    return value, []


# ---------------------------------------------------------------- messages


def _invalid(argument: str, expr: Expr, scope: Scope, reason: str, secret: bool = False) -> Diagnostic:
    detail = f"The value of {argument} is not valid: {reason}."
    values = operand_values(expr.node, scope, expr.source, secret=secret)
    return error(f"plan.invalid_{argument}", f"Invalid {argument} argument", detail, expr.span, values=values)


def _unknown(argument: str, expr: Expr, scope: Scope, what: str) -> Diagnostic:
    known = (
        "Use a map with constant keys, and use the unknown values only as its values"
        if argument == "for_each"
        else "Let the value depend on values that are known before apply"
    )
    detail = f"The value depends on values that are known only after apply, so the instances cannot be planned. {known}"
    detail += f", or plan everything else first with {option('exclude', what)}." if what else "."
    values = operand_values(expr.node, scope, expr.source, unknown=True)
    return error(f"plan.unknown_{argument}", f"Invalid {argument} argument", detail, expr.span, values=values)


def _raise(problems: list[Diagnostic]) -> None:
    if has_errors(problems):
        raise Failure(problems)
