"""The names and functions that expressions and bodies mention, in source order."""

from __future__ import annotations

from typing import TypeAlias

from planner.syntax.body import Body
from planner.syntax.json_body import JsonBody
from planner.syntax.native_body import NativeBody
from planner.syntax.nodes import (
    Attribute,
    Block,
    Call,
    Expression,
    For,
    Node,
    TemplateFor,
    Traversal,
    Variable,
)
from planner.vocabulary.diagnostic import Failure

Mentioning: TypeAlias = Expression | Attribute | Block | Body


def variables(node: Mentioning) -> list[Traversal | Variable]:
    """All free references: what for expressions and template loops bind inside themselves is left out."""
    return [n for n in _mentions(node) if n.__class__ is not Call]  # type: ignore[misc]


def function_calls(node: Mentioning) -> list[Call]:
    """All function calls, the outer before those in its arguments."""
    return [n for n in _mentions(node) if isinstance(n, Call)]


def _mentions(root: Mentioning) -> list[Traversal | Variable | Call]:
    found: list[Traversal | Variable | Call] = []
    # Nodes to visit, last first, each with the names bound around it; no recursion, for trees may be deep.
    stack: list[tuple[object, frozenset[str]]] = [(root, frozenset())]
    while stack:
        node, bound = stack.pop()
        cls = node.__class__
        if cls is tuple:
            stack.extend((item, bound) for item in reversed(node))  # type: ignore[call-overload]
        elif cls is Variable:
            if node.name not in bound:  # type: ignore[attr-defined]
                found.append(node)  # type: ignore[arg-type]
        elif cls is Traversal:
            if node.root not in bound:  # type: ignore[attr-defined]
                found.append(node)  # type: ignore[arg-type]
        elif isinstance(node, For):
            inner = bound | {name for name in (node.key, node.value) if name is not None}
            inside = (node.key_expr, node.value_expr, node.condition)
            stack.extend((item, inner) for item in reversed(inside) if item is not None)
            stack.append((node.collection, bound))
        elif isinstance(node, TemplateFor):
            inner = bound | {name for name in (node.key, node.value) if name is not None}
            stack.append((node.body, inner))
            stack.append((node.collection, bound))
        elif isinstance(node, Attribute):
            try:
                stack.append((node.expr, bound))
            except Failure:  # a malformed template in JSON mentions nothing; evaluating it says what is wrong
                continue
        elif isinstance(node, NativeBody):
            items = [*node.attributes.values(), *node.blocks]
            items.sort(key=lambda item: item.start)
            stack.extend((item, bound) for item in reversed(items))
        elif isinstance(node, Block):
            stack.append((node.body, bound))
        elif isinstance(node, JsonBody):
            attributes, _ = node.just_attributes()
            stack.extend((item, bound) for item in reversed(attributes.values()))
        elif isinstance(node, Node):
            if cls is Call:
                found.append(node)  # type: ignore[arg-type]
            for name in reversed(node.__slots__):
                child = getattr(node, name)
                if child.__class__ is tuple or isinstance(child, Node):
                    stack.append((child, bound))
    return found
