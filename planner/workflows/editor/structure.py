"""Folding ranges, semantic tokens and selection ranges of a configuration file."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from planner.language.syntax.body import Attribute, Block
from planner.language.syntax.nodes import (
    Call,
    For,
    GetAttr,
    Literal,
    Object,
    ObjectItem,
    Template,
    Traversal,
    Tuple,
    Variable,
)
from planner.workflows.editor.symbols import label_range, nodes
from planner.workflows.editor.texts import Json, TextDocument

TOKENS = (
    "keyword",
    "type",
    "variable",
    "property",
    "function",
    "namespace",
    "string",
    "number",
    "enumMember",
    "parameter",
)
MODIFIERS = ("declaration", "readonly")
_NAMESPACES = frozenset(
    ("var", "local", "module", "data", "each", "count", "self", "path", "terraform", "tofu", "ephemeral")
)
_TYPE_WORDS = frozenset(("string", "number", "bool", "any", "list", "set", "map", "object", "tuple", "optional"))
_COMMENTS = re.compile(r"(?:^[ \t]*(?:#|//)[^\n]*\n?){2,}|/\*.*?\*/", re.M | re.S)
_MOST_AROUND = 100
"""maximum number of ranges in a selection, besides the whole document; limited because the response nests the ranges in
each other"""
_MARKS = re.compile(r"[#/]")


def folding(body: Any, document: TextDocument) -> list[Json]:
    """The ranges that can be folded: blocks, objects, lists, `for` expressions, calls, templates and comments that span
    several lines."""
    result: dict[int, Json] = {}

    def add(start: int, end: int, kind: str) -> None:
        first, last = document.position(start)["line"], document.position(max(start, end))["line"]
        if last > first and first not in result:
            result[first] = {"startLine": first, "endLine": last - (kind == "region"), "kind": kind}

    for node in nodes(body):
        if isinstance(node, Block | Object | Tuple | For | Call | Template):
            add(node.start, node.end, "region")
    for match in _COMMENTS.finditer(document.text):
        add(match.start(), len(match[0].rstrip()) + match.start(), "comment")
    return [result[line] for line in sorted(result) if result[line]["endLine"] > line]


def selection(body: Any, document: TextDocument, offset: int) -> Json:
    """The innermost range that contains an offset, with the ranges that enclose it as its parents."""
    around = [(n.start, n.end) for n in nodes(body) if n.start <= offset <= n.end]
    result: Json | None = None
    ranges = sorted({(0, len(document.text)), *around}, key=lambda r: r[0] - r[1])
    for start, end in ranges[:1] + ranges[1:][-_MOST_AROUND:]:
        here: Json = {"range": document.range(start, end)}
        if result is not None:
            here["parent"] = result
        result = here
    assert result is not None
    return result


def semantic_tokens(body: Any, document: TextDocument) -> list[int]:
    """The semantic tokens of a file, encoded as in LSP: five numbers for each token, with its position relative to the
    previous token."""
    hit: dict[tuple[int, int], tuple[int, int]] = {}
    for start, end, kind, modifiers in _tokens(body, document.text):
        if end > start:
            hit.setdefault((start, end), (TOKENS.index(kind), modifiers))
    data: list[int] = []
    line = column = 0
    last = 0
    for (start, end), (kind_number, modifiers) in sorted(hit.items()):
        if start < last or "\n" in document.text[start:end]:
            continue  # tokens neither overlap nor span lines
        last = end
        here, until = document.position(start), document.position(end)
        same = here["line"] == line
        data += [
            here["line"] - line, here["character"] - (column if same else 0),
            until["character"] - here["character"], kind_number, modifiers,
        ]  # fmt: skip
        line, column = here["line"], here["character"]
    return data


def _tokens(body: Any, text: str) -> Iterator[tuple[int, int, str, int]]:
    for node in nodes(body):
        if isinstance(node, Block):
            yield node.start, node.type_end, "keyword", 0
            for number, label in enumerate(node.labels):
                is_type = len(node.labels) > number + 1
                yield *label_range(label, text), "type" if is_type else "variable", 0 if is_type else 1
        elif isinstance(node, Attribute):
            yield node.start, node.name_end, "property", 1
        elif isinstance(node, Call):
            yield node.start, node.name_end, "type" if node.name in _TYPE_WORDS - {"list", "map"} else "function", 0
        elif isinstance(node, Variable):
            yield node.start, node.end, "type" if node.name in _TYPE_WORDS else "variable", 0
        elif isinstance(node, Traversal):
            yield from _traversal(node)
        elif isinstance(node, Literal):
            if isinstance(node.value, bool) or node.value.__class__.__name__ == "Null":
                yield node.start, node.end, "enumMember", 2
            elif not isinstance(node.value, str):
                yield node.start, node.end, "number", 0
            elif text[node.start : node.start + 1] == '"':
                yield node.start, node.end, "string", 0
        elif isinstance(node, ObjectItem) and node.bare:
            yield node.key.start, node.key.end, "property", 0


def _traversal(node: Traversal) -> Iterator[tuple[int, int, str, int]]:
    is_space = node.root in _NAMESPACES
    yield node.start, node.root_end, "namespace" if is_space else "type", 0
    names = [step for step in node.steps if isinstance(step, GetAttr)]
    for number, step in enumerate(names):
        kind = "property"
        if node.root in ("data", "ephemeral") and number == 0:
            kind = "type"
        elif number == (1 if node.root in ("data", "ephemeral") else 0):
            kind = "variable"
        yield step.start + 1, step.end, kind, 0
