"""Converts JSON files to the form of native syntax, so that the editor can treat both syntaxes in the same way. A
property whose name is a block type becomes a block."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator

from planner.foundation.vocabulary.diagnostic import Failure
from planner.language.syntax.body import Attribute, Block, Body, BodySchema, ExpectedBlock, NativeBody
from planner.language.syntax.json_body import OFFSETS, JsonAttribute, JsonBody
from planner.language.syntax.json_reader import JsonArray, JsonObject, JsonText, JsonValue
from planner.language.syntax.nodes import SyntaxNode

_ESCAPE = re.compile(r"\\(?:u[0-9a-fA-F]{4}|.)", re.S)

_IN_RESOURCE = (("lifecycle", ()), ("provisioner", ("type",)), ("connection", ()), ("dynamic", ("type",)))
_INSIDE: dict[str, tuple[tuple[str, tuple[str, ...]], ...]] = {
    **dict.fromkeys(("resource", "data", "ephemeral"), _IN_RESOURCE),
    "terraform": (("required_providers", ()), ("backend", ("type",)), ("cloud", ()), ("encryption", ())),
    "variable": (("validation", ()),),
    "output": (("precondition", ()),),
    "lifecycle": (("precondition", ()), ("postcondition", ())),
    "dynamic": (("content", ()),),
    "check": (("assert", ()), ("data", ("type", "name"))),
    "run": (("variables", ()), ("module", ()), ("assert", ()), ("plan_options", ())),
    "removed": (("lifecycle", ()),),
}
"""{block type: its inner blocks, as (type, names of labels)}; blocks that provider schemas define are treated as
arguments"""


def native_view(body: Body, schema: BodySchema) -> Body:
    """The body in the form of native syntax, without invalid properties. A body in native syntax is returned
    unchanged."""
    if not isinstance(body, JsonBody):
        return body
    content, rest = body.partial_content(schema)
    attributes = {name: one for name, one in rest.just_attributes()[0].items() if _is_readable(one)}
    blocks = [_block(one) for one in content.blocks]
    return NativeBody(attributes, blocks, body.source, body.value.start, body.value.end)


def _block(block: Block) -> Block:
    """The block in the form of native syntax. Its range starts at its last label, because other blocks may share the
    names before it."""
    inside = _INSIDE.get(block.type, ())
    schema = BodySchema({}, tuple(ExpectedBlock(name, labels) for name, labels in inside))
    start = block.labels[-1].start if block.labels else block.start
    type_end = block.type_end if start == block.start else start
    inner = native_view(block.body, schema)
    return Block(block.type, type_end, block.labels, block.header_end, inner, block.source, start, block.end)


def _is_readable(attribute: Attribute) -> bool:
    """Whether the templates in a value are valid. If so, also correct the offsets in the value's expression, which
    count each JSON escape sequence as one character."""
    try:
        expression = attribute.expr
    except Failure:
        return False
    if isinstance(attribute, JsonAttribute):
        for start, end, escapes in _escaped(attribute.value, attribute.source.text):
            _move(expression, start, end, escapes)
    return True


def _escaped(value: JsonValue, text: str) -> Iterator[tuple[int, int, list[tuple[int, int]]]]:
    """The strings that contain JSON escape sequences, as (start, end, escapes). An escape is (offset, extra): its
    offset if each earlier escape counts as one character, and the number of additional characters in this and all
    earlier escapes."""
    if isinstance(value, JsonArray):
        for item in value.items:
            yield from _escaped(item, text)
    elif isinstance(value, JsonObject):
        for name, item in value.members:
            yield from (one for part in (name, item) for one in _escaped(part, text))
    elif isinstance(value, JsonText) and "\\" in text[value.start : value.end]:
        escapes, extra = [], 0
        for match in _ESCAPE.finditer(text, value.start, value.end):
            at = match.start() - extra
            extra += len(match[0]) - 1
            escapes.append((at, extra))
        yield value.start, value.end, escapes


def _extra(at: int, escapes: list[tuple[int, int]]) -> int:
    """The number of additional characters in the escapes before an offset."""
    index = bisect_right(escapes, (at - 1, 1 << 60)) - 1
    return escapes[index][1] if index >= 0 else 0


def _move(node: SyntaxNode, start: int, end: int, escapes: list[tuple[int, int]]) -> None:
    """Correct the offsets of the syntax nodes inside a string, so that escapes count with all their characters."""
    stack: list[object] = [node]
    while stack:
        item = stack.pop()
        if isinstance(item, SyntaxNode):
            is_moved = start < item.start and item.end < end
            for name in item.__slots__:
                value = getattr(item, name)
                if name not in OFFSETS:
                    stack.append(value)
                elif is_moved:
                    setattr(item, name, value + _extra(value, escapes))
            if is_moved:
                item.start, item.end = (at + _extra(at, escapes) for at in (item.start, item.end))
        elif item.__class__ is tuple:
            stack.extend(item)
