"""A provider plugin with the schema that a configuration expects, so that configurations of any provider can be
planned and applied without it.

Run as `python fitted_server.py PROTOCOL`, in the frame of plugin_server.py. The file FITTED_SCHEMA has the schema as
JSON: {"provider": BODY, "resources": {TYPE: BODY}, "data": {TYPE: BODY}, "ephemeral": {TYPE: BODY}} with BODY
{"attributes": {NAME: "optional" or "computed"}, "blocks": {NAME: BODY}}; every attribute accepts any type. What is
computed is "made" after it was applied.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from plugin_server import M, attribute, serve

from planner.foundation.values.json_codec import from_json
from planner.foundation.values.schema import implied_type
from planner.foundation.values.types import DYNAMIC, STRING
from planner.foundation.values.value import Null, Unknown
from planner.world.provider.plugin.codec import decode, encode
from planner.world.provider.plugin.schemas import block_schema

KINDS = {
    "resources": "resource_schemas",
    "data": "data_source_schemas",
    "ephemeral": "ephemeral_resource_schemas",
}


def body(described: Mapping[str, Any], is_object: bool = True) -> Any:
    """The block that a BODY describes; one of an object has an ID."""
    attributes = dict(described.get("attributes", {}))
    made = [attribute("id", optional="id" in attributes, computed=True)] if is_object else []
    for name, kind in sorted(attributes.items()):
        if name != "id" or not is_object:
            made.append(
                attribute(name, "dynamic", **({"optional": True} if kind == "optional" else {"computed": True}))
            )
    blocks = [
        M.NestedBlock(type_name=name, nesting=2, block=body(inner, is_object=False))
        for name, inner in sorted(described.get("blocks", {}).items())
    ]
    return M.Block(attributes=made, block_types=blocks)


FIT = json.loads(Path(os.environ["FITTED_SCHEMA"]).read_text())
SCHEMA = M.SchemaAnswer(
    provider=M.Schema(block=body(FIT["provider"], is_object=False)),
    server_capabilities=M.ServerCapabilities(get_provider_schema_optional=True),
    **{
        field: {type: M.Schema(block=body(described)) for type, described in sorted(FIT[kind].items())}
        for kind, field in KINDS.items()
    },
)
TYPES = {
    kind: {type: implied_type(block_schema(schema.block)) for type, schema in getattr(SCHEMA, field).items()}
    for kind, field in KINDS.items()
}


def value(kind: str, type: str, given: Any) -> tuple[Any, Any]:
    """A value of an object, and its type."""
    wanted = TYPES[kind][type]
    return decode(given.msgpack, wanted), wanted


def written(found: Any, wanted: Any) -> Any:
    return M.DynamicValue(msgpack=encode(found, wanted))


def made(found: Any) -> Any:
    """The value after what is unknown was made."""
    if found.__class__ is Unknown:
        return "made" if found.type in (STRING, DYNAMIC) else Null(found.type)
    return {name: made(part) for name, part in found.items()} if found.__class__ is dict else found


def computed(kind: str, type: str, found: Any) -> Any:
    """A new object with its computed attributes unknown."""
    of = {"id": "computed"} | {n: k for n, k in FIT[kind][type].get("attributes", {}).items() if k == "computed"}
    return {
        name: Unknown(TYPES[kind][type].attributes[name]) if name in of and part.__class__ is Null else part
        for name, part in found.items()
    }


class Fitted:
    """The answers, one method a call (named as in protocol 6)."""

    def GetProviderSchema(self, request: Any, context: Any) -> Any:  # noqa: N802
        return SCHEMA

    def GetResourceIdentitySchemas(self, request: Any, context: Any) -> Any:  # noqa: N802
        return M.IdentitySchemasAnswer()

    def ValidateProviderConfig(self, request: Any, context: Any) -> Any:  # noqa: N802
        return M.ProviderConfigAnswer()

    def ConfigureProvider(self, request: Any, context: Any) -> Any:  # noqa: N802
        return M.Diagnostics()

    ValidateResourceConfig = ValidateDataResourceConfig = ValidateEphemeralResourceConfig = ConfigureProvider

    def UpgradeResourceState(self, request: Any, context: Any) -> Any:  # noqa: N802
        wanted = TYPES["resources"][request.type_name]
        raw = json.loads(request.raw_state.json or "{}") | dict(request.raw_state.flatmap)
        raw = {name: part for name, part in raw.items() if name in wanted.attributes}
        return M.UpgradedState(upgraded_state=written(from_json(raw, wanted), wanted))

    def ReadResource(self, request: Any, context: Any) -> Any:  # noqa: N802
        return M.ReadAnswer(new_state=request.current_state, private=request.private)

    def PlanResourceChange(self, request: Any, context: Any) -> Any:  # noqa: N802
        prior, wanted = value("resources", request.type_name, request.prior_state)
        planned, _ = value("resources", request.type_name, request.proposed_new_state)
        if planned.__class__ is Null or prior.__class__ is not Null:
            return M.PlanAnswer(planned_state=request.proposed_new_state)
        return M.PlanAnswer(planned_state=written(computed("resources", request.type_name, planned), wanted))

    def ApplyResourceChange(self, request: Any, context: Any) -> Any:  # noqa: N802
        planned, wanted = value("resources", request.type_name, request.planned_state)
        return M.ApplyAnswer(new_state=written(made(planned), wanted))

    def ImportResourceState(self, request: Any, context: Any) -> Any:  # noqa: N802
        wanted = TYPES["resources"][request.type_name]
        state = written(from_json({"id": request.id}, wanted), wanted)
        return M.ImportAnswer(imported_resources=[M.ImportedResource(type_name=request.type_name, state=state)])

    def ReadDataSource(self, request: Any, context: Any) -> Any:  # noqa: N802
        config, wanted = value("data", request.type_name, request.config)
        return M.DataSourceAnswer(state=written(made(computed("data", request.type_name, config)), wanted))

    def OpenEphemeralResource(self, request: Any, context: Any) -> Any:  # noqa: N802
        config, wanted = value("ephemeral", request.type_name, request.config)
        return M.OpenAnswer(result=written(made(computed("ephemeral", request.type_name, config)), wanted))

    def CloseEphemeralResource(self, request: Any, context: Any) -> Any:  # noqa: N802
        return M.Diagnostics()

    def StopProvider(self, request: Any, context: Any) -> Any:  # noqa: N802
        return M.StopAnswer()


def main() -> None:
    if os.environ.get("PLUGIN_CLIENT_CERT"):  # OpenTofu expects TLS then
        os.environ["TEST_PROVIDER_START"] = "tls"
    serve(Fitted())


if __name__ == "__main__":
    main()
