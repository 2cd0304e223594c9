"""Finds names in an expression with all steps and indexes after them: `a.b[count.index].c[*].d` is one chain.

`variables` (planner.language.syntax.body) returns only the constant part of a chain."""

from __future__ import annotations

from typing import Any, TypeAlias

from planner.foundation.vocabulary.records import frozen
from planner.language.syntax import nodes
from planner.language.syntax.body import PARTS

EVERY = "*"  # a step into every element (a splat)
Suffix: TypeAlias = tuple[Any, ...]  # steps, index expressions, and EVERY


@frozen(eq=False)
class Chain:
    """A name with constant steps (`base`), and the parts after them: steps (`GetAttr`, `GetIndex`), index expressions,
    and EVERY for a splat."""

    base: nodes.Traversal | nodes.Variable
    suffix: Suffix
    start: int
    end: int


def chains(root: nodes.Expression) -> tuple[list[Chain], list[nodes.Call]]:
    """All chains whose names are not bound inside the expression, and all function calls, in no particular order."""
    chains_read: list[Chain] = []
    calls: list[nodes.Call] = []
    stack: list[tuple[Any, frozenset[str]]] = [(root, frozenset())]
    while stack:
        node, bound = stack.pop()
        cls = node.__class__
        if cls in (nodes.Traversal, nodes.Variable, nodes.Relative, nodes.Index, nodes.Splat):
            base, suffix, inside = _unroll(node)
            stack += [(part, bound) for part in inside]
            if isinstance(base, (nodes.Traversal, nodes.Variable)):
                if (base.root if isinstance(base, nodes.Traversal) else base.name) not in bound:
                    chains_read.append(Chain(base, suffix, node.start, node.end))
            else:
                stack.append((base, bound))
        elif cls is tuple:
            stack += [(item, bound) for item in node]
        elif cls is nodes.For:
            inner = bound | {name for name in (node.key, node.value) if name is not None}
            stack += [((node.key_expr, node.value_expr, node.condition), inner), (node.collection, bound)]
        elif cls is nodes.TemplateFor:
            stack.append((node.body, bound | {name for name in (node.key, node.value) if name is not None}))
            stack.append((node.collection, bound))
        elif cls in PARTS:
            if cls is nodes.Call:
                calls.append(node)
            stack += [(getattr(node, name), bound) for name in PARTS[cls]]
    return chains_read, calls


def _unroll(node: Any) -> tuple[Any, Suffix, list[Any]]:
    """The innermost expression, the steps after it, and the expressions inside these steps."""
    suffix: Suffix = ()
    inside: list[Any] = []
    while True:
        cls = node.__class__
        if cls is nodes.Relative:
            node, suffix = node.source, (*node.steps, *suffix)
        elif cls is nodes.Index:
            inside.append(node.key)
            node, suffix = node.collection, (node.key, *suffix)
        elif cls is nodes.Splat:
            each: Any = node.each
            if each.__class__ is nodes.Relative and each.source.__class__ is nodes.Element:
                suffix = (EVERY, *each.steps, *suffix)
            else:
                if each.__class__ is not nodes.Element:
                    inside.append(each)
                    suffix = ()
                suffix = (EVERY, *suffix)
            node = node.source
        elif cls is nodes.Parens and suffix:
            node = node.expr
        else:
            return node, suffix, inside
