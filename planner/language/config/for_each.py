"""Validates for_each arguments, and determines the instances of blocks and modules, as far as they are known before
planning."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from planner.foundation.values.convert import ConversionError, convert
from planner.foundation.values.types import DYNAMIC, NUMBER, STRING, MapType, ObjectType, SetType, friendly_name
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
    unmark_deep,
)
from planner.foundation.vocabulary.address import format_key, join
from planner.language.config.model import Expr, ModuleCall, ModuleConfig, ResourceDecl, VariableDecl
from planner.language.config.reading import Problems, expr_of
from planner.language.config.static import Given, StaticScope


def for_each_items(value: Value, expr: Expr, problems: Problems) -> dict[str, Value] | None:
    """The instances of a for_each as {each.key: each.value}, sorted by key. For a set, each.value is the element. None
    if the for_each is invalid or unknown (reported)."""
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
    """Report every reason why the value is not valid for for_each. It must be a map, an object or a set of strings, and
    its keys must be known. It must not be null, sensitive or ephemeral."""

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
            "The keys depend on values that are known only after apply. Use constant keys, and let only the values "
            "depend on other objects."
        )
        report("for_each_unknown", detail)
    if is_null(plain):
        report("for_each_null", "for_each must not be null. Use an empty map to create no instances.")
    if SENSITIVE in marks:
        report("for_each_sensitive", "Keys are shown in plans, so for_each cannot use a sensitive value.")
    if EPHEMERAL in marks:
        report("for_each_ephemeral", "Keys are stored in the state, so for_each cannot use an ephemeral value.")


def module_scopes(root: ModuleConfig, given: Given, workspace: str) -> Iterator[tuple[str, ModuleConfig, StaticScope]]:
    """Yields (address, module, scope of the module's expressions) for every module instance, outer before inner.
    Instances that are unknown before planning are represented as in `repeated_scopes`."""
    waiting = [("", root, StaticScope(root.variables, root.locals, given, root.directory, ".", workspace))]
    while waiting:
        address, module, scope = waiting.pop(0)
        yield address, module, scope
        inside = []
        for name in sorted(module.children):
            child = module.children[name]
            assert child.call is not None
            for instance, outer in repeated_scopes(child.call, scope):
                inputs = _known_arguments(child, outer)
                inner = StaticScope(child.variables, child.locals, inputs, child.directory, ".", workspace)
                inside.append((f"{join(address, f'module.{name}')}{instance}", child, inner))
        waiting[:0] = inside


def repeated_scopes(decl: ResourceDecl | ModuleCall, scope: StaticScope) -> list[tuple[str, StaticScope]]:
    """The instances of a block as (key, scope). Keys are written as in addresses (`[0]`, `["a"]`); the key is "" if the
    block has neither count nor for_each. If the instances are unknown before planning, or the count is invalid, one
    pair with the key "" represents all of them. The list is empty if the for_each is invalid, or if `enabled` is
    false."""
    problems = Problems()
    for expr in (decl.enabled, decl.count, decl.for_each):
        if expr is None:
            continue
        value = constant(scope, expr, problems)
        if value is None:
            return [("", scope)]
        if expr is decl.for_each:
            items = for_each_items(value, expr, problems)
            return (
                []
                if items is None
                else [
                    (format_key(key), scope.repeated({"each": {"key": key, "value": item}}))
                    for key, item in items.items()
                ]
            )
        if expr is decl.enabled:
            return [("", scope)] if value is True else []
        try:
            count = convert(value, NUMBER)
        except ConversionError:
            return [("", scope)]
        if not isinstance(count, int) or count < 0:
            return [("", scope)]
        return [(format_key(index), scope.repeated({"count": {"index": index}})) for index in range(count)]
    return [("", scope)]


def _known_arguments(child: ModuleConfig, outer: StaticScope) -> Given:
    call = child.call

    def value(variable: VariableDecl, problems: Problems) -> Value | None:
        attribute = call.inputs.get(variable.name) if call is not None else None
        if attribute is None:
            return variable.default
        return constant(outer, expr_of(attribute, problems), problems)

    return value


def constant(scope: StaticScope, expr: Expr, problems: Problems) -> Value | None:
    """The value of an expression without marks; None if it is unknown before planning, or invalid (reported)."""
    mine = Problems()
    value = scope.evaluate(expr, "this", expr.span, mine)
    problems.extend(mine)
    if value is None or mine.has_errors:
        return None
    value = unmark_deep(value)[0]
    return value if is_wholly_known(value) else None
