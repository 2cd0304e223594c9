"""Syntax trees as short text, for expected results: `(+ 1 (path var.x))`."""

from __future__ import annotations

from typing import Any

from planner.language.syntax import nodes
from planner.language.syntax.body import Attribute, Block, NativeBody


def show(node: Any) -> str:
    """The tree of an expression or body, without offsets."""
    if node is None:
        return "-"
    if isinstance(node, NativeBody):
        items = sorted([*node.attributes.values(), *node.blocks], key=lambda item: item.start)
        return "{" + " ".join(show(item) for item in items) + "}"
    return _SHOW[node.__class__](node)


def _steps(steps: Any) -> str:
    return "".join(f".{s.name}" if isinstance(s, nodes.GetAttr) else f"[{_value(s.key)}]" for s in steps)


def _value(value: Any) -> str:
    if value is True or value is False:
        return str(value).lower()
    if isinstance(value, str):
        return '"' + value.encode("unicode_escape").decode().replace('"', '\\"') + '"'
    if isinstance(value, int):
        return str(value)
    return {"Null": "null", "Unknown": "unknown"}.get(type(value).__name__) or f"{value:.6g}"


def _many(*parts: Any) -> str:
    return "(" + " ".join(p if isinstance(p, str) else show(p) for p in parts) + ")"


def _for(n: nodes.For) -> str:
    names = f"{n.key},{n.value}" if n.key else n.value
    key = [n.key_expr, "=>"] if n.key_expr is not None else []
    condition = ["if", n.condition] if n.condition is not None else []
    return _many("for", names, n.collection, ":", *key, n.value_expr, *(["..."] if n.group else []), *condition)


_SHOW: dict[Any, Any] = {
    nodes.Literal: lambda n: _value(n.value),
    nodes.Variable: lambda n: n.name,
    nodes.Traversal: lambda n: n.root + _steps(n.steps),
    nodes.Relative: lambda n: _many("of", n.source, _steps(n.steps)),
    nodes.Index: lambda n: _many("index", n.collection, n.key),
    nodes.Splat: lambda n: _many(f"{n.kind}-splat", n.source, n.each),
    nodes.Element: lambda n: "each",
    nodes.Template: lambda n: _many("template", *n.parts),
    nodes.Wrap: lambda n: _many("wrap", n.expr),
    nodes.TemplateIf: lambda n: _many("%if", n.condition, n.then, n.otherwise),
    nodes.TemplateFor: lambda n: _many("%for", f"{n.key},{n.value}" if n.key else n.value, n.collection, n.body),
    nodes.Parens: lambda n: _many("parens", n.expr),
    nodes.Unary: lambda n: _many(n.operator, n.operand),
    nodes.Binary: lambda n: _many(n.operator, n.left, n.right),
    nodes.Conditional: lambda n: _many("?", n.condition, n.then, n.otherwise),
    nodes.Call: lambda n: _many(f"call {n.name}", *n.arguments, *(["..."] if n.expand else [])),
    nodes.Tuple: lambda n: "[" + " ".join(map(show, n.items)) + "]",
    nodes.Object: lambda n: "{" + " ".join(map(show, n.items)) + "}",
    nodes.ObjectItem: lambda n: (n.key.value if n.bare else show(n.key)) + "=" + show(n.value),
    nodes.For: _for,
    Attribute: lambda n: f"{n.name}={show(n.expr)}",
    Block: lambda n: " ".join([n.type, *(_value(label.value) for label in n.labels), show(n.body)]),
}
