"""Reads meta-arguments: constants, references, keywords and lists are taken from the syntax; other expressions remain
unevaluated.

In JSON syntax, references and unevaluated expressions are strings."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from typing import Any

from planner.foundation.values.convert import ConversionError, convert
from planner.foundation.values.types import PRIMITIVES, ListType, MapType, ObjectType, SetType, TupleType, Type
from planner.foundation.values.value import UNKNOWN, Unknown, Value, is_null
from planner.foundation.vocabulary.address import AddressError, TraversalStep, scan_traversal
from planner.foundation.vocabulary.diagnostic import Diagnostic, Failure, error, has_errors, warning
from planner.foundation.vocabulary.nearest import did_you_mean
from planner.foundation.vocabulary.records import evolve, frozen
from planner.foundation.vocabulary.span import Source, Span
from planner.language.config.model import Expr, Reference
from planner.language.expressions.environment import start_range
from planner.language.expressions.scope import ConstantScope
from planner.language.syntax import nodes
from planner.language.syntax.body import Attribute, Body, BodySchema, Content, function_calls, variables
from planner.language.syntax.nodes import Expression

BAD_NAME = (
    "A name must start with a letter or underscore and may contain only letters, digits, underscores, and dashes."
)


class Problems(list[Diagnostic]):
    """Diagnostics in the order in which they were found."""

    def error(self, code: str, summary: str, detail: str, subject: Span | None = None, **more: Any) -> None:
        self.append(error(f"config.{code}", summary, detail, subject, **more))

    def warning(self, code: str, summary: str, detail: str, subject: Span | None = None, **more: Any) -> None:
        self.append(warning(f"config.{code}", summary, detail, subject, **more))

    @property
    def has_errors(self) -> bool:
        return has_errors(self)


@frozen(eq=False)
class ExpressionPiece:
    """An expression that is read without evaluation. `json`: whether it is in JSON syntax, where a literal string may
    contain an expression."""

    node: Expression
    source: Source
    json: bool = False

    @property
    def span(self) -> Span:
        return Span(self.source, self.node.start, self.node.end)

    @property
    def start_span(self) -> Span:
        """The beginning of the expression. Diagnostics about the type of the expression refer to it."""
        if self.json and isinstance(self.node, nodes.Literal):
            return self.span
        return Span(self.source, *start_range(self.node, self.source))

    @property
    def is_quoted(self) -> bool:
        """Whether the expression is a quoted string or template in native syntax."""
        node = self.node
        return not self.json and (
            isinstance(node, nodes.Template) or (isinstance(node, nodes.Literal) and node.value.__class__ is str)
        )


def read(body: Body, schema: BodySchema, problems: Problems) -> Content:
    """The content of a body. Parts that are not in the schema are reported."""
    content = body.content(schema)
    problems.extend(content.diagnostics)
    return content


def read_some(body: Body, schema: BodySchema, problems: Problems) -> tuple[Content, Body]:
    """The content of a body, and the parts that are not in the schema."""
    content, rest = body.partial_content(schema)
    problems.extend(content.diagnostics)
    return content, rest


MALFORMED_TEMPLATE = "config.malformed_template"


def expr_of(attribute: Attribute, problems: Problems) -> Expr:
    """The attribute's expression. It is UNKNOWN if its template is malformed (in JSON syntax, templates are parsed
    late). The template's problems get the code MALFORMED_TEMPLATE; `load` drops them if there are other errors."""
    try:
        return Expr(attribute.expr, attribute.source)
    except Failure as failure:
        problems.extend(evolve(d, code=MALFORMED_TEMPLATE) for d in failure.diagnostics)
        written = attribute.literal
        return Expr(nodes.Literal(UNKNOWN, written.start, written.end), attribute.source)


def piece(attribute: Attribute) -> ExpressionPiece:
    return ExpressionPiece(attribute.literal, attribute.source, attribute.is_json)


# ---------------------------------------------------------------- constants


def constant(expr: ExpressionPiece, problems: Problems) -> Value | None:
    """The value of an expression without references and function calls; None for other expressions (reported)."""
    if isinstance(expr.node, nodes.Literal):
        return expr.node.value
    return _evaluate_static(expr, problems)


