"""JSON values as expressions: strings are templates, or verbatim where templates have no meaning."""

from __future__ import annotations

from planner.foundation.values.value import NULL, Value, number_from_text
from planner.foundation.vocabulary.diagnostic import Failure, error
from planner.foundation.vocabulary.span import Source, Span
from planner.language.syntax.json_values import JsonArray, JsonAtom, JsonText, JsonValue
from planner.language.syntax.literals import normal
from planner.language.syntax.nodes import Expression, Literal, Object, ObjectItem, SyntaxNode, Tuple
from planner.language.syntax.parse import parse_template

# The slots of nodes that hold offsets, besides start and end.
_OFFSETS = frozenset(
    ("root_end", "bracket", "marker_start", "marker_end", "name_end", "open", "close", "open_end", "close_start")
)


def to_expression(value: JsonValue, source: Source, templates: bool) -> Expression:
    """The expression that a JSON value stands for. With `templates` strings are parsed, and a mistake in one raises
    Failure; so do an object with a name twice, and a number beyond all that there are."""
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
        detail = f"{text if len(text) < 50 else text[:47] + '...'} is beyond all numbers."
        raise Failure(error("json.number", "Invalid JSON number", detail, Span(source, atom.start, atom.end))) from None


def _string(string: JsonText, source: Source, templates: bool) -> Expression:
    text = string.text
    if not templates or ("${" not in text and "%{" not in text):
        return Literal(normal(text), string.start, string.end)
    return _template(string, source, text)


def _template(string: JsonText, source: Source, text: str) -> Expression:
    # Positions inside count from the opening quote as if no escape stood before them: OpenTofu does the same.
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
    """Move a fresh tree: add a number to all its offsets."""
    stack: list[object] = [node]
    while stack:
        item = stack.pop()
        if isinstance(item, SyntaxNode):
            item.start += by
            item.end += by
            for name in item.__slots__:
                value = getattr(item, name)
                if name in _OFFSETS:
                    setattr(item, name, value + by)
                else:
                    stack.append(value)
        elif item.__class__ is tuple:
            stack.extend(item)
