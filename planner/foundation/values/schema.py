"""Schemas of provider objects: attributes and blocks of a body, and the type of its value.

As in OpenTofu's configschema. planner.language.expressions.decode decodes a body with a schema."""

from __future__ import annotations

from typing import Any, Literal

from planner.foundation.values.convert import ConversionError, Path, convert
from planner.foundation.values.sets import make_set
from planner.foundation.values.types import (
    DYNAMIC,
    ListType,
    ObjectType,
    SetType,
    Type,
    collection_type,
    has_dynamic,
    without_optional,
)
from planner.foundation.values.value import List, Map, Marked, Null, Set, Unknown, Value, mark, type_of
from planner.foundation.vocabulary.records import field, frozen


@frozen(eq=False)
class NestedAttributes:
    """Nested attributes of an attribute. The value is an object (`nesting` "single"), or a "list", "set" or "map" of
    objects."""

    attributes: dict[str, AttributeSchema]
    nesting: str = "single"


@frozen(eq=False)
class AttributeSchema:
    """The schema of an attribute. Its values have the type `type`. If there are `nested` attributes, this type is
    computed from them. If an attribute is `computed` but not `optional`, only the provider sets it. `write_only`:
    whether the value is never stored in plans and states."""

    type: Type = DYNAMIC
    required: bool = False
    optional: bool = False
    computed: bool = False
    sensitive: bool = False
    deprecated: bool = False
    write_only: bool = False
    nested: NestedAttributes | None = None
    description: str = ""
    description_kind: str = "plain"
    deprecation_message: str = ""
    decode_type: Type = field(init=False, repr=False)
    """the type to which a configured value is converted, with optional attributes marked"""

    def __attrs_post_init__(self) -> None:
        wanted = self.type if self.nested is None else _nested_type(self.nested)
        object.__setattr__(self, "decode_type", wanted)
        object.__setattr__(self, "type", without_optional(wanted))


def _nested_type(nested: NestedAttributes) -> Type:
    optional = frozenset(n for n, a in nested.attributes.items() if a.optional or a.computed)
    item = ObjectType({n: a.decode_type for n, a in nested.attributes.items()}, optional)
    return item if nested.nesting in ("single", "group") else collection_type(nested.nesting, item)


@frozen(eq=False)
class NestedBlock:
    """A block type in a body. `nesting` is "single", "group" (single, never null), "list", "set" or "map" (with labels
    as keys). `min_items`, `max_items`: 0 means no limit."""

    block: BlockSchema
    nesting: str = "list"
    min_items: int = 0
    max_items: int = 0


@frozen(eq=False)
class BlockSchema:
    """The permitted content of a body. `ephemeral`: whether the body may use ephemeral values."""

    attributes: dict[str, AttributeSchema] = field(factory=dict)
    blocks: dict[str, NestedBlock] = field(factory=dict)
    description: str = ""
    description_kind: str = "plain"
    deprecated: bool = False
    deprecation_message: str = ""
    ephemeral: bool = False
    cache: dict[str, Any] = field(factory=dict, init=False, repr=False)
    """data that other modules derive from the schema, by keys that these modules choose"""


def decode_type(schema: BlockSchema) -> ObjectType:
    """The type of a body's value. A conversion to this type adds missing optional attributes."""
    known: ObjectType | None = schema.cache.get("decode_type")
    if known is None:
        types: dict[str, Type] = {name: a.decode_type for name, a in schema.attributes.items()}
        for name, nested in schema.blocks.items():
            types.setdefault(name, _block_type(nested))
        known = schema.cache["decode_type"] = ObjectType(types)
    return known


def _block_type(nested: NestedBlock) -> Type:
    item = decode_type(nested.block)
    if nested.nesting in ("single", "group"):
        return item
    if nested.nesting in ("list", "map") and has_dynamic(item):
        return DYNAMIC  # a tuple or an object, whose type depends on the blocks
    return collection_type(nested.nesting, item)


def implied_type(schema: BlockSchema) -> ObjectType:
    """`decode_type` with all attributes required, at any depth."""
    known: ObjectType | None = schema.cache.get("implied_type")
    if known is None:
        stripped = without_optional(decode_type(schema))
        assert isinstance(stripped, ObjectType)
        known = schema.cache["implied_type"] = stripped
    return known


def empty_value(schema: BlockSchema) -> Value:
    result: dict[str, Value] = {name: Null(a.type) for name, a in schema.attributes.items()}
    for name, nested in schema.blocks.items():
        result.setdefault(name, empty_block(nested))
    return result