def _evaluate_static(expr: ExpressionPiece, problems: Problems) -> Value | None:
    from planner.language.expressions.evaluate import try_evaluate

    before = len(problems)
    calls: list[nodes.Call] = []
    for call in function_calls(expr.node):
        if not calls or call.start >= calls[-1].end:  # calls in the arguments of a call are not reported
            calls.append(call)
            span = Span(expr.source, call.start, call.end)
            problems.error(
                "functions_not_allowed", "Function calls not allowed", "Function calls are not allowed here.", span
            )
    for node in variables(expr.node):
        if not any(call.start <= node.start < call.end for call in calls):
            root = node.end if isinstance(node, nodes.Variable) else node.root_end
            span = Span(expr.source, node.start, root)
            detail = "Variables are not allowed here: the value must be a constant."
            if isinstance(node, nodes.Variable):
                detail = f'Variables are not allowed here. For a string, write double quotes: "{node.name}".'
            problems.error("variables_not_allowed", "Variables not allowed", detail, span)
    if len(problems) > before:
        return None
    value, diagnostics = try_evaluate(expr.node, ConstantScope(), expr.source)
    problems.extend(diagnostics)
    return None if has_errors(diagnostics) else value


def constant_of_type(attribute: Attribute, want: str, problems: Problems) -> Any:
    """A constant string or bool, converted from another primitive type if necessary; None for other values
    (reported)."""
    expr = piece(attribute)
    value = constant(expr, problems)
    if value is None or value.__class__ is Unknown:
        return None
    try:
        value = convert(value, PRIMITIVES[want])
        if is_null(value):
            raise ConversionError(f"a {want} is required, not null")
    except ConversionError as problem:
        detail = f"The value of {attribute.name} is not valid: {problem}."
        problems.error("unsuitable_value", "Unsuitable value type", detail, expr.start_span, context=expr.span)
        return None
    return value


def constant_string(attribute: Attribute, problems: Problems) -> str | None:
    value: str | None = constant_of_type(attribute, "string", problems)
    return value


def constant_bool(attribute: Attribute, problems: Problems) -> bool | None:
    value: bool | None = constant_of_type(attribute, "bool", problems)
    return value


# ---------------------------------------------------------------- shapes


def elements(expr: ExpressionPiece, problems: Problems) -> list[ExpressionPiece] | None:
    """The items of a literal list; None for other expressions (reported)."""
    if isinstance(expr.node, nodes.Tuple):
        return [ExpressionPiece(item, expr.source, expr.json) for item in expr.node.items]
    written = expr.source.text[expr.node.start : expr.node.end]
    is_item = isinstance(expr.node, (nodes.Variable, nodes.Traversal, nodes.Literal)) and "\n" not in written
    hint = f" Write [{written}]." if is_item and not expr.source.is_secret else ""
    detail = f"Expected a list in brackets.{hint}"
    problems.error("list_required", "Invalid expression", detail, expr.start_span)
    return None


def pairs(expr: ExpressionPiece) -> list[tuple[ExpressionPiece, ExpressionPiece, bool]] | None:
    """The items of a literal object: (key, value, whether the key is a bare name). None for other expressions."""
    if not isinstance(expr.node, nodes.Object):
        return None
    items = []
    for item in expr.node.items:
        key = ExpressionPiece(item.key, expr.source, expr.json)
        items.append((key, ExpressionPiece(item.value, expr.source, expr.json), item.bare))
    return items


def keyword(expr: ExpressionPiece) -> str:
    """The name, if the expression is a single name, otherwise ""."""
    node = traversal_node(expr)
    return node.name if isinstance(node, nodes.Variable) else ""


def traversal_node(expr: ExpressionPiece, bare: bool = False) -> nodes.Traversal | nodes.Variable | None:
    """The expression if it is a constant traversal, otherwise None. `bare`: whether it is a bare object key."""
    node = expr.node
    if isinstance(node, nodes.Traversal | nodes.Variable):
        return node
    if isinstance(node, nodes.Literal):
        if bare:
            return nodes.Variable(node.value, node.start, node.end)
        if expr.json and node.value.__class__ is str:
            return traversal_from_text(node.value, node.start, node)
        if not expr.json and (node.value is True or node.value is False or is_null(node.value)):
            name = "null" if is_null(node.value) else str(node.value).lower()
            return nodes.Variable(name, node.start, node.end)
    if isinstance(node, nodes.Relative) and not expr.json:
        source = traversal_node(ExpressionPiece(node.source, expr.source))
        if source is not None:
            return _traversal(steps_of(source), node.steps, node.start, node.end)
    return None


