"""Checks of for_each arguments: a map, an object, or a set of strings, neither null nor secret."""

from __future__ import annotations

from typing import Any

from planner.foundation.values.types import DYNAMIC, STRING, MapType, ObjectType, SetType, friendly_name
from planner.foundation.values.value import (
    EPHEMERAL,
    SENSITIVE,
    Map,
    Set,
    Unknown,
    Value,
    is_null,
    is_wholly_known,
    type_of,
    unmark,
)
from planner.language.config.model import Expr
from planner.language.config.reading import Problems


def for_each_items(value: Value, expr: Expr, problems: Problems) -> dict[str, Value] | None:
    """Keys and values to repeat for; None when the value is not fit or not known (reported)."""
    mine = Problems()
    check_for_each(value, expr, mine)
    problems.extend(mine)
    if mine.has_errors:
        return None
    plain, _ = unmark(value)
    if isinstance(plain, Set):
        return {str(unmark(item)[0]): item for item in plain.items}
    items: dict[str, Value] = plain.items if isinstance(plain, Map) else plain
    return {key: items[key] for key in sorted(items)}


def check_for_each(value: Value, expr: Expr, problems: Problems) -> None:
    """Report every reason why the value is not valid for for_each."""

    def report(code: str, detail: str, **more: Any) -> None:
        problems.error(code, "Invalid for_each argument", detail, expr.span, **more)

    plain, marks = unmark(value)
    kind = type_of(plain)
    known = plain.__class__ is not Unknown
    if isinstance(kind, SetType):
        if kind.element not in (STRING, DYNAMIC):
            report("for_each_type", f"A set in for_each must contain strings, not {friendly_name(kind.element)}.")
        elif known and not is_null(plain) and not is_wholly_known(plain):
            known = False
        elif isinstance(plain, Set) and any(is_null(item) for item in plain.items):
            report("for_each_null_item", "The set in for_each must not contain null.")
    elif not isinstance(kind, MapType | ObjectType) and kind is not DYNAMIC:
        report("for_each_type", f"for_each must be a map or a set of strings, not {friendly_name(kind)}.")
    if not known:
        detail = (
            "The keys depend on something that is known only after apply. Let the keys be constants, and only the "
            "values depend on other objects."
        )
        report("for_each_unknown", detail)
    if is_null(plain):
        report("for_each_null", "for_each must not be null. Use an empty map to create no instances.")
    if SENSITIVE in marks:
        report("for_each_sensitive", "Keys are shown in plans, so for_each cannot use a sensitive value.")
    if EPHEMERAL in marks:
        report("for_each_ephemeral", "Keys are stored in the state, so for_each cannot use an ephemeral value.")
