"""Decodes bodies with provider schemas: attributes are evaluated and converted, blocks are collected according to their
nesting mode (such as list or map).

decode_block(body, schema, scope) returns an object of the schema's implied type, and diagnostics.

The behaviour is the same as in HCL (hcldec/spec.go) and OpenTofu (configschema/decoder_spec.go, lang/blocktoattr)."""

from __future__ import annotations

from planner.foundation.values.convert import ConversionError, convert
from planner.foundation.values.schema import (
    AttributeSchema,
    BlockSchema,
    NestedBlock,
    can_be_blocks,
    empty_block,
    implied_type,
)
from planner.foundation.values.sets import make_set
from planner.foundation.values.types import (
    DYNAMIC,
    ListType,
    MapType,
    ObjectType,
    Primitive,
    SetType,
    TupleType,
    Type,
    collection_type,
    has_dynamic,
)
from planner.foundation.values.unify import unify
from planner.foundation.values.value import (
    UNKNOWN,
    List,
    Map,
    Null,
    Unknown,
    Value,
    mark,
    type_of,
)
from planner.foundation.vocabulary.diagnostic import Diagnostic
from planner.foundation.vocabulary.span import Span
from planner.language.expressions.dynamic import BodyProblems, DecodedBlock, expand
from planner.language.expressions.evaluate import evaluate_parts
from planner.language.expressions.scope import Scope
from planner.language.syntax.body import Attribute, Body, BodySchema, Content
from planner.language.syntax.body import ExpectedBlock as BlockHeader


def decode_block(body: Body, schema: BlockSchema, scope: Scope) -> tuple[Value, list[Diagnostic]]:
    """The object that a body describes, with `dynamic` blocks expanded, and the problems. Arguments that cannot be
    evaluated are unknown. If references are invalid, the whole result is unknown, and only problems of references are
    returned."""
    decoder = Decoder()
    value = decoder.body(DecodedBlock("", "", body, scope, body.missing_span), schema)
    if decoder.refused:
        return Unknown(implied_type(schema)), decoder.refused
    if scope.deprecations:
        return _of_whole(value, body.missing_span, decoder.diagnostics)
    return value, decoder.diagnostics


class Decoder(BodyProblems):
    def body(self, instance: DecodedBlock, schema: BlockSchema) -> dict[str, Value]:
        as_blocks = _written_as_blocks(instance.body, schema)
        content = instance.body.content(body_schema(schema, as_blocks))
        self.diagnostics += content.diagnostics
        result: dict[str, Value] = {}
        instances = expand(instance, content, _labels(schema, as_blocks), self) if content.blocks else []
        for name, attribute in schema.attributes.items():
            if name in as_blocks:
                blocks = [b for b in instances if b.type == name]
                result[name] = self._attribute_blocks(blocks, attribute)
            else:
                result[name] = self._attribute(content.attributes.get(name), attribute, instance)
        for name, nested in schema.blocks.items():
            if name not in schema.attributes:
                result[name] = self._blocks(
                    name, nested, [b for b in instances if b.type == name], content, instance.body
                )
        return result

    # ------------------------------------------------------------ attributes

    def _attribute(self, attribute: Attribute | None, schema: AttributeSchema, instance: DecodedBlock) -> Value:
        if attribute is None:
            return Null(schema.type)
        if instance.unknown:
            value: Value = UNKNOWN
        else:
            value, problems, refused = evaluate_parts(attribute.expr, instance.scope, attribute.source, True)
            self.refused += refused
            self.diagnostics += problems
        if instance.marks:
            value = mark(value, instance.marks)
        try:
            return convert(value, schema.decode_type)
        except ConversionError as e:
            self.report(
                "attribute_type",
                "Incorrect attribute value type",
                f'The value of the argument "{attribute.name}" has the wrong type: {e}.',
                attribute.expr_span,
                Span(attribute.source, attribute.start, attribute.expr.end),
            )
            return Unknown(schema.type)

    def _attribute_blocks(self, blocks: list[DecodedBlock], schema: AttributeSchema) -> Value:
        """The value of an attribute that is written as blocks, which old providers allow: a list or set of objects.
        Null if there are no blocks; unknown if their number is unknown."""
        if not blocks:
            return Null(schema.type)
        assert isinstance(schema.type, (ListType, SetType))
        element = schema.type.element
        assert isinstance(element, ObjectType)
        inner = _element_schema(element)
        items = [self.body(block, inner) for block in blocks]
        if any(block.unknown for block in blocks):
            return Unknown(schema.type)
        return convert(List(element, tuple(items)), schema.type)

    # ------------------------------------------------------------ blocks

    def _blocks(
        self, name: str, nested: NestedBlock, blocks: list[DecodedBlock], content: Content, parent: Body
    ) -> Value:
        if nested.nesting in ("single", "group"):
            return self._single(name, nested, blocks, parent)
        if nested.nesting == "map":
            return self._collect_map(name, nested, blocks)
        items: list[Value] = []
        for block in blocks:
            value = mark(self.body(block, nested.block), block.marks)
            if block.unknown:
                return Unknown(_unknown_blocks(nested))
            items.append(value)
        if len(items) < nested.min_items:
            detail = f"Add at least {_blocks_of(nested.min_items, name)} here."
            self.report("too_few_blocks", f"Insufficient {name} blocks", detail, parent.missing_span)
        elif 0 < nested.max_items < len(items):
            detail = f"Use at most {_blocks_of(nested.max_items, name)} here."
            self.report(
                "too_many_blocks", f"Too many {name} blocks", detail, blocks[nested.max_items].body.missing_span
            )
        item_type = implied_type(nested.block)
        if not items:
            return empty_block(nested)
        if nested.nesting == "set":
            return self._collect_set(name, nested, items, blocks)
        return tuple(items) if has_dynamic(item_type) else List(item_type, tuple(items))

    def _collect_set(self, name: str, nested: NestedBlock, items: list[Value], blocks: list[DecodedBlock]) -> Value:
        """A set of blocks. If the schema allows any type for an attribute, all blocks must use the same type. If they
        do not, this is reported, and the set is unknown."""
        item_type: Type = implied_type(nested.block)
        if has_dynamic(item_type):
            common = unify([type_of(v) for v in items])
            try:
                if common is None:
                    raise ConversionError("their arguments are of different types")
                items, item_type = [convert(v, common) for v in items], common
            except ConversionError as e:
                detail = f"The {name} blocks form a set, so their arguments must have the same types: {e}."
                self.report("block_types", f"Inconsistent argument types in {name} blocks", detail, blocks[0].span)
                return UNKNOWN
        return make_set(item_type, items)

    def _single(self, name: str, nested: NestedBlock, blocks: list[DecodedBlock], parent: Body) -> Value:
        if len(blocks) > 1:
            detail = f'Only one block "{name}" is allowed here; the first is at {blocks[0].span}.'
            self.report("duplicate_block", f"Duplicate {name} block", detail, blocks[1].span)
        if blocks:
            return self.body(blocks[0], nested.block)
        if nested.min_items == 1:
            detail = f'A block "{name}" is required here.'
            self.report("missing_block", f"Missing {name} block", detail, parent.missing_span)
        return empty_block(nested)

    def _collect_map(self, name: str, nested: NestedBlock, blocks: list[DecodedBlock]) -> Value:
        items: dict[str, Value] = {}
        for block in blocks:
            value = mark(self.body(block, nested.block), block.marks)
            if block.unknown:
                return Unknown(_unknown_blocks(nested))
            if block.label in items:
                detail = f'There is already a block {name} "{block.label}"; labels must differ.'
                self.report("duplicate_block", f"Duplicate {name} block", detail, block.span)
                continue
            items[block.label] = value
        if not items:
            return empty_block(nested)
        item_type = implied_type(nested.block)
        return items if has_dynamic(item_type) else Map(item_type, items)