def traversal_from_text(text: str, offset: int, inside: nodes.SyntaxNode) -> nodes.Traversal | nodes.Variable | None:
    """The traversal in a string; None if the string is not a traversal. `offset`: the position of the string's text in
    the file."""
    try:
        return _traversal_at(scan_traversal(text), offset, inside)
    except AddressError:
        return None


def _traversal_at(
    steps: list[TraversalStep], offset: int, inside: nodes.SyntaxNode
) -> nodes.Traversal | nodes.Variable:
    """A traversal inside a string. Its positions refer to the file and do not exceed the end of the string."""

    def place(at: int) -> int:
        return min(offset + at, inside.end)

    shifted = [TraversalStep(s.value, s.is_index, place(s.start), place(s.end)) for s in steps]
    return _traversal(shifted, (), shifted[0].start, shifted[-1].end)


def _traversal(
    head: Iterable[TraversalStep], tail: tuple[nodes.Step, ...], start: int, end: int
) -> nodes.Traversal | nodes.Variable:
    root, *rest = head
    steps: list[nodes.Step] = []
    for step in rest:
        steps.append((nodes.GetIndex if step.is_index else nodes.GetAttr)(step.value, step.start, step.end))
    steps.extend(tail)
    if not steps:
        return nodes.Variable(str(root.value), start, end)
    return nodes.Traversal(str(root.value), root.end, tuple(steps), start, end)


def steps_of(node: nodes.Traversal | nodes.Variable) -> list[TraversalStep]:
    if isinstance(node, nodes.Variable):
        return [TraversalStep(node.name, False, node.start, node.end)]
    steps = [TraversalStep(node.root, False, node.start, node.root_end)]
    for step in node.steps:
        if isinstance(step, nodes.GetAttr):
            steps.append(TraversalStep(step.name, False, step.start, step.end))
        else:
            steps.append(TraversalStep(_address_key(step.key), True, step.start, step.end))
    return steps


def _address_key(value: Value) -> str | int | float:
    """A constant as the key in an address; NaN for values that cannot be keys (fractions, bools, null)."""
    return value if value.__class__ in (str, int) else math.nan


def reference(expr: ExpressionPiece, problems: Problems, unquote: bool = False) -> Reference | None:
    """A constant traversal; None for other expressions (reported). `unquote`: whether a traversal in quotes is
    accepted, with a warning."""
    if unquote:
        expr = unquoted(expr, problems)
    node = traversal_node(expr)
    if node is not None:
        return Reference(node, expr.source)
    detail = (
        "A single static variable reference is required: only attribute access and indexing with constant keys. No "
        "calculations, function calls, template expressions, etc are allowed here."
    )
    problems.error("reference_required", "Invalid expression", detail, expr.span)
    return None


def references(attribute: Attribute, problems: Problems) -> tuple[Reference, ...]:
    """The references in a list such as depends_on."""
    return named_by(elements(piece(attribute), problems) or [], problems)


def named_by(items: Iterable[ExpressionPiece], problems: Problems) -> tuple[Reference, ...]:
    """The items that are references; other items are reported."""
    known = [reference(item, problems, unquote=True) for item in items]
    return tuple(r for r in known if r is not None)


def unquoted(expr: ExpressionPiece, problems: Problems, what: str = "references") -> ExpressionPiece:
    """The traversal in a quoted string of native syntax. A warning is reported, because the quotes are an old form.
    Other expressions are returned unchanged."""
    if not expr.is_quoted or not isinstance(expr.node, nodes.Literal):
        return expr
    text, start = expr.node.value, expr.node.start + 1
    try:
        steps = scan_traversal(text)
    except AddressError as bad:
        where = Span(expr.source, start + bad.start, start + bad.end)
        problems.error("malformed_reference", bad.summary, bad.detail, where)
        steps = bad.steps  # continue with the valid steps, to avoid further errors
    node = _traversal_at(steps, start, expr.node) if steps else None
    detail = f"Quotes around {what} are an old form that may stop working; leave them out."
    problems.warning("quoted_reference", f"Quoted {what} are deprecated", detail, expr.span)
    if node is None:
        return expr
    # the range of the warning, and of the reference, includes the quotes
    if isinstance(node, nodes.Variable):
        return ExpressionPiece(nodes.Variable(node.name, expr.node.start, expr.node.end), expr.source)
    return ExpressionPiece(
        nodes.Traversal(node.root, node.root_end, node.steps, expr.node.start, expr.node.end), expr.source
    )


