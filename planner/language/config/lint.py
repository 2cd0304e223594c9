"""Warnings about text that is valid and has no effect."""

from __future__ import annotations

from collections.abc import Iterator

from planner.foundation.values.types import ListType, MapType, ObjectType, SetType, TupleType, Type
from planner.foundation.vocabulary.nearest import did_you_mean
from planner.foundation.vocabulary.span import Span
from planner.language.config.reading import ExpressionPiece, Problems
from planner.language.syntax import nodes
from planner.language.syntax.nodes import Expression

_Found = tuple[Expression, str, tuple[str, ...], ObjectType]


def lint_discarded(expr: ExpressionPiece, type_: Type, what: str, problems: Problems) -> None:
    """Warn of attributes of an object written out that conversion to the type would drop without a word."""
    if expr.json:
        return
    for key, name, path, target in _discarded(expr.node, type_, ()):
        where = f"{what}, at {''.join(path)}," if path else what
        detail = f'The type of {where} has no attribute "{name}", so this entry has no effect.'
        hint = did_you_mean(name, sorted(target.attributes))
        span = Span(expr.source, key.start, key.end)
        problems.warning("ignored_attribute", "Object attribute is ignored", detail + hint, span)


def may_discard(node: Expression) -> bool:
    """Whether objects are written out in the expression, where `lint_discarded` would look for them."""
    return isinstance(node, (nodes.Object, nodes.Tuple, nodes.For))


def _discarded(node: Expression, type_: Type, path: tuple[str, ...]) -> Iterator[_Found]:
    if isinstance(node, nodes.Object):
        for item in node.items:
            if not isinstance(item.key, nodes.Literal) or item.key.value.__class__ is not str:
                continue
            name = str(item.key.value)
            if isinstance(type_, MapType):
                yield from _discarded(item.value, type_.element, (*path, f'["{name}"]'))
            elif isinstance(type_, ObjectType):
                if name in type_.attributes:
                    yield from _discarded(item.value, type_.attributes[name], (*path, f".{name}"))
                else:
                    yield item.key, name, path, type_
    elif isinstance(node, nodes.Tuple):
        if isinstance(type_, ListType | SetType):
            for i, inner in enumerate(node.items):
                yield from _discarded(inner, type_.element, (*path, f"[{i}]"))
        elif isinstance(type_, TupleType) and len(type_.elements) == len(node.items):
            for i, inner in enumerate(node.items):
                yield from _discarded(inner, type_.elements[i], (*path, f"[{i}]"))
    elif isinstance(node, nodes.For):
        wanted = ListType | SetType if node.key_expr is None else MapType
        if isinstance(type_, wanted):
            yield from _discarded(node.value_expr, type_.element, (*path, "[...]"))