def empty_block(nested: NestedBlock) -> Value:
    """The value of a block type in a body without blocks of this type."""
    item = implied_type(nested.block)
    if nested.nesting == "single":
        return Null(item)
    if nested.nesting == "group":
        return empty_value(nested.block)
    if nested.nesting == "set":
        return Set(item, ())
    if nested.nesting == "list":
        return () if has_dynamic(item) else List(item, ())
    return {} if has_dynamic(item) else Map(item, {})


# ---------------------------------------------------------------- coercion


def coerce(value: Value, schema: BlockSchema) -> Value:
    """Convert an object to the schema's type: attributes are converted, missing attributes become null, and missing
    blocks become empty.

    Raises ConversionError if an attribute is not in the schema, a required one is missing, or a value cannot be
    converted.
    """
    return _coerce(value, schema, ())


def _coerce(value: Value, schema: BlockSchema, path: Path) -> Value:
    cls = value.__class__
    if cls is Marked:
        return mark(_coerce(value.value, schema, path), value.marks)
    if cls is Null or cls is Unknown:
        return cls(implied_type(schema))
    if cls is not dict:
        raise ConversionError("an object is required", path)
    for name in value:
        if name not in schema.attributes and name not in schema.blocks:
            raise ConversionError(f'there is no attribute "{name}" in the schema', path)
    result: dict[str, Value] = {}
    for name, attribute in schema.attributes.items():
        if name not in value:
            if not (attribute.computed or attribute.optional):
                raise ConversionError(f'the attribute "{name}" is required', path)
            result[name] = Null(attribute.type)
            continue
        try:
            result[name] = convert(value[name], attribute.decode_type)
        except ConversionError as e:
            raise ConversionError(e.reason, (*path, ("attr", name), *e.path)) from None
    for name, nested in schema.blocks.items():
        if name in schema.attributes:
            continue
        given = value.get(name)
        result[name] = empty_block(nested) if given is None else _coerce_blocks(given, nested, (*path, ("attr", name)))
    return result


def _coerce_blocks(value: Value, nested: NestedBlock, path: Path) -> Value:
    if nested.nesting in ("single", "group"):
        return _coerce(value, nested.block, path)
    cls = value.__class__
    if cls is Marked:
        return mark(_coerce_blocks(value.value, nested, path), value.marks)
    item = implied_type(nested.block)
    if cls is Null or cls is Unknown:
        return cls(collection_type(nested.nesting, item))
    if nested.nesting == "map":
        if cls is not dict and cls is not Map:
            raise ConversionError("a map is required", path)
        given = value if cls is dict else value.items
        items = {k: _coerce(v, nested.block, (*path, ("index", k))) for k, v in given.items()}
        if not items:
            return Map(item, {})
        if cls is dict or any(type_of(v) != value.element for v in items.values()):
            return items
        return Map(value.element, items)
    if cls is not tuple and cls is not List and cls is not Set:
        raise ConversionError(f"a {nested.nesting} is required", path)
    elements = [
        _coerce(v, nested.block, (*path, ("index", i))) for i, v in enumerate(value if cls is tuple else value.items)
    ]
    if not elements:
        return List(item, ()) if nested.nesting == "list" else Set(item, ())
    if nested.nesting == "set":
        return make_set(item, elements)
    if has_dynamic(item):
        types = {type_of(e) for e in elements}
        return List(types.pop(), tuple(elements)) if len(types) == 1 else tuple(elements)
    return List(item, tuple(elements))


def contains(schema: BlockSchema, property: Literal["sensitive", "deprecated", "write_only"]) -> bool:
    """Whether an attribute at any depth has the property. As in OpenTofu, deprecated blocks do not count."""
    known = schema.cache.get(property)
    if known is None:
        known = any(has(attribute, property) for attribute in schema.attributes.values()) or any(
            contains(nested.block, property) for nested in schema.blocks.values()
        )
        schema.cache[property] = known
    return bool(known)


def has(attribute: AttributeSchema, property: str) -> bool:
    nested = attribute.nested.attributes.values() if attribute.nested is not None else ()
    return getattr(attribute, property) or any(has(one, property) for one in nested)


def can_be_blocks(t: Type) -> bool:
    """Whether an attribute of this type may be written as blocks: a list or set of objects."""
    return isinstance(t, (ListType, SetType)) and isinstance(t.element, ObjectType)
