"""Finds the context of an offset in a JSON configuration file that is being edited. The result has the same form as in
cursor.py. Only the text before the offset is read, so the text after it may be invalid."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence

from planner.workflows.editor.cursor import BlockHeader, Place, path_before

_TOKEN = re.compile(r'"(?:[^"\\]|\\.)*("?)|[{}\[\],:]', re.S)
_EXPRESSIONS = frozenset(
    ("provider", "providers", "depends_on", "type", "ignore_changes", "replace_triggered_by", "from", "to")
)
"""arguments whose strings are expressions without `${`"""

LabelCount = Callable[[Iterable[BlockHeader], str], "int | None"]
"""a function that returns the number of labels of a block, given the enclosing blocks and its name; None for an
argument"""


class _Bracket:
    """An open bracket. `before`: the property name before it. `names`: the property names in it so far. `name`: the
    last of them, if its value is not complete."""

    def __init__(self, is_object: bool, before: str = "") -> None:
        self.is_object, self.before = is_object, before
        self.name: str | None = None
        self.names: list[str] = []


def place_in_json(text: str, offset: int, top: dict[str, int], label_count: LabelCount) -> Place:
    """The context of an offset. An offset outside of strings has the kind "comment", because nothing can be completed
    there. `top`: {top-level block type: number of labels}."""
    stack = [_Bracket(False)]
    last, inside = "", None
    for match in _TOKEN.finditer(text[:offset]):
        token, here = match[0], stack[-1]
        if token[0] == '"':
            if not match[1] or len(token) == 1:
                inside = token[1:]
            last = token[1:-1]
        elif token in "{[":
            stack.append(_Bracket(token == "{", here.name or ""))
        elif token in "}]":
            stack = stack[:-1] or [_Bracket(False)]
        elif token == ":":
            here.name = last
            here.names.append(last)
        else:
            here.name = None
    if inside is None:
        return Place("comment")
    here = stack[-1]
    path = [one.before for one in stack if one.before]
    is_key = here.is_object and here.name is None
    if not is_key and here.name is not None:
        path.append(here.name)
    return _place(path, is_key, inside, frozenset(here.names), top, label_count)


def _place(
    path: Sequence[str], is_key: bool, typed: str, given: frozenset[str], top: dict[str, int], label_count: LabelCount
) -> Place:
    blocks: list[BlockHeader] = []
    attribute, keys = "", tuple[str, ...]()
    rest = list(path)
    while rest:
        name = rest.pop(0)
        labels = label_count(blocks, name) if blocks else top.get(name)
        if labels is None:
            attribute, keys = name, tuple(rest)
            break
        if len(rest) < labels:
            return Place("label", tuple(blocks), head=(name, *rest), typed=typed) if is_key else Place("text")
        blocks.append(BlockHeader(name, tuple(rest[:labels])))
        del rest[:labels]
    if is_key and not attribute:
        return Place("body", tuple(blocks), typed=typed, given=given)
    if is_key:
        return Place("value", tuple(blocks), attribute, keys, True, head=(attribute,), typed=typed)
    expression = typed if attribute in _EXPRESSIONS else _interpolation(typed)
    if expression is None:
        return Place("text", tuple(blocks), attribute)
    steps, name = path_before(expression)
    return Place("value", tuple(blocks), attribute, keys, head=(attribute,), path=steps, typed=name)


def _interpolation(text: str) -> str | None:
    """The text after the last unclosed `${` or `%{`; None if there is none."""
    start = max(text.rfind("${"), text.rfind("%{"))
    if start < 0 or text[:start].endswith(text[start]) or text.count("}", start) >= text.count("{", start):
        return None
    return text[start + 2 :]
