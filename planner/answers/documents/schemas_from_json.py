"""Schemas of providers from the ecosystem's JSON form, as planner.answers.documents.json_schemas writes it: enough to
show plans and states by. Of identities only the versions are read, and functions are left out."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from planner.foundation.values.schema import AttributeSchema, BlockSchema, NestedAttributes, NestedBlock
from planner.foundation.values.types import DYNAMIC, type_from_json
from planner.world.provider.interface import ProviderSchema, ResourceSchema


def provider_schema(data: Mapping[str, Any]) -> ProviderSchema:
    """The schema of one provider, as far as the document has it. Raises ValueError for an unknown type of values."""
    identities = data.get("resource_identity_schemas") or {}
    versions = {name: int(one.get("version") or 0) for name, one in identities.items()}

    def resources(group: str) -> dict[str, ResourceSchema]:
        given = data.get(group) or {}
        return {name: resource_schema(one, versions.get(name, 0)) for name, one in given.items()}

    provider = data.get("provider") or {}
    return ProviderSchema(
        _block(provider.get("block") or {}),
        resources("resource_schemas"),
        resources("data_source_schemas"),
        resources("ephemeral_resource_schemas"),
        actions=resources("action_schemas"),
    )


def resource_schema(data: Mapping[str, Any], identity_version: int = 0) -> ResourceSchema:
    """The schema of a resource type: its version and its block. Raises ValueError for an unknown type of values."""
    block, version = _block(data.get("block") or {}), int(data.get("version") or 0)
    return ResourceSchema(block, version, identity_version=identity_version)


def _block(data: Mapping[str, Any]) -> BlockSchema:
    return BlockSchema(
        {name: _attribute(one) for name, one in (data.get("attributes") or {}).items()},
        {
            name: NestedBlock(
                _block(one.get("block") or {}), one["nesting_mode"], one.get("min_items", 0), one.get("max_items", 0)
            )
            for name, one in (data.get("block_types") or {}).items()
        },
        deprecated=bool(data.get("deprecated")),
    )


def _attribute(data: Mapping[str, Any]) -> AttributeSchema:
    nested = None
    if parts := data.get("nested_type"):
        inner = {name: _attribute(one) for name, one in (parts.get("attributes") or {}).items()}
        nested = NestedAttributes(inner, parts["nesting_mode"])
    return AttributeSchema(
        DYNAMIC if nested else type_from_json(data["type"]),
        bool(data.get("required")),
        bool(data.get("optional")),
        bool(data.get("computed")),
        bool(data.get("sensitive")),
        bool(data.get("deprecated")),
        bool(data.get("write_only")),
        nested,
    )