def _blocks_of(count: int, name: str) -> str:
    return f'{count} block{"s" if count > 1 else ""} "{name}"'


def _unknown_blocks(nested: NestedBlock) -> Type:
    """The type of the value of all blocks of one kind, if the number of these blocks is unknown."""
    item = implied_type(nested.block)
    if has_dynamic(item) and nested.nesting in ("list", "map"):
        return DYNAMIC
    return collection_type(nested.nesting, item)


# ---------------------------------------------------------------- schemas of bodies


def body_schema(schema: BlockSchema, as_blocks: frozenset[str] = frozenset()) -> BodySchema:
    """The permitted content of a body, including `dynamic` blocks. `as_blocks`: attributes that are written as
    blocks."""
    key = "body_schema " + " ".join(sorted(as_blocks))
    known: BodySchema | None = schema.cache.get(key)
    if known is None:
        attributes = {n: a.required for n, a in schema.attributes.items() if n not in as_blocks}
        headers = [BlockHeader(name, names) for name, names in _labels(schema, as_blocks).items()]
        headers.append(BlockHeader("dynamic", ("type",)))
        known = schema.cache[key] = BodySchema(attributes, tuple(headers))
    return known


def _labels(schema: BlockSchema, as_blocks: frozenset[str]) -> dict[str, tuple[str, ...]]:
    labels: dict[str, tuple[str, ...]] = dict.fromkeys(sorted(as_blocks), ())
    for name, nested in schema.blocks.items():
        if name not in schema.attributes:
            labels[name] = ("key",) if nested.nesting == "map" else ()
    return labels


def _written_as_blocks(body: Body, schema: BlockSchema) -> frozenset[str]:
    """The attributes that the body may contain as blocks: lists or sets of objects that it does not set as
    arguments."""
    names: frozenset[str] | None = schema.cache.get("ambiguous")
    if names is None:
        some = (n for n, a in schema.attributes.items() if a.nested is None and can_be_blocks(a.type))
        names = schema.cache["ambiguous"] = frozenset(some) if _is_legacy(schema) else frozenset()
    if not names:
        return names
    content, _ = body.partial_content(BodySchema(dict.fromkeys(sorted(names), False)))
    return names - content.attributes.keys()


def _is_legacy(schema: BlockSchema) -> bool:
    """Whether the provider may allow attributes to be written as blocks. Newer providers are recognized by types that
    the old provider library does not support."""
    for attribute in schema.attributes.values():
        t = attribute.type
        if attribute.nested is not None or isinstance(t, (TupleType, ObjectType)):
            return False
        if isinstance(t, MapType) and isinstance(t.element, ObjectType):
            return False
        if isinstance(t, (ListType, SetType, MapType)):
            inner = t.element
            if isinstance(inner, (ListType, SetType, MapType)) and not isinstance(inner.element, Primitive):
                return False
    return all(_is_legacy(nested.block) for nested in schema.blocks.values())


_ELEMENT_SCHEMAS: dict[ObjectType, BlockSchema] = {}


def _element_schema(t: ObjectType) -> BlockSchema:
    """A block schema for objects of this type, with all attributes optional."""
    known = _ELEMENT_SCHEMAS.get(t)
    if known is None:
        known = BlockSchema({n: AttributeSchema(a, optional=True) for n, a in t.attributes.items()})
        _ELEMENT_SCHEMAS[t] = known
    return known


def _of_whole(value: Value, span: Span, problems: list[Diagnostic]) -> tuple[Value, list[Diagnostic]]:
    from planner.language.expressions.deprecations import take_from_body

    value, warnings = take_from_body(value, span)
    return value, [*problems, *warnings]
