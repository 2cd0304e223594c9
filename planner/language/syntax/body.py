"""Typed syntax of attributes, blocks and bodies, in native or JSON syntax. A body is the content of a file or of a
block; a schema selects what is read from it."""

# ruff: noqa: RUF023 (slots are in the order of the constructor's arguments)

from __future__ import annotations

from functools import cached_property
from typing import Any, ClassVar, Protocol, TypeAlias

from planner.foundation.vocabulary.diagnostic import Diagnostic, Failure, error
from planner.foundation.vocabulary.nearest import did_you_mean
from planner.foundation.vocabulary.records import field, frozen
from planner.foundation.vocabulary.span import Source, Span
from planner.language.syntax.nodes import (
    Binary,
    Call,
    Conditional,
    Expression,
    For,
    Index,
    Object,
    ObjectItem,
    Parens,
    Relative,
    Splat,
    SyntaxNode,
    Template,
    TemplateFor,
    TemplateIf,
    Traversal,
    Tuple,
    Unary,
    Variable,
    Wrap,
    node_class,
)


@node_class
class Attribute(SyntaxNode):
    """An attribute, `name = expr`. `start` and `end` cover the whole attribute; the name is [start, name_end).

    In JSON syntax, the expression is created on first use; a malformed template in it then raises Failure.
    """

    __slots__ = ("name", "name_end", "expr", "source")
    name: str
    name_end: int
    expr: Expression
    source: Source
    is_json: ClassVar[bool] = False

    @property
    def literal(self) -> Expression:
        """The expression with its strings as literals, not as templates. Used for values of variables, and for
        references in strings. It differs from `expr` only in JSON syntax."""
        return self.expr

    @property
    def span(self) -> Span:
        return Span(self.source, self.start, self.end)

    @property
    def name_span(self) -> Span:
        return Span(self.source, self.start, self.name_end)

    @property
    def expr_span(self) -> Span:
        return Span(self.source, self.expr.start, self.expr.end)


@node_class
class Label(SyntaxNode):
    """A block label, quoted or bare. The span includes the quotes."""

    __slots__ = ("value",)
    value: str


@node_class
class Block(SyntaxNode):
    """A block, `type "label" { ... }`. `start` is the start of the type, `header_end` the end of the last label (or of
    the type), and `end` is after `}`."""

    __slots__ = ("type", "type_end", "labels", "header_end", "body", "source")
    type: str
    type_end: int
    labels: tuple[Label, ...]
    header_end: int
    body: Body
    source: Source

    @property
    def span(self) -> Span:
        return Span(self.source, self.start, self.end)

    @property
    def header_span(self) -> Span:
        """The span from the block type to the last label, for diagnostics."""
        return Span(self.source, self.start, self.header_end)


@frozen
class ExpectedBlock:
    """A block type that a body may contain. `labels` are the names of its labels, for messages."""

    type: str
    labels: tuple[str, ...] = ()


@frozen
class BodySchema:
    """The permitted content of a body. `attributes`: whether each argument is required, by name."""

    attributes: dict[str, bool] = field(factory=dict)
    blocks: tuple[ExpectedBlock, ...] = ()

    @cached_property
    def block_types(self) -> frozenset[str]:
        """The types of the permitted blocks. Cached, because all bodies with this schema use them."""
        return frozenset(block.type for block in self.blocks)


@frozen
class Content:
    """The content of a body that matches a schema: attributes by name, blocks in source order, and problems."""

    attributes: dict[str, Attribute]
    blocks: list[Block]
    diagnostics: list[Diagnostic]


class Body(Protocol):
    """A body in either syntax. Reading does not change it. The schema determines which properties of a JSON body are
    blocks."""

    def content(self, schema: BodySchema) -> Content:
        """All arguments and blocks. Those that are not in the schema are reported as errors."""

    def partial_content(self, schema: BodySchema) -> tuple[Content, Body]:
        """The arguments and blocks that are in the schema, and a body with those that are not."""

    def just_attributes(self) -> tuple[dict[str, Attribute], list[Diagnostic]]:
        """All arguments, without a schema: for locals, module arguments and tfvars. Blocks are reported as errors."""

    @property
    def missing_span(self) -> Span:
        """The span of diagnostics about a missing argument: the block's opening brace in native syntax, usually the
        object's closing brace in JSON syntax."""


# Bodies in native syntax.


