"""Objects of providers built on the legacy SDK, made regular: no null where a collection of blocks belongs.

After OpenTofu's objchange.NormalizeObjectFromLegacySDK.
"""

from __future__ import annotations

from planner.foundation.values.paths import apply_marks, marked_paths
from planner.foundation.values.schema import BlockSchema, NestedBlock, empty_value, implied_type
from planner.foundation.values.sets import make_set
from planner.foundation.values.types import has_dynamic
from planner.foundation.values.value import List, Map, Null, Set, Unknown, Value, unmark_deep
from planner.world.provider.schema_paths import attribute, elements


def normalize_legacy_object(value: Value, schema: BlockSchema) -> Value:
    """The object with empty collections for missing blocks, and for unknown ones a single block of unknown attributes.
    Marks stay where they are."""
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
    """A block of which nothing is known but that it may be there."""
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
