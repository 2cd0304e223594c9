"""Whether two expressions are written alike, apart from layout and parentheses."""

from __future__ import annotations

from typing import Any

from planner.language.syntax import nodes

_POSITIONS = {"start", "end", "compiled", "root_end", "name_end", "open", "close", "open_end", "close_start"}
_POSITIONS |= {"bracket", "marker_start", "marker_end", "bare"}


def same_expression(left: Any, right: Any) -> bool:
    """Whether both are the same expression."""
    while isinstance(left, nodes.Parens):
        left = left.expr
    while isinstance(right, nodes.Parens):
        right = right.expr
    if left.__class__ is not right.__class__:
        return False
    if isinstance(left, tuple):
        return len(left) == len(right) and all(map(same_expression, left, right))
    if not isinstance(left, nodes.SyntaxNode):
        return bool(left == right)
    names = [name for name in left.__slots__ if name not in _POSITIONS]
    return all(same_expression(getattr(left, name), getattr(right, name)) for name in names)
