"""The schemas that a plugin tells, in our terms. Each resource type is converted when somebody first asks for it: a
large provider has a thousand and more, of which a configuration uses a few."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from planner.foundation.values.schema import AttributeSchema, BlockSchema, NestedAttributes, NestedBlock
from planner.foundation.values.types import DYNAMIC, Type, type_from_json
from planner.foundation.vocabulary.records import evolve
from planner.world.provider.interface import ResourceSchema
from planner.world.provider.schema_rules import schema_problems

_NESTINGS = {1: "single", 2: "list", 3: "set", 4: "map", 5: "group"}
_KINDS = ("plain", "markdown")


class Converted(Mapping[str, ResourceSchema]):
    """Schemas by type name, converted from messages on first need."""

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
    """The schema of a resource type, with what identifies its objects if there is such a thing. Raises ValueError when
    a type in it cannot be read or, if it is checked, the schema contradicts itself."""
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
    """The same of a body in which ephemeral values may be used."""
    converted = resource_schema(name, schema)
    return ResourceSchema(evolve(converted.block, ephemeral=True), converted.version)


def identity_schema(schema: Any) -> BlockSchema:
    """What identifies an object, as a body of attributes."""
    return BlockSchema(
        {
            a.name: AttributeSchema(
                read_type(a.type), a.required_for_import, a.optional_for_import, description=a.description
            )
            for a in schema.identity_attributes
        }
    )


def block_schema(block: Any) -> BlockSchema:
    """A block with all that may stand in it."""
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
        inner = {a.name: evolve(_attribute(a), deprecation_message="") for a in parts.attributes}  # OpenTofu has none
        nested = NestedAttributes(inner, _nesting(parts.nesting))
    return AttributeSchema(
        DYNAMIC if nested is not None else read_type(attribute.type),
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
        raise ValueError(f"blocks and attributes cannot be nested in the way {number}")
    return nesting


def kind(described: Any) -> str:
    """How the description of a message is written: plain or markdown."""
    return _KINDS[described.description_kind == 1]


def read_type(data: bytes) -> Type:
    """The type that JSON bytes denote. Raises ValueError."""
    return type_from_json(json.loads(data))
