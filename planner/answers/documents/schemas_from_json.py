"""Schemas of resources from the ecosystem's JSON form, as planner.answers.documents.json_schemas writes it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from planner.foundation.values.schema import AttributeSchema, BlockSchema, NestedAttributes, NestedBlock
from planner.foundation.values.types import DYNAMIC, type_from_json
from planner.world.provider.interface import ResourceSchema


def resource_schema(data: Mapping[str, Any]) -> ResourceSchema:
    """The schema of a resource type: its version and its block. Raises ValueError for an unknown type of values."""
    return ResourceSchema(_block(data.get("block") or {}), int(data.get("version") or 0))


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
