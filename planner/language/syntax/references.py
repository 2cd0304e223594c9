"""The names and functions that expressions and bodies mention, in source order."""

from __future__ import annotations

from typing import Any, TypeAlias

from planner.foundation.vocabulary.diagnostic import Failure
from planner.language.syntax.body import Attribute, Block, Body, NativeBody
from planner.language.syntax.nodes import (
    Binary,
    Call,
    Conditional,
    Expression,
    For,
    Index,
    Object,
    ObjectItem,
    Parens,
    Relative,
    Splat,
    Template,
    TemplateFor,
    TemplateIf,
    Traversal,
    Tuple,
    Unary,
    Variable,
    Wrap,
)

Mentioning: TypeAlias = Expression | Attribute | Block | Body

# Where the parts of a node stand, last first. What is missing here has none, or is handled below.
PARTS: dict[Any, tuple[str, ...]] = {
    Relative: ("source",),
    Index: ("key", "collection"),
    Splat: ("each", "source"),
    Template: ("parts",),
    Wrap: ("expr",),
    TemplateIf: ("otherwise", "then", "condition"),
    Parens: ("expr",),
    Unary: ("operand",),
    Binary: ("right", "left"),
    Conditional: ("otherwise", "then", "condition"),
    Call: ("arguments",),
    Tuple: ("items",),
    Object: ("items",),
    ObjectItem: ("value", "key"),
    Block: ("body",),
}


def variables(node: Mentioning) -> list[Traversal | Variable]:
    """All free references: what for expressions and template loops bind inside themselves is left out."""
    return [n for n in _mentions(node) if n.__class__ is not Call]


def references(node: Mentioning) -> list[Traversal | Variable | Call]:
    """All free references, and the calls of functions that belong to a provider."""
    return [n for n in _mentions(node) if n.__class__ is not Call or n.name.startswith("provider::")]


def function_calls(node: Mentioning) -> list[Call]:
    """All function calls, the outer before those in its arguments."""
    return [n for n in _mentions(node) if n.__class__ is Call]


def _mentions(root: Any) -> list[Any]:
    mentions: list[Any] = []
    # What to visit, last first, each with the names bound around it; no recursion, for trees may be deep.
    stack: list[tuple[Any, frozenset[str]]] = [(root, frozenset())]
    push, pop = stack.append, stack.pop
    while stack:
        node, bound = pop()
        cls = node.__class__
        if cls is Traversal:
            if node.root not in bound:
                mentions.append(node)
        elif cls is tuple:
            for item in reversed(node):
                push((item, bound))
        elif cls in PARTS:
            if cls is Call:
                mentions.append(node)
            for name in PARTS[cls]:
                push((getattr(node, name), bound))
        elif cls is Variable:
            if node.name not in bound:
                mentions.append(node)
        elif cls is For:
            inner = bound | {name for name in (node.key, node.value) if name is not None}
            push(((node.key_expr, node.value_expr, node.condition), inner))
            push((node.collection, bound))
        elif cls is TemplateFor:
            push((node.body, bound | {name for name in (node.key, node.value) if name is not None}))
            push((node.collection, bound))
        elif isinstance(node, Attribute):
            try:
                push((node.expr, bound))
            except Failure:  # a malformed template in JSON mentions nothing; evaluating it says what is wrong
                continue
        elif cls is NativeBody:
            items = [*node.attributes.values(), *node.blocks]
            items.sort(key=lambda item: item.start)
            push((tuple(items), bound))
        elif isinstance(node, Block):
            push((node.body, bound))
        elif hasattr(node, "just_attributes"):  # JSON: whatever it means, its expressions are all there is
            push((tuple(node.just_attributes()[0].values()), bound))
    return mentions
