"""Proposes the new state of an object: the configuration, completed with computed values of the prior state.

The result is the same as that of OpenTofu's objchange.ProposedNew. All values are unmarked and have the schema's
type."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from planner.foundation.values.paths import apply_marks, get, marked_paths, parts
from planner.foundation.values.schema import (
    AttributeSchema,
    BlockSchema,
    NestedAttributes,
    NestedBlock,
    empty_value,
    implied_type,
)
from planner.foundation.values.sets import make_set
from planner.foundation.values.types import DYNAMIC, ObjectType, TupleType, Type, has_dynamic
from planner.foundation.values.value import (
    List,
    Map,
    Null,
    Set,
    Unknown,
    Value,
    same_but_refinements,
    type_of,
    unmark_deep,
)


def proposed_new(schema: BlockSchema, prior: Value, config: Value) -> Value:
    """The object that is proposed to the provider: the configured values, and `prior` (null for a new object) for
    computed values that are not configured."""
    if prior.__class__ is Null:
        if config.__class__ is Null:
            return prior
        prior = empty_value(schema)
    return _propose_block(schema, prior, config)


def planned_unknown_object(schema: BlockSchema, config: Value) -> Value:
    """The configuration with unknown computed values: the object of a data source that is not read yet."""
    return _propose_block(schema, Unknown(implied_type(schema)), config)


def _propose_block(schema: BlockSchema, prior: Value, config: Value) -> Value:
    if config.__class__ is Null or config.__class__ is Unknown:
        return prior
    out = _attributes(schema.attributes, prior, config)
    types = implied_type(schema).attributes
    for name, nested in schema.blocks.items():
        if name not in schema.attributes:
            out[name] = _nested_block(nested, attribute(prior, name, types[name]), config[name])
    return out


def _block_or_object(schema: Schema, prior: Value, config: Value) -> Value:
    if isinstance(schema, BlockSchema):
        return proposed_new(schema, prior, config)
    if config.__class__ is Null:
        return config
    return _attributes(schema.attributes, prior, config)


def _nested_block(nested: NestedBlock, prior: Value, config: Value) -> Value:
    if config.__class__ is Unknown:
        return config  # the blocks come from a dynamic block with an unknown collection
    if nested.nesting in ("single", "group"):
        return config if config.__class__ is Null else proposed_new(nested.block, prior, config)
    return _collection(nested.nesting, nested.block, prior, config)


def _attributes(schemas: dict[str, AttributeSchema], prior: Value, config: Value) -> dict[str, Value]:
    out: dict[str, Value] = {}
    for name, schema in schemas.items():
        before = attribute(prior, name, schema.type)
        wanted = attribute(config, name, schema.type)
        if schema.computed and wanted.__class__ is Null:
            out[name] = wanted if _has_configured_parts(schema, before) else before
        elif schema.nested is not None:
            out[name] = _nested_attribute(schema.nested, before, wanted)
        else:
            out[name] = wanted
    return out


def _nested_attribute(nested: NestedAttributes, prior: Value, config: Value) -> Value:
    if config.__class__ is Unknown or config.__class__ is Null:
        return config
    if nested.nesting in ("single", "group"):
        return _attributes(nested.attributes, prior, config)
    return _collection(nested.nesting, nested, prior, config)


def _collection(nesting: str, schema: Schema, prior: Value, config: Value) -> Value:
    if nesting == "list":
        return _list(schema, prior, config)
    return _map(schema, prior, config) if nesting == "map" else _set(schema, prior, config)


def _list(schema: Schema, prior: Value, config: Value) -> Value:
    """The proposed list. Elements of `prior` and `config` with the same index correspond to each other."""
    wanted = elements(config)
    if not wanted:
        return config
    unknown = prior.__class__ is Unknown
    before = () if unknown else elements(prior)
    out = []
    for i, element in enumerate(wanted):
        if unknown:
            out.append(_block_or_object(schema, Unknown(element_type(prior.type, i)), element))
        else:
            out.append(_block_or_object(schema, before[i], element) if i < len(before) else element)
    return tuple(out) if config.__class__ is tuple else List(_element_type(config.element, out), tuple(out))


def _map(schema: Schema, prior: Value, config: Value) -> Value:
    """The proposed map. Elements of `prior` and `config` with the same key correspond to each other."""
    wanted = entries(config)
    if not wanted:
        return config
    before = {} if prior.__class__ is Unknown else entries(prior)
    out = {k: _block_or_object(schema, before[k], v) if k in before else v for k, v in wanted.items()}
    return out if config.__class__ is dict else Map(_element_type(config.element, list(out.values())), out)


def _set(schema: Schema, prior: Value, config: Value) -> Value:
    """The proposed set; each configured element corresponds to the first prior element from which it may have resulted
    and which no earlier element uses."""
    if config.__class__ is not Set or not config.items:
        return config
    unused = [] if prior.__class__ is Unknown else list(elements(prior))
    out = []
    for element in config.items:
        origin = next((p for p in unused if _may_come_from(schema, p, element)), None)
        if origin is not None:
            unused.remove(origin)
        out.append(_block_or_object(schema, Null(config.element) if origin is None else origin, element))
    return make_set(_element_type(config.element, out), out)


def _element_type(declared: Any, values: list[Value]) -> Any:
    """The declared element type or, if it has dynamic parts, the type of the elements."""
    return type_of(values[0]) if has_dynamic(declared) else declared


def _has_configured_parts(schema: AttributeSchema, prior: Value) -> bool:
    """Whether the prior value has parts that can only come from a configuration."""
    if not schema.optional or schema.nested is None:
        return False
    return _has_configured_part(schema.nested, prior, ())


def _has_configured_part(nested: NestedAttributes, value: Value, path: Path) -> bool:
    if value.__class__ is Null:
        return False
    attribute = attribute_at(nested, path)
    if attribute is not None and not attribute.computed:
        return True
    return any(_has_configured_part(nested, part, (*path, step)) for step, part in parts(value))


def _may_come_from(schema: Schema, prior: Value, config: Value) -> bool:
    """Whether two set elements may correspond, because they differ only in computed values."""
    return same_but_refinements(prior, config) or _differs_by_computed(schema, prior, config, ())


def _differs_by_computed(schema: Schema, prior: Value, config: Value, path: Path) -> bool:
    try:
        wanted = get(config, path)
    except KeyError:
        return False
    if same_but_refinements(wanted, prior):
        return True
    if wanted.__class__ is Set or (wanted.__class__ in (Null, Unknown) and getattr(wanted.type, "kind", "") == "set"):
        return False
    attribute = attribute_at(schema, path)
    if attribute is None or attribute.nested is not None:
        return all(_differs_by_computed(schema, part, config, (*path, step)) for step, part in parts(prior))
    return attribute.computed and wanted.__class__ is Null


# Objects of providers with the legacy SDK, in which collections of blocks must not be null.
#
# As in OpenTofu's objchange.NormalizeObjectFromLegacySDK.


def normalize_legacy_object(value: Value, schema: BlockSchema) -> Value:
    """The object, with empty collections for missing blocks, and with one block of unknown attributes for an unknown
    collection of blocks. Marks are preserved."""
    marks = marked_paths(value)
    plain, _ = unmark_deep(value)
    return apply_marks(_object(plain, schema), marks)


def _object(value: Value, schema: BlockSchema) -> Value:
    if value.__class__ is Null:
        return Null(implied_type(schema))
    types = implied_type(schema).attributes
    out = {name: attribute(value, name, t) for name, t in types.items()}
    for name, nested in schema.blocks.items():
        if not has_dynamic(implied_type(nested.block)):  # the legacy SDK has no dynamic types
            out[name] = _blocks(out[name], nested)
    return out


def _blocks(value: Value, nested: NestedBlock) -> Value:
    item = implied_type(nested.block)
    unknown = value.__class__ is Unknown
    if nested.nesting in ("single", "group"):
        if unknown:
            return _stub(nested.block)
        if value.__class__ is Null and nested.nesting == "group":
            return empty_value(nested.block)
        return _object(value, nested.block)
    if nested.nesting == "map":
        return value
    blocks = [_stub(nested.block)] if unknown else [_object(v, nested.block) for v in elements(value)]
    return List(item, tuple(blocks)) if nested.nesting == "list" else make_set(item, blocks)


def _stub(schema: BlockSchema) -> Value:
    """A block of unknown attributes, for an unknown block or collection. The collection may turn out to be empty."""
    out: dict[str, Value] = {name: Unknown(a.type) for name, a in schema.attributes.items()}
    for name, nested in schema.blocks.items():
        item = implied_type(nested.block)
        if nested.nesting in ("single", "group"):
            out[name] = _stub(nested.block)
        elif nested.nesting == "list":
            out[name] = List(item, (_stub(nested.block),))
        elif nested.nesting == "set":
            out[name] = Set(item, (_stub(nested.block),))
        else:
            out[name] = Map(item, {})
    return out


# Access to parts of values that may be null or unknown.


Schema = BlockSchema | NestedAttributes
Path = tuple[tuple[str, Any], ...]


def attribute(value: Value, name: str, type: Type) -> Value:
    """An attribute of an object; null or unknown if the object is null or unknown."""
    cls = value.__class__
    if cls is Null:
        return Null(type)
    if cls is Unknown:
        return Unknown(type)
    return value[name]


def elements(value: Value) -> tuple[Value, ...]:
    """The elements of a known list, set or tuple; none for null."""
    cls = value.__class__
    if cls is tuple:
        return value  # type: ignore[no-any-return]
    return value.items if cls is List or cls is Set else ()


def entries(value: Value) -> Mapping[str, Value]:
    """The entries of a known map or object; none for null."""
    cls = value.__class__
    if cls is dict:
        return value  # type: ignore[no-any-return]
    return value.items if cls is Map else {}


def element_type(t: Type, key: Any) -> Type:
    """The type of an element in a collection, tuple or object of type `t`."""
    if isinstance(t, TupleType):
        return t.elements[key] if isinstance(key, int) and key < len(t.elements) else DYNAMIC
    if isinstance(t, ObjectType):
        return t.attributes.get(key, DYNAMIC)
    return getattr(t, "element", DYNAMIC)


def attribute_at(schema: Schema, path: Path) -> AttributeSchema | None:
    """The attribute at which a path ends; None if it ends at a block or element, or inside an attribute without nested
    attributes."""
    here: Schema = schema
    for i, (kind, name) in enumerate(path):
        if kind != "attr":
            continue
        attribute = here.attributes.get(name)
        if attribute is not None:
            if i == len(path) - 1:
                return attribute
            if attribute.nested is None:
                return None
            here = attribute.nested
        elif isinstance(here, BlockSchema) and name in here.blocks:
            here = here.blocks[name].block
        else:
            return None
    return None
