"""`autoinclude` blocks of stacks: configuration that is written next to a unit's file, and takes precedence over that.

Values known to the stack's file (local values, values, paths of units, Terragrunt's functions) are written literally;
those made from outputs stay expressions for the unit.
"""

from __future__ import annotations

import os

from planner.foundation.values.expression_text import expression_text
from planner.foundation.values.value import Value, unmark_deep
from planner.foundation.vocabulary.address import quote
from planner.foundation.vocabulary.diagnostic import Failure, error
from planner.language.config.model import Expr
from planner.language.syntax.body import function_calls, variables
from planner.language.syntax.nodes import Call, Traversal, Variable
from planner.workflows.batch.terragrunt.document import DocumentBlock
from planner.workflows.batch.terragrunt.frame import Frame
from planner.workflows.batch.terragrunt.functions import NAMES
from planner.workflows.batch.terragrunt.generated import signed

_KNOWN = ("local", "values", "unit", "stack", "feature")


def autoinclude_text(frame: Frame, part: DocumentBlock, target: str) -> str:
    """The file for a block, evaluated in the stack's file, for the unit in the directory `target`. Raises Failure."""
    if part.blocks.get("locals") or part.blocks.get("include"):
        kind = "locals" if part.blocks.get("locals") else "include"
        where = part.blocks[kind][0].header
        detail = f"{kind} is not allowed in autoinclude: write it into the stack's file."
        raise Failure(error("terragrunt.autoinclude", "Block not allowed here", detail, where))
    return signed("\n".join(_lines(frame, part, target, "", "")) + "\n")


def _lines(frame: Frame, part: DocumentBlock, target: str, kind: str, indent: str) -> list[str]:
    lines = []
    for name, expr in part.attributes.items():
        text = _path(frame, expr, target) if (kind, name) == ("dependency", "config_path") else _text(frame, expr)
        lines.append(f"{indent}{name} = {text}")
    for inner, parts in part.blocks.items():
        for one in parts:
            label = f" {quote(one.label)}" if one.label else ""
            lines += [f"{indent}{inner}{label} {{", *_lines(frame, one, target, inner, f"{indent}  "), f"{indent}}}"]
    return lines


def _path(frame: Frame, expr: Expr, target: str) -> str:
    path = frame.text(expr)
    return quote(os.path.relpath(path, target) if os.path.isabs(path) else path)


def _text(frame: Frame, expr: Expr) -> str:
    """An expression with all that is known in the stack's file filled in."""
    result = variables(expr.node)
    if not any(_root(node) == "dependency" for node in result):
        return _value(frame, expr)
    places: list[tuple[int, int, Traversal | Variable | Call]] = []
    places += [(node.start, node.end, node) for node in result if _root(node) in _KNOWN]
    for call in function_calls(expr.node):
        if call.name in NAMES and not any(_root(node) == "dependency" for node in variables(call)):
            places.append((call.start, call.end, call))
    text, at = "", expr.span.start
    for start, end, node in sorted(places, key=lambda place: (place[0], -place[1])):
        if start >= at:
            text += expr.source.text[at:start] + _value(frame, Expr(node, expr.source))
            at = end
    return text + expr.source.text[at : expr.span.end]


def _value(frame: Frame, expr: Expr) -> str:
    value: Value = unmark_deep(frame.evaluate(expr))[0]
    try:
        return expression_text(value)
    except ValueError as problem:
        raise Failure(error("terragrunt.autoinclude", "Value is not known", f"{problem}.", expr.span)) from None


def _root(node: Traversal | Variable | Call) -> str:
    return node.name if isinstance(node, Variable | Call) else node.root
