"""The providers that the recorded test cases use, in this process: hashicorp/null and hashicorp/local, as far as the
cases go. As plugins they would be started hundreds of times, which takes minutes; what happens between planner and
plugins is tested in tests/provider."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

from planner.foundation.values.schema import AttributeSchema, BlockSchema
from planner.foundation.values.types import STRING, MapType
from planner.foundation.values.value import Map, Null, Unknown, Value
from planner.world.provider import registry
from planner.world.provider.interface import (
    ApplyAnswer,
    ApplyRequest,
    AttributeDiagnostic,
    PlanAnswer,
    PlanRequest,
    Provider,
    ProviderSchema,
    ReadAnswer,
    ResourceSchema,
)
from planner.world.provider.registry import OfflineProvider

COMPUTED = AttributeSchema(STRING, computed=True)
OPTIONAL = AttributeSchema(STRING, optional=True)
MAP = MapType(STRING)
DEPRECATED = (
    "The null_data_source was historically used to construct intermediate values to re-use elsewhere in configuration, "
    "the same can now be achieved using locals or the terraform_data resource type in Terraform 1.4 and later."
)
LEGACY = (
    "This attribute is only present for some legacy compatibility issues and should not be used. It will be removed in "
    "a future version."
)
NULL = ProviderSchema(
    BlockSchema(),
    {"null_resource": ResourceSchema(BlockSchema({"id": COMPUTED, "triggers": AttributeSchema(MAP, optional=True)}))},
    {
        "null_data_source": ResourceSchema(
            BlockSchema(
                {
                    "has_computed_default": AttributeSchema(STRING, optional=True, computed=True),
                    "id": AttributeSchema(STRING, computed=True, deprecated=True, deprecation_message=LEGACY),
                    "inputs": AttributeSchema(MAP, optional=True),
                    "outputs": AttributeSchema(MAP, computed=True),
                    "random": COMPUTED,
                },
                deprecated=True,
                deprecation_message=DEPRECATED,
            )
        )
    },
)
DIGESTS = {
    name: COMPUTED
    for name in ("base64sha256", "base64sha512", "md5", "sha1", "sha256", "sha512")
    for name in (f"content_{name}",)
}


def _file(secret: bool, **more: AttributeSchema) -> ResourceSchema:
    content = AttributeSchema(STRING, optional=True, sensitive=secret)
    permission = AttributeSchema(STRING, optional=True, computed=True)
    return ResourceSchema(
        BlockSchema(
            {
                **DIGESTS,
                **dict.fromkeys(("content", "content_base64"), content),
                **dict.fromkeys(("directory_permission", "file_permission"), permission),
                "filename": AttributeSchema(STRING, required=True),
                "id": COMPUTED,
                "source": OPTIONAL,
                **more,
            }
        )
    )


SENSITIVE_CONTENT = AttributeSchema(
    STRING,
    optional=True,
    sensitive=True,
    deprecated=True,
    deprecation_message="Use the `local_sensitive_file` resource instead",
)
LOCAL = ProviderSchema(
    BlockSchema(),
    {
        "local_file": _file(False, sensitive_content=SENSITIVE_CONTENT),
        "local_sensitive_file": _file(True),
    },
    {
        "local_file": ResourceSchema(
            BlockSchema(
                {
                    **DIGESTS,
                    "content": COMPUTED,
                    "content_base64": COMPUTED,
                    "filename": AttributeSchema(STRING, required=True),
                    "id": COMPUTED,
                }
            )
        )
    },
)
SCHEMAS = {"registry.opentofu.org/hashicorp/null": NULL, "registry.opentofu.org/hashicorp/local": LOCAL}


class StandIn:
    """Does what null does; of local there is only the schema."""

    is_inline = True

    def __init__(self, known: ProviderSchema, address: str) -> None:
        self.known, self.address = known, address
        self.quiet = OfflineProvider(self)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.quiet, name)  # what is not below changes nothing

    def schema(self) -> ProviderSchema:
        return self.known

    def validate_resource(self, mode: str, type: str, config: Value) -> list[AttributeDiagnostic]:
        return [AttributeDiagnostic("warning", "Deprecated", DEPRECATED)] if type == "null_data_source" else []

    def plan(self, request: PlanRequest) -> PlanAnswer:
        if request.proposed.__class__ is Null or request.prior.__class__ is not Null:
            changes = request.prior.__class__ is dict and request.proposed.__class__ is dict
            replaces = changes and request.prior["triggers"] != request.proposed["triggers"]
            return PlanAnswer(request.proposed, ((("attr", "triggers"),),) if replaces else ())
        return PlanAnswer({**request.proposed, "id": Unknown(STRING)})

    def apply(self, request: ApplyRequest) -> ApplyAnswer:
        if request.planned.__class__ is Null:
            return ApplyAnswer(request.planned)
        is_new = request.planned["id"].__class__ is Unknown
        return ApplyAnswer({**request.planned, "id": _number()} if is_new else request.planned)

    def read_data(self, type: str, config: Value, meta: Value = None, address: str = "") -> ReadAnswer:
        given = config["has_computed_default"]
        read: dict[str, Any] = {
            "has_computed_default": "default" if given.__class__ is Null else given,
            "id": "static",
            "inputs": config["inputs"],
            "outputs": Map(STRING, {}) if config["inputs"].__class__ is Null else config["inputs"],
            "random": _number(),
        }
        return ReadAnswer(read)

    def close(self) -> None:
        """Nothing runs."""

    def answers_of(self, calls: dict[str, bool]) -> None:
        """Nothing is kept."""


def _number() -> str:
    return str(random.randrange(10**18, 9 * 10**18))


def install() -> None:
    """From now on these are what is started as plugins."""

    def plugin(address: str, binary: str) -> Provider:
        return StandIn(SCHEMAS[address], address)

    registry._plugin = plugin


def write_mirror(folder: Path) -> Path:
    """A mirror with packages of them, for init, and settings that name it; the path of these."""
    for address, version in (("null", "3.2.4"), ("local", "2.6.1")):
        place = folder / "mirror/registry.opentofu.org/hashicorp" / address / version / registry_platform()
        place.mkdir(parents=True)
        program = place / f"terraform-provider-{address}_v{version}"
        program.write_text("#!/bin/sh\nexit 1\n")
        program.chmod(0o755)
    settings = folder / "settings.tfrc"
    text = f'provider_installation {{\n  filesystem_mirror {{\n    path = "{folder / "mirror"}"\n  }}\n}}\n'
    settings.write_text(text)
    return settings


def registry_platform() -> str:
    from planner.world.provider.locate import own_platform

    return own_platform()
