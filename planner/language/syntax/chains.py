"""Names in an expression, with everything that follows each name: `a.b[count.index].c[*].d` is one chain.

`variables` (planner.language.syntax.body) returns only the constant part of it; finding the value that is meant
requires the rest.
"""

from __future__ import annotations

from typing import Any, TypeAlias

from planner.foundation.vocabulary.records import frozen
from planner.language.syntax.body import PARTS
from planner.language.syntax.nodes import (
    Call,
    Element,
    Expression,
    For,
    Index,
    Parens,
    Relative,
    Splat,
    TemplateFor,
    Traversal,
    Variable,
)

EVERY = "*"
"""in place of a step: every element"""
Suffix: TypeAlias = tuple[Any, ...]
"""steps, index expressions, and EVERY"""


@frozen(eq=False)
class Chain:
    """A name with constant steps, and what follows: steps (`GetAttr`, `GetIndex`), expressions in brackets, EVERY."""

    base: Traversal | Variable
    suffix: Suffix
    start: int
    end: int


def chains(root: Expression) -> tuple[list[Chain], list[Call]]:
    """All chains that are not bound inside the expression, and all function calls, in no particular order."""
    chains_read: list[Chain] = []
    calls: list[Call] = []
    stack: list[tuple[Any, frozenset[str]]] = [(root, frozenset())]
    while stack:
        node, bound = stack.pop()
        cls = node.__class__
        if cls in (Traversal, Variable, Relative, Index, Splat):
            base, suffix, inside = _unrolled(node)
            stack += [(part, bound) for part in inside]
            if isinstance(base, (Traversal, Variable)):
                if (base.root if isinstance(base, Traversal) else base.name) not in bound:
                    chains_read.append(Chain(base, suffix, node.start, node.end))
            else:
                stack.append((base, bound))
        elif cls is tuple:
            stack += [(item, bound) for item in node]
        elif cls is For:
            inner = bound | {name for name in (node.key, node.value) if name is not None}
            stack += [((node.key_expr, node.value_expr, node.condition), inner), (node.collection, bound)]
        elif cls is TemplateFor:
            stack.append((node.body, bound | {name for name in (node.key, node.value) if name is not None}))
            stack.append((node.collection, bound))
        elif cls in PARTS:
            if cls is Call:
                calls.append(node)
            stack += [(getattr(node, name), bound) for name in PARTS[cls]]
    return chains_read, calls


def _unrolled(node: Any) -> tuple[Any, Suffix, list[Any]]:
    """The innermost expression, the steps that follow it, and the expressions inside these steps."""
    suffix: Suffix = ()
    inside: list[Any] = []
    while True:
        cls = node.__class__
        if cls is Relative:
            node, suffix = node.source, (*node.steps, *suffix)
        elif cls is Index:
            inside.append(node.key)
            node, suffix = node.collection, (node.key, *suffix)
        elif cls is Splat:
            each: Any = node.each
            if each.__class__ is Relative and each.source.__class__ is Element:
                suffix = (EVERY, *each.steps, *suffix)
            else:
                if each.__class__ is not Element:
                    inside.append(each)
                    suffix = ()
                suffix = (EVERY, *suffix)
            node = node.source
        elif cls is Parens and suffix:
            node = node.expr
        else:
            return node, suffix, inside
