"""Bodies in JSON syntax: the schema decides which properties are arguments and which hold blocks.

A block's labels are the names of nested objects; several blocks of one kind stand in an array. An array of objects may
stand for one object with all their properties. Properties named `//` in a body are comments.
"""

from __future__ import annotations

from typing import Any

from planner.foundation.vocabulary.diagnostic import Diagnostic, error
from planner.foundation.vocabulary.nearest import did_you_mean
from planner.foundation.vocabulary.span import Source, Span
from planner.language.syntax.body import Attribute, Block, BodySchema, Content, Label
from planner.language.syntax.json_expression import to_expression
from planner.language.syntax.json_reader import read_json
from planner.language.syntax.json_values import JsonArray, JsonAtom, JsonObject, JsonText, JsonValue
from planner.language.syntax.native_body import missing_argument
from planner.language.syntax.nodes import Expression

_COMMENT = "//"


class JsonAttribute(Attribute):
    """An argument in JSON; its expression is made when somebody asks."""

    __slots__ = ("_expr", "_literal", "value")
    is_json = True

    def __init__(self, name: JsonText, value: JsonValue, source: Source) -> None:
        self.name = name.text
        self.start, self.name_end, self.end = name.start, name.end, value.end
        self.source = source
        self.value = value
        self._expr: Expression | None = None
        self._literal: Expression | None = None

    def __reduce__(self) -> tuple[Any, ...]:
        return (JsonAttribute, (JsonText(self.name, self.start, self.name_end), self.value, self.source))

    @property
    def expr(self) -> Expression:  # type: ignore[override]
        if self._expr is None:
            self._expr = to_expression(self.value, self.source, True)
        return self._expr

    @property
    def literal(self) -> Expression:
        if self._literal is None:
            self._literal = to_expression(self.value, self.source, False)
        return self._literal

    @property
    def expr_span(self) -> Span:
        return Span(self.source, self.value.start, self.value.end)


class JsonBlock(Block):
    """A block in JSON; messages about it point at the bracket or brace that opens it."""

    __slots__ = ("opening",)

    def __init__(
        self, name: JsonText, labels: tuple[Label, ...], value: JsonValue, opening: int, source: Source
    ) -> None:
        super().__init__(
            name.text, name.end, labels, opening + 1, JsonBody(value, source), source, name.start, value.end
        )
        self.opening = opening

    @property
    def header_span(self) -> Span:
        return Span(self.source, self.opening, self.opening + 1)


