"""Provider schemas as JSON (the output of `providers schema -json`, format 1.0)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from planner.foundation.values.schema import AttributeSchema, BlockSchema, NestedAttributes, NestedBlock
from planner.foundation.values.types import DYNAMIC, constraint_from_json, type_to_json
from planner.language.functions.protocol import Function, Param
from planner.world.provider.interface import ProviderSchema, ResourceSchema


def schemas_json(schemas: Mapping[str, ProviderSchema]) -> dict[str, Any]:
    """The output of `providers schema -json`. `schemas`: {source address: schema}."""
    providers = {source: provider_json(schemas[source]) for source in sorted(schemas)}
    return {"format_version": "1.0", **_present("provider_schemas", providers)}


def provider_json(schema: ProviderSchema) -> dict[str, Any]:
    """The schemas of a provider as JSON. Empty members are omitted."""
    provider: dict[str, Any] = {"version": schema.version}
    if schema.is_configurable:
        provider["block"] = block_json(schema.provider)
    return {
        "provider": provider,
        **_present("resource_schemas", _resources(schema.resources)),
        **_present("data_source_schemas", _resources(schema.data_sources)),
        **_present("ephemeral_resource_schemas", _resources(schema.ephemeral)),
        **_present("action_schemas", _resources(schema.actions)),
        **_present("list_resource_schemas", _resources(schema.list_resources)),
        **_present("functions", {name: _function(schema.functions[name]) for name in sorted(schema.functions)}),
        **_present("resource_identity_schemas", _identities(schema.resources)),
    }


def _function(function: Function) -> dict[str, Any]:
    """A function as JSON. Descriptions are included even if they are empty."""
    return {
        "description": function.description,
        "summary": function.summary,
        "return_type": type_to_json(function.return_type),
        **_present("parameters", [_parameter(p) for p in function.params]),
        **({"variadic_parameter": _parameter(function.variadic)} if function.variadic is not None else {}),
    }


def _parameter(param: Param) -> dict[str, Any]:
    return {
        "name": param.name,
        "description": param.description,
        "type": type_to_json(param.type),
        **_present("is_nullable", param.allow_null),
    }


def _identities(schemas: Mapping[str, ResourceSchema]) -> dict[str, Any]:
    """{resource type: identity schema as JSON}. Types without identities are omitted."""
    identities = {}
    for name in sorted(schemas):
        identity = schemas[name].identity
        if identity is not None:
            attributes = {key: _identity_attribute(identity.attributes[key]) for key in sorted(identity.attributes)}
            identities[name] = {"version": schemas[name].identity_version, **_present("attributes", attributes)}
    return identities


def _identity_attribute(schema: AttributeSchema) -> dict[str, Any]:
    return {
        "type": type_to_json(schema.decode_type),
        **_present("description", schema.description),
        **_present("required_for_import", schema.required),
        **_present("optional_for_import", schema.optional),
    }


def _resources(schemas: Mapping[str, ResourceSchema]) -> dict[str, Any]:
    return {
        name: {"version": schemas[name].version, "block": block_json(schemas[name].block)} for name in sorted(schemas)
    }


def block_json(schema: BlockSchema) -> dict[str, Any]:
    blocks = {}
    for name in sorted(schema.blocks):
        nested = schema.blocks[name]
        blocks[name] = {
            "nesting_mode": nested.nesting,
            "block": block_json(nested.block),
            **_present("min_items", nested.min_items),
            **_present("max_items", nested.max_items),
        }
    return {
        **_present("attributes", {name: attribute_json(schema.attributes[name]) for name in sorted(schema.attributes)}),
        **_present("block_types", blocks),
        **_description(schema),
    }


def attribute_json(schema: AttributeSchema) -> dict[str, Any]:
    """An attribute as JSON, with its type, or with its nested attributes and their nesting mode."""
    out: dict[str, Any] = {}
    if schema.nested is None:
        out["type"] = type_to_json(schema.decode_type)
    else:
        parts = schema.nested.attributes
        out["nested_type"] = {
            "attributes": {name: attribute_json(parts[name]) for name in sorted(parts)},
            "nesting_mode": schema.nested.nesting,
        }
    out.update(_description(schema))
    for name in ("required", "optional", "computed", "sensitive", "write_only"):
        out.update(_present(name, getattr(schema, name)))
    return out


def _description(schema: AttributeSchema | BlockSchema) -> dict[str, Any]:
    return {
        **_present("description", schema.description),
        "description_kind": schema.description_kind,
        **_present("deprecated", schema.deprecated),
        **_present("deprecation_message", schema.deprecation_message),
    }


def _present(name: str, value: Any) -> dict[str, Any]:
    return {name: value} if value else {}


# Reads provider schemas from the JSON form above, as far as plans and states need them: functions are not read, and of
# identities only the versions are read


def provider_schema(data: Mapping[str, Any]) -> ProviderSchema:
    """The provider schema in this JSON. Raises ValueError for an unknown value type, and KeyError for missing
    members."""
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
    """The resource schema in this JSON. Raises ValueError for an unknown value type, and KeyError for missing
    members."""
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
        DYNAMIC if nested else constraint_from_json(data["type"]),
        bool(data.get("required")),
        bool(data.get("optional")),
        bool(data.get("computed")),
        bool(data.get("sensitive")),
        bool(data.get("deprecated")),
        bool(data.get("write_only")),
        nested,
    )
