"""Bodies: what stands between the braces of a block or in a file, in native or JSON syntax, read through a schema."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Protocol

from attrs import field, frozen

from planner.vocabulary.diagnostic import Diagnostic
from planner.vocabulary.span import Span

if TYPE_CHECKING:
    from planner.syntax.nodes import Attribute, Block


@frozen
class BlockSchema:
    """A block type that a body may contain and the names of its labels, for messages."""

    type: str
    labels: tuple[str, ...] = ()


@frozen
class BodySchema:
    """What a body may contain. `attributes` maps a name to whether it is required."""

    attributes: dict[str, bool] = field(factory=dict)
    blocks: tuple[BlockSchema, ...] = ()

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
