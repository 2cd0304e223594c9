"""The lifecycle argument ignore_changes: before an object is compared with its configuration, the object's current
values replace the configured values at the ignored paths."""

from __future__ import annotations

from functools import partial
from typing import Literal

from planner.foundation.values.paths import Path, changed_at, get
from planner.foundation.values.schema import AttributeSchema, BlockSchema, NestedAttributes
from planner.foundation.values.types import MapType
from planner.foundation.values.value import (
    Map,
    Marked,
    Null,
    Unknown,
    Value,
    identical,
    mark,
    type_of,
    unmark,
    with_parts,
)
from planner.language.config.model import Reference
from planner.language.syntax.nodes import GetAttr, Traversal


def ignore_changes(
    prior: Value, config: Value, ignored: Literal["all"] | tuple[Reference, ...], schema: BlockSchema | None
) -> Value:
    """The configuration of an object, with the object's values (`prior`) at the ignored paths; unchanged if `prior` is
    null. If `ignored` is "all", the result is the object without the attributes that only the provider sets. If also
    `schema` is None, the result is the whole object; this undoes changes that a provider with the legacy type system
    planned."""
    if not ignored or prior.__class__ is Null or config.__class__ is Null:
        return config
    if ignored == "all":
        return prior if schema is None else _without_computed(prior, schema)
    for reference in ignored:
        config = _restore(prior, config, reference_path(reference))
    return config


def reference_path(reference: Reference) -> Path:
    """The path in an object that a traversal denotes."""
    node = reference.node
    if not isinstance(node, Traversal):
        return (("attr", node.name),)
    steps = tuple(("attr", s.name) if isinstance(s, GetAttr) else ("index", s.key) for s in node.steps)
    return (("attr", node.root), *steps)


def _restore(prior: Value, config: Value, path: Path) -> Value:
    key = None
    if path[-1][0] == "index" and isinstance(path[-1][1], str):
        path, key = path[:-1], path[-1][1]
    try:
        before, now = get(prior, path), get(config, path)
    except KeyError:
        return config
    if identical(before, now):
        return config
    return changed_at(config, path, lambda value: _kept_value(value, before, key))


def _kept_value(now: Value, before: Value, key: str | None) -> Value:
    plain, marks = unmark(now)
    if key is None or type_of(plain).__class__ is not MapType:
        return before
    if plain.__class__ is Unknown:
        return now
    old = unmark(before)[0]
    items = dict(plain.items) if plain.__class__ is Map else {}
    recorded = old.items if old.__class__ is Map else {}
    if key in recorded:
        items[key] = recorded[key]
    else:
        items.pop(key, None)
    if not items and plain.__class__ is Null:
        return now
    element = plain.element if plain.__class__ is Map else plain.type.element
    return mark(Map(element, items), marks)


def _without_computed(value: Value, schema: BlockSchema | NestedAttributes) -> Value:
    """The value, with null for every attribute that only the provider sets."""
    cls = value.__class__
    if cls is Marked:
        return mark(_without_computed(value.value, schema), value.marks)
    if cls is not dict:
        return value
    result = {name: _attribute(value[name], attribute) for name, attribute in schema.attributes.items()}
    if isinstance(schema, BlockSchema):
        for name, nested in schema.blocks.items():
            inner = partial(_without_computed, schema=nested.block)
            is_single = nested.nesting in ("single", "group")
            result[name] = inner(value[name]) if is_single else with_parts(value[name], inner)
    return result


def _attribute(value: Value, attribute: AttributeSchema) -> Value:
    if attribute.computed and not attribute.optional:
        return Null(attribute.type)
    if attribute.nested is None:
        return value
    if attribute.nested.nesting in ("single", "group"):
        return _without_computed(value, attribute.nested)
    return with_parts(value, partial(_without_computed, schema=attribute.nested))