class JsonBody:
    """A JSON value read as a body. `taken` names the properties that a partial reading already took."""

    __slots__ = ("source", "taken", "value")

    def __init__(self, value: JsonValue, source: Source, taken: frozenset[str] = frozenset()) -> None:
        self.value = value
        self.source = source
        self.taken = taken

    def __reduce__(self) -> tuple[Any, ...]:
        return (JsonBody, (self.value, self.source, self.taken))

    @property
    def missing_span(self) -> Span:
        value = self.value
        if isinstance(value, JsonObject):
            return Span(self.source, value.end - 1, value.end)
        return Span(self.source, value.start, _first_end(value))

    def content(self, schema: BodySchema) -> Content:
        content, rest = self.partial_content(schema)
        known = [n for n in schema.attributes if n not in content.attributes] + [b.type for b in schema.blocks]
        members, _ = self._members(self.value, None)
        for name, _ in members:
            if name.text != _COMMENT and name.text not in rest.taken:
                hint = did_you_mean(name.text, known)
                detail = f'No argument or block type is named "{name.text}" here.{hint}'
                content.diagnostics.append(
                    error("json.unsupported_property", "Unsupported property", detail, self._span(name))
                )
        return content

    def partial_content(self, schema: BodySchema) -> tuple[Content, JsonBody]:
        members, diagnostics = self._members(self.value, None)
        attributes: dict[str, Attribute] = {}
        blocks: list[Block] = []
        labels = {block.type: block.labels for block in schema.blocks}
        taken = set(self.taken)
        for name, value in members:
            text = name.text
            if text in self.taken:
                continue
            if text in schema.attributes:
                if text in attributes:
                    diagnostics.append(self._twice(name, attributes[text]))
                else:
                    attributes[text] = JsonAttribute(name, value, self.source)
                    taken.add(text)
            elif text in labels:
                self._blocks(name, value, labels[text], (), blocks, diagnostics)
                taken.add(text)
        for text, required in schema.attributes.items():
            if required and text not in attributes:
                diagnostics.append(missing_argument(text, self.missing_span))
        return Content(attributes, blocks, diagnostics), JsonBody(self.value, self.source, frozenset(taken))

    def just_attributes(self) -> tuple[dict[str, Attribute], list[Diagnostic]]:
        attributes: dict[str, Attribute] = {}
        diagnostics: list[Diagnostic] = []
        if not isinstance(self.value, JsonObject):
            diagnostics.append(self._wrong_type(self.value, "a JSON object with the arguments of this block"))
            return attributes, diagnostics
        for name, value in self.value.members:
            if name.text == _COMMENT or name.text in self.taken:
                continue
            if name.text in attributes:
                diagnostics.append(self._twice(name, attributes[name.text]))
            else:
                attributes[name.text] = JsonAttribute(name, value, self.source)
        return attributes, diagnostics

    # ------------------------------------------------------------

    def _members(
        self, value: JsonValue, label: str | None
    ) -> tuple[list[tuple[JsonText, JsonValue]], list[Diagnostic]]:
        """The properties of an object, or of all objects in an array; none of null. `label` is what their names say."""
        what = f"to say the {label}" if label else "with arguments and blocks"
        if isinstance(value, JsonObject):
            return value.members, []
        if isinstance(value, JsonArray):
            members: list[tuple[JsonText, JsonValue]] = []
            diagnostics = []
            for item in value.items:
                if isinstance(item, JsonObject):
                    members += item.members
                else:
                    diagnostics.append(self._wrong_type(item, f"a JSON object {what}"))
            return members, diagnostics
        if isinstance(value, JsonAtom) and value.value is None:
            return [], []
        return [], [self._wrong_type(value, f"a JSON object or an array of objects {what}")]

    def _blocks(
        self,
        name: JsonText,
        value: JsonValue,
        wanted: tuple[str, ...],
        labels: tuple[Label, ...],
        blocks: list[Block],
        diagnostics: list[Diagnostic],
    ) -> None:
        """Add the blocks that a property holds: names of nested objects are labels until `wanted` is used up."""
        if wanted:
            members, more = self._members(value, wanted[0])
            diagnostics += more
            if not members:
                detail = f"The {wanted[0]} of a {name.text} block is the name of a property, and there is none here."
                span = Span(self.source, value.start, _first_end(value))
                diagnostics.append(error("json.missing_label", "Missing block label", detail, span))
            for label, inner in members:
                labelled = (*labels, Label(label.text, label.start, label.end))
                self._blocks(name, inner, wanted[1:], labelled, blocks, diagnostics)
        elif isinstance(value, JsonObject):
            blocks.append(JsonBlock(name, labels, value, value.start, self.source))
        elif isinstance(value, JsonArray):
            blocks += [JsonBlock(name, labels, item, value.start, self.source) for item in value.items]
        elif not (isinstance(value, JsonAtom) and value.value is None):
            wrong = f"a JSON object or array with the content of {name.text} blocks"
            diagnostics.append(self._wrong_type(value, wrong))

    def _wrong_type(self, value: JsonValue, wanted: str) -> Diagnostic:
        span = Span(self.source, value.start, _first_end(value))
        return error("json.wrong_type", "Wrong type of JSON value", f"Here must stand {wanted}.", span)

    def _twice(self, name: JsonText, first: Attribute) -> Diagnostic:
        line = self.source.line_number(first.start)
        detail = f'The argument "{name.text}" was already set on line {line}. Keep one of the two.'
        return error("syntax.argument_redefined", "Argument set twice", detail, self._span(name))

    def _span(self, name: JsonText) -> Span:
        return Span(self.source, name.start, name.end)


def parse_json(source: Source) -> tuple[JsonBody | None, list[Diagnostic]]:
    """A configuration or variables file in JSON syntax; None when it is neither an object nor an array of objects. One
    that is not well-formed may be read in part."""
    value, diagnostics = read_json(source)
    if value is None:
        return None, diagnostics
    if not isinstance(value, JsonObject | JsonArray):
        span = Span(source, value.start, value.end)
        detail = "The file must hold one JSON object, or an array of objects."
        return None, [error("json.root", "Not a JSON object", detail, span)]
    return JsonBody(value, source), diagnostics


def _first_end(value: JsonValue) -> int:
    """The end of a value's first token, which messages point at."""
    return value.start + 1 if isinstance(value, JsonObject | JsonArray) else value.end
