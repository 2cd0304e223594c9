"""Converts schemas of plugins to planner's types. Each type is converted on first use, because a large provider has
more than a thousand types, and a configuration uses only a few of them."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from planner.foundation.values.schema import AttributeSchema, BlockSchema, NestedAttributes, NestedBlock, implied_type
from planner.foundation.values.types import DYNAMIC, Type, constraint_from_json, has_dynamic, type_from_json
from planner.foundation.vocabulary.records import evolve
from planner.world.provider.interface import ResourceSchema

_NESTINGS = {1: "single", 2: "list", 3: "set", 4: "map", 5: "group"}
_KINDS = ("plain", "markdown")


class Converted(Mapping[str, ResourceSchema]):
    """Schemas by type name, converted from messages on first use."""

    def __init__(self, given: Any, convert: Callable[[str, Any], ResourceSchema]) -> None:
        self._given, self._convert = given, convert
        self._names = sorted(given)
        self._known: dict[str, ResourceSchema] = {}

    def __getitem__(self, name: str) -> ResourceSchema:
        schema = self._known.get(name)
        if schema is None:
            if name not in self:
                raise KeyError(name)
            schema = self._known.setdefault(name, self._convert(name, self._given[name]))
        return schema

    def __contains__(self, name: object) -> bool:
        return name in self._given

    def __iter__(self) -> Iterator[str]:
        return iter(self._names)

    def __len__(self) -> int:
        return len(self._names)


def resource_schema(name: str, schema: Any, identity: Any = None, is_checked: bool = True) -> ResourceSchema:
    """The schema of a resource type, with the schema of identities, if any. Raises ValueError if a type cannot be read
    or, if `is_checked` is set, if the schema contradicts itself."""
    block = block_schema(schema.block)
    problems = [*schema_problems(block)] if is_checked else []
    if schema.version < 0:
        problems.append(f"its version is {schema.version}")
    if problems:
        raise ValueError(f"{name}: {'; '.join(problems)}")
    if identity is None:
        return ResourceSchema(block, schema.version)
    return ResourceSchema(block, schema.version, identity_schema(identity), identity.version)


def ephemeral_schema(name: str, schema: Any) -> ResourceSchema:
    """The schema of an ephemeral resource, whose body may use ephemeral values."""
    converted = resource_schema(name, schema)
    return ResourceSchema(evolve(converted.block, ephemeral=True), converted.version)


def action_schema(name: str, given: Any) -> ResourceSchema:
    return resource_schema(name, given.schema)


def identity_schema(schema: Any) -> BlockSchema:
    """The schema of identities, in the form of a block with only attributes."""
    return BlockSchema(
        {
            a.name: AttributeSchema(
                read_type(a.type), a.required_for_import, a.optional_for_import, description=a.description
            )
            for a in schema.identity_attributes
        }
    )


def block_schema(block: Any) -> BlockSchema:
    return BlockSchema(
        {a.name: _attribute(a) for a in block.attributes},
        {
            b.type_name: NestedBlock(block_schema(b.block), _nesting(b.nesting), b.min_items, b.max_items)
            for b in block.block_types
        },
        block.description,
        kind(block),
        block.deprecated,
        block.deprecation_message,
    )


def _attribute(attribute: Any) -> AttributeSchema:
    nested = None
    # protocol 5 has no nested attributes
    if "nested_type" in attribute.DESCRIPTOR.fields_by_name and attribute.HasField("nested_type"):
        parts = attribute.nested_type
        # OpenTofu has no deprecation messages for nested attributes
        inner = {a.name: evolve(_attribute(a), deprecation_message="") for a in parts.attributes}
        nested = NestedAttributes(inner, _nesting(parts.nesting))
    return AttributeSchema(
        DYNAMIC if nested is not None else constraint_from_json(json.loads(attribute.type)),
        attribute.required,
        attribute.optional,
        attribute.computed,
        attribute.sensitive,
        attribute.deprecated,
        attribute.write_only,
        nested,
        attribute.description,
        kind(attribute),
        attribute.deprecation_message,
    )


def _nesting(number: int) -> str:
    nesting = _NESTINGS.get(number)
    if nesting is None:
        raise ValueError(f"{number} is not a valid nesting mode of blocks and attributes")
    return nesting


def kind(described: Any) -> str:
    """The format of a description: plain or markdown."""
    return _KINDS[described.description_kind == 1]


def read_type(data: bytes) -> Type:
    """A type in JSON. Raises ValueError."""
    return type_from_json(json.loads(data))


# Contradictions in schemas, as in OpenTofu's configschema.Block.InternalValidate.


_NAME_CHARACTERS = frozenset("abcdefghijklmnopqrstuvwxyz0123456789_")


def schema_problems(block: BlockSchema, prefix: str = "") -> Iterator[str]:
    for name, attribute in block.attributes.items():
        yield from _schema_rules_attribute(attribute, prefix, name)
    for name, nested in block.blocks.items():
        if name in block.attributes:
            yield f"{prefix}{name} is both an attribute and a block"
        elif not name or not _NAME_CHARACTERS.issuperset(name):
            yield f"{prefix}{name} is not a valid name for a block"
        yield from _limits(nested, prefix + name)
        yield from schema_problems(nested.block, f"{prefix}{name}.")


def _schema_rules_attribute(attribute: AttributeSchema, prefix: str, name: str) -> Iterator[str]:
    at = prefix + name
    if not (attribute.optional or attribute.required or attribute.computed):
        yield f"{at} is neither required nor optional nor computed"
    if attribute.required and (attribute.optional or attribute.computed):
        yield f"{at} is required, but also {'optional' if attribute.optional else 'computed'}"
    if attribute.nested is not None:
        if attribute.nested.nesting == "set" and has_dynamic(attribute.type):
            yield f"{at} is a set whose elements have a dynamic type"
        for inner, part in attribute.nested.attributes.items():
            yield from _schema_rules_attribute(part, prefix, inner)


def _limits(nested: NestedBlock, at: str) -> Iterator[str]:
    least, most = nested.min_items, nested.max_items
    if least < 0 or most < 0:
        yield f"the limits of {at} are {least} and {most}"
    elif nested.nesting == "single" and (least != most or least > 1):
        yield f"{at} is a single block, so its limits must be both 0 or both 1, not {least} and {most}"
    elif nested.nesting in ("group", "map") and (least or most):
        yield f"{at} has limits, which blocks of this nesting cannot have"
    elif nested.nesting in ("list", "set") and most and least > most:
        yield f"{at} needs at least {least} and at most {most} blocks"
    if nested.nesting == "set" and has_dynamic(implied_type(nested.block)):
        yield f"{at} is a set of blocks that contain a dynamic type"
