"""The typed syntax of attributes and blocks, and of bodies: what stands between the braces of a block or in a file, in
native or JSON syntax, read through a schema."""

# ruff: noqa: RUF023  (slots stand in the order of the constructor's arguments)

from __future__ import annotations

from functools import cached_property
from typing import ClassVar, Protocol

from planner.foundation.vocabulary.diagnostic import Diagnostic
from planner.foundation.vocabulary.records import field, frozen
from planner.foundation.vocabulary.span import Source, Span
from planner.language.syntax.nodes import Expression, SyntaxNode, node_class


@node_class
class Attribute(SyntaxNode):
    """`name = expr`. start/end cover the whole; the name is [start, name_end).

    In JSON syntax the expression is made on first use, and a malformed template in it raises Failure then."""

    __slots__ = ("name", "name_end", "expr", "source")
    name: str
    name_end: int
    expr: Expression
    source: Source
    is_json: ClassVar[bool] = False

    @property
    def literal(self) -> Expression:
        """The value where templates have no meaning (variable values, references written as strings): in JSON syntax
        every string verbatim as a Literal, in native syntax `expr`."""
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
    """A block label, quoted or bare, with its span (quotes included)."""

    __slots__ = ("value",)
    value: str


@node_class
class Block(SyntaxNode):
    """`type "label" { ... }`. start is the type, header_end the end of the last label (or type), end after `}`."""

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
        """From the block type to the last label: what diagnostics point at."""
        return Span(self.source, self.start, self.header_end)


@frozen
class ExpectedBlock:
    """A block type that a body may contain and the names of its labels, for messages."""

    type: str
    labels: tuple[str, ...] = ()


@frozen
class BodySchema:
    """What a body may contain. `attributes` maps a name to whether it is required."""

    attributes: dict[str, bool] = field(factory=dict)
    blocks: tuple[ExpectedBlock, ...] = ()

    @cached_property
    def block_types(self) -> frozenset[str]:
        """The types of its blocks. Every body that it read holds this one set."""
        return frozenset(block.type for block in self.blocks)


@frozen
class Content:
    """What a schema found in a body: attributes by name, blocks in source order, and the problems."""

    attributes: dict[str, Attribute]
    blocks: list[Block]
    diagnostics: list[Diagnostic]


class Body(Protocol):
    """A body in either syntax. Reading never changes it; JSON bodies need the schema to tell blocks from attributes."""

    def content(self, schema: BodySchema) -> Content:
        """Everything in the body; whatever the schema does not name is an error."""
        ...

    def partial_content(self, schema: BodySchema) -> tuple[Content, Body]:
        """What the schema names, and a body with all the rest."""
        ...

    def just_attributes(self) -> tuple[dict[str, Attribute], list[Diagnostic]]:
        """All entries as attributes; blocks are errors (for locals, module arguments, tfvars)."""
        ...

    @property
    def missing_span(self) -> Span:
        """Where to point when something required is missing (the block's closing brace in native syntax)."""
        ...