class NativeBody:
    """A body in native syntax: attributes by name, and blocks in source order. `start` is the offset of the opening
    brace (or of the first token of the file); `end` is after the closing brace. `taken` and `taken_types`: attributes
    and block types that an earlier partial reading has returned."""

    __slots__ = ("attributes", "blocks", "end", "source", "start", "taken", "taken_types")

    def __init__(
        self,
        attributes: dict[str, Attribute],
        blocks: list[Block],
        source: Source,
        start: int,
        end: int,
        taken: frozenset[str] = frozenset(),
        taken_types: frozenset[str] = frozenset(),
    ) -> None:
        self.attributes = attributes
        self.blocks = blocks
        self.source = source
        self.start = start
        self.end = end
        self.taken = taken
        self.taken_types = taken_types

    def __reduce__(self) -> tuple[Any, ...]:
        return (NativeBody, (self.attributes, self.blocks, self.source, self.start, self.end))

    def __repr__(self) -> str:
        return f"NativeBody({list(self.attributes.values())!r}, {self.blocks!r}, {self.start}, {self.end})"

    @property
    def missing_span(self) -> Span:
        return Span(self.source, self.start, self.start)

    def content(self, schema: BodySchema) -> Content:
        if not self.blocks:  # no blocks are left: the usual case
            taken = self.taken
            own = {n: a for n, a in self.attributes.items() if n not in taken} if taken else dict(self.attributes)
            if own.keys() <= schema.attributes.keys():
                return Content(own, [], self._missing(schema, own))
        content, rest = self._read(schema)
        wanted = [name for name in schema.attributes if name not in content.attributes]
        types = [block.type for block in schema.blocks]
        for attribute in rest.attributes.values():
            if attribute.name not in rest.taken:
                hint = did_you_mean(attribute.name, wanted)
                if not hint and attribute.name in types:
                    hint = f' Did you mean to define a block of type "{attribute.name}"?'
                detail = f'An argument named "{attribute.name}" is not expected here.{hint}'
                content.diagnostics.append(
                    error("syntax.unsupported_argument", "Unsupported argument", detail, attribute.name_span)
                )
        for block in rest.blocks:
            if block.type not in rest.taken_types:
                hint = did_you_mean(block.type, types)
                if not hint and block.type in schema.attributes:
                    hint = (
                        f' Did you mean to define argument "{block.type}"? '
                        "If so, use the equals sign to assign it a value."
                    )
                detail = f'Blocks of type "{block.type}" are not expected here.{hint}'
                span = Span(block.source, block.start, block.type_end)
                content.diagnostics.append(error("syntax.unsupported_block", "Unsupported block type", detail, span))
        return content

    def partial_content(self, schema: BodySchema) -> tuple[Content, NativeBody]:
        return self._read(schema)

    def just_attributes(self) -> tuple[dict[str, Attribute], list[Diagnostic]]:
        diagnostics = []
        for block in self.blocks[:1]:  # one error for all blocks is sufficient
            span = Span(block.source, block.start, block.type_end)
            detail = (
                f'Only arguments are allowed here, not blocks such as "{block.type}": write {block.type} = {{ ... }}.'
            )
            diagnostics.append(error("syntax.unexpected_block", "Unexpected block", detail, span))
        return {name: a for name, a in self.attributes.items() if name not in self.taken}, diagnostics

    def _missing(self, schema: BodySchema, found: dict[str, Attribute]) -> list[Diagnostic]:
        return [
            missing_argument(name, self.missing_span)
            for name, required in schema.attributes.items()
            if required and name not in found
        ]

    def _read(self, schema: BodySchema) -> tuple[Content, NativeBody]:
        taken = self.taken
        attributes = {n: a for n, a in self.attributes.items() if n in schema.attributes and n not in taken}
        diagnostics = self._missing(schema, attributes)
        blocks = []
        wanted = {block.type: block for block in schema.blocks if block.type not in self.taken_types}
        for block in self.blocks:
            labels = wanted.get(block.type)
            if labels is not None:
                problem = _label_problem(block, labels)
                if problem is None:
                    blocks.append(block)
                else:
                    diagnostics.append(problem)
        rest = NativeBody(
            self.attributes,
            self.blocks,
            self.source,
            self.start,
            self.end,
            taken.union(attributes) if attributes else taken,
            self.taken_types | schema.block_types if self.taken_types else schema.block_types,
        )
        return Content(attributes, blocks, diagnostics), rest


