"""`dynamic` blocks: one block for every element of a collection.

After HCL (ext/dynblock): the content sees the iterator as an object with `key` and `value`; while the collection is
unknown the blocks stand for unknown ones; its marks go to everything inside.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from planner.foundation.values.convert import ConversionError, convert
from planner.foundation.values.types import DYNAMIC, STRING, friendly_name
from planner.foundation.values.value import (
    NO_MARKS,
    UNKNOWN,
    Mark,
    Marked,
    Null,
    Unknown,
    Value,
    type_of,
    unmark,
)
from planner.foundation.vocabulary.diagnostic import Diagnostic, error, has_errors
from planner.foundation.vocabulary.span import Source, Span
from planner.language.expressions.evaluate import evaluate_parts
from planner.language.expressions.scope import Scope
from planner.language.expressions.traverse import can_iterate, elements
from planner.language.syntax import nodes
from planner.language.syntax.body import Attribute, Block, Body, BodySchema, Content
from planner.language.syntax.body import ExpectedBlock as BlockHeader

if TYPE_CHECKING:
    from planner.language.functions import CallContext, Function

INVALID_FOR_EACH = "Invalid dynamic for_each value"
INVALID_LABEL = "Invalid dynamic block label"


class DecodedBlock:
    """A block as it is decoded: written out, or made by a `dynamic` block. `unknown`: it stands for an unknown number
    of blocks; `marks` are those of the collection it comes from; `span` is where its definition is."""

    __slots__ = ("body", "label", "marks", "scope", "span", "type", "unknown")

    def __init__(
        self,
        type: str,
        label: str,
        body: Body,
        scope: Scope,
        span: Span,
        marks: frozenset[Mark] = NO_MARKS,
        unknown: bool = False,
    ) -> None:
        self.type = type
        self.label = label
        self.body = body
        self.scope = scope
        self.span = span
        self.marks = marks
        self.unknown = unknown


class BodyProblems:
    """What is wrong with a body. `refused`: references that are wrong in themselves."""

    def __init__(self) -> None:
        self.diagnostics: list[Diagnostic] = []
        self.refused: list[Diagnostic] = []

    def report(self, code: str, summary: str, detail: str, subject: Span, context: Span | None = None) -> None:
        self.diagnostics.append(error(f"config.{code}", summary, detail, subject, context=context))


class IteratorScope(Scope):
    """A scope with one more root name: the iterator of a `dynamic` block."""

    def __init__(self, outer: Scope, name: str, key: Value, value: Value) -> None:
        self.outer = outer
        self.name = name
        self.value = {"key": key, "value": value}

    def resolve(self, node: nodes.Traversal | nodes.Variable, source: Source | None) -> tuple[Value, int]:
        root = node.name if isinstance(node, nodes.Variable) else node.root
        return (self.value, 0) if root == self.name else self.outer.resolve(node, source)

    def function(self, name: str) -> Function | None:
        return self.outer.function(name)

    @property
    def context(self) -> CallContext:
        return self.outer.context

    @property
    def deprecations(self) -> bool:  # type: ignore[override]
        return self.outer.deprecations


def expand(
    parent: DecodedBlock, content: Content, labels: dict[str, tuple[str, ...]], into: BodyProblems
) -> list[DecodedBlock]:
    """The blocks of a body in order, each `dynamic` block replaced by those that it makes. `labels`: the block types
    that the body may have, with the names of their labels."""
    instances: list[DecodedBlock] = []
    for block in content.blocks:
        if block.type != "dynamic":
            label = block.labels[0].value if block.labels else ""
            span = block.header_span
            instances.append(DecodedBlock(block.type, label, block.body, parent.scope, span, NO_MARKS, parent.unknown))
            continue
        kind = block.labels[0]
        if kind.value not in labels:
            span = Span(block.source, kind.start, kind.end)
            detail = f'Blocks of type "{kind.value}" are not expected here.'
            into.report("unsupported_block", "Unsupported block type", detail, span)
            continue
        instances += _expand_one(parent, block, labels[kind.value], into)
    return instances


def _expand_one(
    parent: DecodedBlock, block: Block, label_names: tuple[str, ...], into: BodyProblems
) -> Iterator[DecodedBlock]:
    kind = block.labels[0].value
    spec = _Spec.read(block, bool(label_names), into)
    if spec is None:
        return
    iterator = spec.iterator or kind
    collection, problems, refused = evaluate_parts(spec.for_each.expr, parent.scope, spec.for_each.source, True)
    into.refused += refused
    into.diagnostics += problems
    if has_errors(problems) or refused:
        return
    plain, marks = unmark(collection)
    why = _unsuitable(plain)
    if why:
        into.report("dynamic_for_each", INVALID_FOR_EACH, why, spec.for_each.expr_span)
        return
    if not spec.labels_fit(label_names, kind, into):
        return
    span = block.header_span
    pairs: Any = [(UNKNOWN, UNKNOWN)] if plain.__class__ is Unknown else elements(plain)
    for key, value in pairs:
        scope = IteratorScope(parent.scope, iterator, key, value)
        label = spec.label(scope, into)
        if label is not None:
            unknown = parent.unknown or plain.__class__ is Unknown
            yield DecodedBlock(kind, label, spec.content, scope, span, marks, unknown)


def _unsuitable(collection: Value) -> str:
    """Why a value cannot be gone over; empty when it can."""
    if collection.__class__ is Null:
        return "The collection is null; a dynamic block needs one that it can go over."
    if type_of(collection) is not DYNAMIC and not can_iterate(collection):
        return f"A {friendly_name(type_of(collection))} has no elements; a dynamic block needs a collection."
    return ""


_PLAIN = BodySchema({"for_each": True, "iterator": False}, (BlockHeader("content"),))
_LABELLED = BodySchema({"for_each": True, "iterator": False, "labels": True}, (BlockHeader("content"),))


class _Spec:
    """The parts of a `dynamic` block."""

    __slots__ = ("content", "for_each", "iterator", "labels", "labels_attribute")

    def __init__(
        self, for_each: Attribute, iterator: str | None, labels_attribute: Attribute | None, content: Body
    ) -> None:
        self.for_each = for_each
        self.iterator = iterator
        self.labels_attribute = labels_attribute
        self.labels: tuple[nodes.Expression, ...] = ()
        self.content = content

    @classmethod
    def read(cls, block: Block, labelled: bool, into: BodyProblems) -> _Spec | None:
        """The parts; None (reported) when one is missing or wrong."""
        content = block.body.content(_LABELLED if labelled else _PLAIN)
        into.diagnostics += content.diagnostics
        if any(d.is_error for d in content.diagnostics):
            return None
        iterator = None
        named = content.attributes.get("iterator")
        if named is not None:
            if not isinstance(named.expr, nodes.Variable):
                detail = "The iterator of a dynamic block is a single name."
                into.report("dynamic_iterator", "Invalid dynamic iterator name", detail, named.expr_span)
                return None
            iterator = named.expr.name
        if not content.blocks:
            detail = 'A dynamic block needs a block "content" that describes the blocks it makes.'
            span = block.body.missing_span
            into.report("dynamic_content", "Missing dynamic content block", detail, span)
            return None
        if len(content.blocks) > 1:
            detail = 'A dynamic block has only one block "content".'
            span = content.blocks[1].header_span
            into.report("dynamic_content", "Extraneous dynamic content block", detail, span)
            return None
        return cls(content.attributes["for_each"], iterator, content.attributes.get("labels"), content.blocks[0].body)

    def labels_fit(self, names: tuple[str, ...], kind: str, into: BodyProblems) -> bool:
        """Reads the labels; false (reported) when they are no list of the right length."""
        attribute = self.labels_attribute
        if attribute is None:
            return True
        if not isinstance(attribute.expr, nodes.Tuple):
            detail = "The labels of a dynamic block are a list written out in brackets."
            into.report("dynamic_labels", "Invalid expression", detail, attribute.expr_span)
            return False
        self.labels = attribute.expr.items
        if len(self.labels) == len(names):
            return True
        many = len(self.labels) > len(names)
        place = self.labels[len(names)] if many else attribute.expr
        summary = "Extraneous dynamic block label" if many else "Insufficient dynamic block labels"
        detail = f'Blocks of type "{kind}" have {len(names)} label{"" if len(names) == 1 else "s"}.'
        into.report("dynamic_labels", summary, detail, Span(attribute.source, place.start, place.end))
        return False

    def label(self, scope: Scope, into: BodyProblems) -> str | None:
        """The label of one block, "" when it has none; None (reported) when it is no label."""
        for node in self.labels:
            assert self.labels_attribute is not None
            source = self.labels_attribute.source
            value, problems, refused = evaluate_parts(node, scope, source, True)
            into.refused += refused
            into.diagnostics += problems
            if has_errors(problems) or refused:
                return None
            try:
                value = convert(value, STRING)
                why = _no_label(value)
            except ConversionError as e:
                why = f"The value is not a valid label: {e}."
            if why:
                into.report("dynamic_label", INVALID_LABEL, why, Span(source, node.start, node.end))
                return None
            return str(value)
        return ""


def _no_label(value: Value) -> str:
    if value.__class__ is Marked:
        return "The value is marked (for example as sensitive), and a label cannot hide it."
    if value.__class__ is Null:
        return "The value is null; a label must be a text."
    if value.__class__ is Unknown:
        return "The value is not known yet; a label must be known while planning."
    return ""