def native(expr: ExpressionPiece, problems: Problems) -> ExpressionPiece | None:
    """The expression, or the expression in a JSON string; None if the JSON value is not a string with an expression
    (reported)."""
    if not expr.json:
        return expr
    if not isinstance(expr.node, nodes.Literal) or expr.node.value.__class__ is not str:
        detail = "In JSON syntax, this must be a string that contains an expression."
        problems.error("string_required", "Expected string expression", detail, expr.span)
        return None
    return _held_by_string(expr, expr.node.value, problems)


def interpolated(expr: ExpressionPiece) -> ExpressionPiece:
    """The expression inside `${...}` in a string of JSON syntax. It is padded with spaces, so that positions stay
    correct. Other expressions are returned unchanged."""
    text = expr.node.value if expr.json and isinstance(expr.node, nodes.Literal) else None
    if text.__class__ is not str or not (text.startswith("${") and text.endswith("}")):
        return expr
    return evolve(expr, node=nodes.Literal(f"  {text[2:-1]} ", expr.node.start, expr.node.end))


def _held_by_string(expr: ExpressionPiece, text: str, problems: Problems) -> ExpressionPiece | None:
    from planner.language.syntax.parse import parse_expression

    # the text before the string is kept, so that positions refer to the file
    source = Source(expr.source.filename, expr.source.text[: expr.node.start] + text)
    node, diagnostics = parse_expression(source, expr.node.start)
    problems.extend(diagnostics)
    return None if node is None else ExpressionPiece(node, source)


# Warnings about valid configuration that has no effect.


_Found = tuple[Expression, str, tuple[str, ...], ObjectType]


def lint_discarded(expr: ExpressionPiece, type_: Type, what: str, problems: Problems) -> None:
    """Warn about attributes of a literal object in native syntax that conversion to the type would silently drop."""
    if expr.json:
        return
    for key, name, path, target in _discarded_attributes(expr.node, type_, ()):
        where = f"{what}, at {''.join(path)}," if path else what
        detail = f'The type of {where} has no attribute "{name}", so this entry has no effect.'
        hint = did_you_mean(name, sorted(target.attributes))
        span = Span(expr.source, key.start, key.end)
        problems.warning("ignored_attribute", "Object attribute is ignored", detail + hint, span)


def may_discard(node: Expression) -> bool:
    """Whether `lint_discarded` can find anything in the expression."""
    return isinstance(node, (nodes.Object, nodes.Tuple, nodes.For))


def _discarded_attributes(node: Expression, type_: Type, path: tuple[str, ...]) -> Iterator[_Found]:
    if isinstance(node, nodes.Object):
        for item in node.items:
            if not isinstance(item.key, nodes.Literal) or item.key.value.__class__ is not str:
                continue
            name = str(item.key.value)
            if isinstance(type_, MapType):
                yield from _discarded_attributes(item.value, type_.element, (*path, f'["{name}"]'))
            elif isinstance(type_, ObjectType):
                if name in type_.attributes:
                    yield from _discarded_attributes(item.value, type_.attributes[name], (*path, f".{name}"))
                else:
                    yield item.key, name, path, type_
    elif isinstance(node, nodes.Tuple):
        if isinstance(type_, ListType | SetType):
            for i, inner in enumerate(node.items):
                yield from _discarded_attributes(inner, type_.element, (*path, f"[{i}]"))
        elif isinstance(type_, TupleType) and len(type_.elements) == len(node.items):
            for i, inner in enumerate(node.items):
                yield from _discarded_attributes(inner, type_.elements[i], (*path, f"[{i}]"))
    elif isinstance(node, nodes.For):
        wanted = ListType | SetType if node.key_expr is None else MapType
        if isinstance(type_, wanted):
            yield from _discarded_attributes(node.value_expr, type_.element, (*path, "[...]"))
