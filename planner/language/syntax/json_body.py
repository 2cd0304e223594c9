"""Bodies in JSON syntax: the schema determines which properties are arguments and which are blocks.

Labels of a block are the names of nested objects; several blocks of one type are an array. An array of objects is
equivalent to one object with all their properties. Properties named `//` are comments."""

from __future__ import annotations

from typing import Any

from planner.foundation.values.value import NULL, Value, number_from_text
from planner.foundation.vocabulary.diagnostic import Diagnostic, Failure, error
from planner.foundation.vocabulary.nearest import did_you_mean
from planner.foundation.vocabulary.span import Source, Span
from planner.language.syntax.body import Attribute, Block, BodySchema, Content, Label, missing_argument
from planner.language.syntax.json_reader import JsonArray, JsonAtom, JsonObject, JsonText, JsonValue, read_json
from planner.language.syntax.literals import normal
from planner.language.syntax.nodes import Expression, Literal, Object, ObjectItem, SyntaxNode, Tuple
from planner.language.syntax.parse import parse_template

_COMMENT = "//"


class JsonAttribute(Attribute):
    """An argument in JSON. Its expression is created on first use."""

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
    """A block in JSON. Messages refer to its opening bracket or brace."""

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
    """A JSON value read as a body. `taken`: properties that an earlier partial reading has returned."""

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
        """The properties (name, value) of an object, or of all objects in an array, and the problems; null has no
        properties. `label`: the block label that the names represent, for messages; None if they are names of arguments
        and blocks."""
        what = f"with the {label}" if label else "with arguments and blocks"
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
        """Add the blocks in a property to `blocks`. The names of nested objects are labels, until there is a label for
        each name in `wanted`."""
        if wanted:
            members, more = self._members(value, wanted[0])
            diagnostics += more
            if not members:
                detail = (
                    f"The {wanted[0]} of a {name.text} block is written as the name of a property, but there is no "
                    "property here."
                )
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
        return error("json.wrong_type", "Wrong type of JSON value", f"Expected {wanted}.", span)

    def _twice(self, name: JsonText, first: Attribute) -> Diagnostic:
        line = self.source.line_number(first.start)
        detail = f'The argument "{name.text}" was already set on line {line}. Keep one of the two.'
        return error("syntax.argument_redefined", "Argument set twice", detail, self._span(name))

    def _span(self, name: JsonText) -> Span:
        return Span(self.source, name.start, name.end)


def parse_json(source: Source) -> tuple[JsonBody | None, list[Diagnostic]]:
    """A configuration or variables file in JSON syntax; None if it is neither an object nor an array, or if its end was
    not found. For a malformed file, the result contains only the readable part."""
    value, diagnostics = read_json(source)
    if value is None:
        return None, diagnostics
    if not isinstance(value, JsonObject | JsonArray):
        span = Span(source, value.start, value.end)
        detail = "The file must contain one JSON object, or an array of objects."
        return None, [error("json.root", "Not a JSON object", detail, span)]
    return JsonBody(value, source), diagnostics


def _first_end(value: JsonValue) -> int:
    return value.start + 1 if isinstance(value, JsonObject | JsonArray) else value.end


# JSON values as expressions.


# Slots of nodes that contain offsets, besides start and end.
OFFSETS = frozenset(
    ("root_end", "bracket", "marker_start", "marker_end", "name_end", "open", "close", "open_end", "close_start")
)


def to_expression(value: JsonValue, source: Source, templates: bool) -> Expression:
    """The expression that a JSON value denotes. With `templates`, strings are parsed as templates. Raises Failure
    for a mistake in a template, a repeated name in an object, and a number outside the supported range."""
    if value.__class__ is JsonText:
        return _string(value, source, templates)
    if value.__class__ is JsonAtom:
        atom = value.value
        content = NULL if atom is None else _number(atom, value, source) if isinstance(atom, str) else atom
        return Literal(content, value.start, value.end)
    if isinstance(value, JsonArray):
        return Tuple(tuple(to_expression(v, source, templates) for v in value.items), value.start, value.end)
    items = []
    names: dict[str, JsonText] = {}
    for name, member in value.members:  # type: ignore[union-attr]
        key = _string(name, source, templates)
        if isinstance(key, Literal) and names.setdefault(key.value, name) is not name:
            line = source.line_number(names[key.value].start)
            detail = f'The object already has an attribute "{key.value}", on line {line}. Keep one of the two.'
            span = Span(source, name.start, name.end)
            raise Failure(error("json.duplicate_attribute", "Attribute set twice", detail, span))
        content = to_expression(member, source, templates)
        items.append(ObjectItem(key, False, content, key.start, content.end))
    return Object(tuple(items), value.start, value.end)


def _number(text: str, atom: JsonAtom, source: Source) -> Value:
    try:
        return number_from_text(text)
    except ValueError:
        detail = f"{text if len(text) < 50 else text[:47] + '...'} is too large for a number."
        raise Failure(error("json.number", "Invalid JSON number", detail, Span(source, atom.start, atom.end))) from None


def _string(string: JsonText, source: Source, templates: bool) -> Expression:
    text = string.text
    if not templates or ("${" not in text and "%{" not in text):
        return Literal(normal(text), string.start, string.end)
    return _template(string, source, text)


def _template(string: JsonText, source: Source, text: str) -> Expression:
    # as in OpenTofu, positions inside a string are counted from the opening quote as if there were no escapes
    inside = string.start + 1
    expression, diagnostics = parse_template(Source(source.filename, text))
    if expression is None:
        raise Failure(
            error(d.code, d.summary, d.detail, Span(source, d.subject.start + inside, d.subject.end + inside))
            for d in diagnostics
            if d.subject is not None
        )
    shift(expression, inside)
    expression.start, expression.end = string.start, string.end
    return expression


def shift(node: SyntaxNode, by: int) -> None:
    """Add a number to all offsets of a newly parsed tree."""
    stack: list[object] = [node]
    while stack:
        item = stack.pop()
        if isinstance(item, SyntaxNode):
            item.start += by
            item.end += by
            for name in item.__slots__:
                value = getattr(item, name)
                if name in OFFSETS:
                    setattr(item, name, value + by)
                else:
                    stack.append(value)
        elif item.__class__ is tuple:
            stack.extend(item)
