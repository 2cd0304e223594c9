"""Compares the expressions in two versions of a source. Layout, comments and parentheses are ignored."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from planner.language.syntax.nodes import Expression, Literal, ObjectItem, Parens, SyntaxNode, Traversal

_POSITIONS = frozenset(
    ("name_end", "root_end", "open", "close", "bracket", "marker_start", "marker_end", "open_end", "close_start")
)
_FIELDS: dict[type, tuple[str, ...]] = {}
"""{class of syntax nodes: the names of its fields, without those that contain positions}"""


class _Keys(dict[int, int]):
    """A dictionary {id of an expression: key}. `former`: a function that returns a reference with the former names of
    moved objects; None if nothing moved."""

    former: Callable[[Traversal], Traversal] | None = None


def expression_keys(node: Expression, former: Callable[[Traversal], Traversal] | None = None) -> dict[int, int]:
    """{id of an expression: key} for the expression and all expressions in it. Equal keys mean that the expressions are
    equal and are at the same place within the whole expression. The keys are hashes that are valid only in this
    process. Empty if the expression is nested too deeply. If `former` is not None, its result for a reference is used
    instead of the reference."""
    keys = _Keys()
    keys.former = former
    try:
        _key(node, (), keys)
    except RecursionError:
        return {}
    return keys


def changed_part(
    before: Expression,
    now: Expression,
    former: Callable[[Traversal], Traversal] | None = None,
) -> tuple[SyntaxNode | None, SyntaxNode]:
    """(former part, current part): the smallest parts of two expressions that contain all differences between them. The
    former part is None if the current part is new. `former`: as in `expression_keys`."""
    old, new = _Keys(), _Keys()
    new.former = former
    parts: tuple[SyntaxNode | None, SyntaxNode] = (before, now)
    try:
        while parts[0] is not None and (inner := _changed_inside(*parts, old, new)) is not None:
            parts = inner
    except RecursionError:
        return before, now
    return parts


def _changed_inside(before: Any, now: Any, old: _Keys, new: _Keys) -> tuple[SyntaxNode | None, SyntaxNode] | None:
    """(former part, current part) of the only part in which two nodes differ. The former part is None if the part is
    new. The result is None if the nodes do not differ in exactly one part."""
    before, now = (_without_parens(node) for node in (before, now))
    if before.__class__ is not now.__class__ or now.__class__ in (Literal, Traversal):
        return None
    changed = []
    for name in parts_of(now.__class__):
        sides = getattr(before, name), getattr(now, name)
        if not all(side.__class__ is tuple for side in sides):
            sides = (sides[0],), (sides[1],)
        was, is_now = ({item_name(item, at): item for at, item in enumerate(side)} for side in sides)
        if was.keys() - is_now.keys():
            return None
        for key, item in is_now.items():
            if key not in was or _part(was[key], (), old) != _part(item, (), new):
                changed.append((was.get(key), item))
    return changed[0] if len(changed) == 1 and isinstance(changed[0][1], SyntaxNode) else None


def _without_parens(node: Any) -> Any:
    while node.__class__ is Parens:
        node = node.expr
    return node


def _key(node: Any, path: tuple[Any, ...], keys: _Keys) -> int:
    outside, node = node, _without_parens(node)
    kind = node.__class__
    spelling: Any = keys.former(node) if keys.former is not None and kind is Traversal else node
    if spelling is not node:
        whole = _key(spelling, path, _Keys())
    elif kind is Literal:
        whole = hash((node.value.__class__, repr(node.value)))
    else:
        fields = _FIELDS.get(kind) or parts_of(kind)
        whole = hash((kind, *[_part(getattr(node, name), (*path, name), keys) for name in fields]))
    here = hash((path, whole))
    while outside is not node:
        keys[id(outside)] = here
        outside = outside.expr
    keys[id(node)] = here
    return whole


def parts_of(kind: type) -> tuple[str, ...]:
    fields = _FIELDS.get(kind)
    if fields is None:
        fields = _FIELDS[kind] = tuple(f for f in kind.__slots__ if f not in _POSITIONS)  # type: ignore[attr-defined]
    return fields


def _part(value: Any, path: tuple[Any, ...], keys: _Keys) -> Any:
    if value.__class__ is str:
        return value
    if isinstance(value, SyntaxNode):
        return _key(value, path, keys)
    if value.__class__ is tuple:
        return tuple(
            [
                _key(item, (*path, item_name(item, at)), keys) if isinstance(item, SyntaxNode) else repr(item)
                for at, item in enumerate(value)
            ]
        )
    return repr(value)


def item_name(item: SyntaxNode, at: int) -> Any:
    """The key of an item if the key is a literal, otherwise the index of the item."""
    if item.__class__ is ObjectItem and item.key.__class__ is Literal:
        return repr(item.key.value)
    return at