def missing_argument(name: str, span: Span) -> Diagnostic:
    detail = f'The argument "{name}" is required, but no definition was found.'
    return error("syntax.missing_argument", "Missing required argument", detail, span)


def _label_problem(block: Block, schema: ExpectedBlock) -> Diagnostic | None:
    """The error for too many or too few labels; None if their number is right."""
    names, labels = schema.labels, block.labels
    if len(labels) > len(names):
        label = labels[len(names)]
        wanted = f"only {', '.join(names)}" if names else "no labels"
        return error(
            "syntax.extra_label",
            f"Too many labels for {block.type}",
            f"A block of type {block.type} takes {wanted}.",
            Span(block.source, label.start, label.end),
            context=block.header_span,
        )
    if len(labels) < len(names):
        brace = block.body.start if isinstance(block.body, NativeBody) else block.header_end
        return error(
            "syntax.missing_label",
            f"Missing {names[len(labels)]} for {block.type}",
            f"All {block.type} blocks must have {len(names)} label{'s' * (len(names) > 1)} ({', '.join(names)}).",
            Span(block.source, brace, brace + 1),
            context=block.header_span,
        )
    return None


# Names and functions in expressions and bodies, in source order.


Mentioning: TypeAlias = Expression | Attribute | Block | Body

# Fields with the children of a node, last child first. Nodes that are not listed have no children or are handled below.
PARTS: dict[Any, tuple[str, ...]] = {
    Relative: ("source",),
    Index: ("key", "collection"),
    Splat: ("each", "source"),
    Template: ("parts",),
    Wrap: ("expr",),
    TemplateIf: ("otherwise", "then", "condition"),
    Parens: ("expr",),
    Unary: ("operand",),
    Binary: ("right", "left"),
    Conditional: ("otherwise", "then", "condition"),
    Call: ("arguments",),
    Tuple: ("items",),
    Object: ("items",),
    ObjectItem: ("value", "key"),
    Block: ("body",),
}


def variables(node: Mentioning) -> list[Traversal | Variable]:
    """All references in an expression, except those to names that `for` expressions and template loops define."""
    return [n for n in _mentions(node) if n.__class__ is not Call]


def references(node: Mentioning) -> list[Traversal | Variable | Call]:
    """The result of `variables`, and all calls of provider functions."""
    return [n for n in _mentions(node) if n.__class__ is not Call or n.name.startswith("provider::")]


def function_calls(node: Mentioning) -> list[Call]:
    """All function calls in an expression, outer before inner."""
    return [n for n in _mentions(node) if n.__class__ is Call]


def _mentions(root: Any) -> list[Any]:
    mentions: list[Any] = []
    # a stack of (node, names bound around it); recursion is avoided because trees may be deep
    stack: list[tuple[Any, frozenset[str]]] = [(root, frozenset())]
    push, pop = stack.append, stack.pop
    while stack:
        node, bound = pop()
        cls = node.__class__
        if cls is Traversal:
            if node.root not in bound:
                mentions.append(node)
        elif cls is tuple:
            for item in reversed(node):
                push((item, bound))
        elif cls in PARTS:
            if cls is Call:
                mentions.append(node)
            for name in PARTS[cls]:
                push((getattr(node, name), bound))
        elif cls is Variable:
            if node.name not in bound:
                mentions.append(node)
        elif cls is For:
            inner = bound | {name for name in (node.key, node.value) if name is not None}
            push(((node.key_expr, node.value_expr, node.condition), inner))
            push((node.collection, bound))
        elif cls is TemplateFor:
            push((node.body, bound | {name for name in (node.key, node.value) if name is not None}))
            push((node.collection, bound))
        elif isinstance(node, Attribute):
            try:
                push((node.expr, bound))
            except Failure:  # a malformed template in JSON has no references; its evaluation reports the problem
                continue
        elif cls is NativeBody:
            items = [*node.attributes.values(), *node.blocks]
            items.sort(key=lambda item: item.start)
            push((tuple(items), bound))
        elif isinstance(node, Block):
            push((node.body, bound))
        # in JSON, blocks need not be distinguished from attributes here
        elif hasattr(node, "just_attributes"):
            push((tuple(node.just_attributes()[0].values()), bound))
    return mentions
