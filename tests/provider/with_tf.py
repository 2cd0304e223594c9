"""A provider made with the package `tf` from PyPI, as its users make them.

Started as a plugin by a Python that has `tf`. Its objects are JSON files in the directory TEST_PROVIDER_WORLD. What
goes wrong is asked for by the argument `fail`.

What it covers: protocol 6 with a certificate of its own; the calls for the schema, functions, validation, upgrades,
reading, planning, applying, import and data sources; blocks nested as sets (one in another) and as single ones. `tf`
plans no destruction, keeps no private data, knows no identities, no ephemeral resources, no write-only and no nested
attributes, refuses every move between types, and ends its process when it is asked to stop. with_pyvider.py and
plugin_server.py cover these.
"""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import Any

from tf.blocks import SetNestedBlock
from tf.function import CallContext, Function, FunctionSignature, Parameter, Return
from tf.iface import DataSource, Provider, Resource
from tf.provider import _decode_state, _encode_state_d
from tf.runner import run_provider
from tf.schema import Attribute, Block, NestedBlock, NestMode, Schema
from tf.types import Bool, List, Map, NormalizedJson, Number, Set, String, Unknown
from tf.utils import Diagnostics

WORLD = Path(os.environ.get("TEST_PROVIDER_WORLD", "."))


class SingleBlock(NestedBlock):
    """The nesting that `tf` declares and leaves to its users."""

    def __init__(self, type_name: str, block: Block) -> None:
        super().__init__(type_name, NestMode.Single, block)

    def encode(self, value: Any) -> Any:
        return _encode_state_d(self._amap(), self._bmap(), value, None)

    def decode(self, value: Any) -> Any:
        return _decode_state(Diagnostics(), self._amap(), self._bmap(), value)[1] if value is not None else None


def path(id: str) -> Path:
    return WORLD / f"{id}.json"


def load(id: str) -> dict[str, Any] | None:
    return json.loads(path(id).read_text()) if path(id).exists() else None


def optional(name: str, of: Any, **flags: Any) -> Attribute:
    return Attribute(name, of, optional=True, **flags)


class Note(Resource):
    def __init__(self, provider: TestProvider) -> None:
        self.provider = provider

    @classmethod
    def get_name(cls) -> str:
        return "note"

    @classmethod
    def get_schema(cls) -> Schema:
        attributes = [
            Attribute("id", String(), computed=True),
            Attribute("name", String(), required=True, description="what it is *called*"),
            optional("region", String(), requires_replace=True),
            optional("size", Number()),
            optional("shut", Bool()),
            optional("lines", List(String())),
            optional("zones", Set(String())),
            optional("tags", Map(String())),
            optional("table", Map(List(Number()))),
            optional("document", NormalizedJson()),
            optional("secret", String(), sensitive=True),
            optional("old", String(), deprecated=True),
            optional("made", String(), computed=True),
            optional("level", Number(), computed=True, default=3),
            Attribute("token", String(), computed=True, sensitive=True),
            optional("fail", String()),
        ]
        part = SetNestedBlock("part", Block([Attribute("name", String(), required=True)]))
        blocks = [
            SetNestedBlock(
                "rule", Block([Attribute("port", Number(), required=True), optional("by", String())], [part])
            ),
            SingleBlock("limit", Block([optional("most", Number()), optional("key", String(), sensitive=True)])),
        ]
        return Schema(attributes, version=2, block_types=blocks)

    def validate(self, diags: Diagnostics, type_name: str, config: dict[str, Any]) -> None:
        super().validate(diags, type_name, config)
        fail = config["fail"]
        if fail == "validate":
            diags.add_error("Bad name", "as the test wants it", path=["name"])
            diags.add_error("Bad line", path=["lines", (1,)])
        if fail == "validate-deep":
            diags.add_error("Bad tag", path=["tags", ("k",)])
            diags.add_error("Bad limit", path=["limit", "most"])
            diags.add_error("Bad rule", path=["rule", (0,), "port"])
            diags.add_error("Bad nothing", path=["nowhere"])
        if fail == "warn":
            diags.add_warning("Careful", path=["name"])
            diags.add_warning("Careful in general")

    def plan(self, ctx: Any, current: dict[str, Any] | None, planned: dict[str, Any]) -> dict[str, Any]:
        fail = planned["fail"]
        if fail == "plan":
            ctx.diagnostics.add_error("No plan", "as the test wants it", path=["size"])
        if fail == "warn":
            ctx.diagnostics.add_warning("Planned with care", path=["size"])
        if fail == "bad-plan":
            planned["name"] = "another"
        if fail == "crash-plan":
            die()
        if fail == "raise-plan":
            raise RuntimeError("the test wants it")
        if "name" in ctx.changed_fields:
            planned["token"] = Unknown
        return planned

    def create(self, ctx: Any, planned: dict[str, Any]) -> dict[str, Any] | None:
        if planned["fail"] == "create":
            ctx.diagnostics.add_error("Not made", path=["name"])
            return None
        return self.write(ctx, {**planned, "id": f"{self.provider.prefix}-{planned['name']}"})

    def update(self, ctx: Any, current: dict[str, Any], planned: dict[str, Any]) -> dict[str, Any] | None:
        if planned["fail"] == "update":
            ctx.diagnostics.add_error("Not changed", path=["size"])
            return current
        return self.write(ctx, dict(planned))

    def write(self, ctx: Any, made: dict[str, Any]) -> dict[str, Any]:
        if made["fail"] == "crash-apply":
            die()
        if made["made"] is Unknown:
            made["made"] = "by the provider"
        if made["token"] is Unknown:
            made["token"] = f"token of {made['name']}"
        WORLD.mkdir(exist_ok=True)
        path(made["id"]).write_text(json.dumps(made, sort_keys=True))
        if made["fail"] == "half":
            ctx.diagnostics.add_error("Half done", path=["limit"])
        if made["fail"] == "unlike":
            made["size"] = 999
        if made["fail"] == "order":  # as servers answer: in their own order
            made["zones"] = list(reversed(made["zones"]))
            made["document"] = dict(reversed(made["document"].items()))
        return made

    def read(self, ctx: Any, current: dict[str, Any]) -> dict[str, Any] | None:
        if current["fail"] == "read":
            ctx.diagnostics.add_error("Not read", path=["name"])
        if current["fail"] == "warn":
            ctx.diagnostics.add_warning("Read with care")
        found = load(current["id"])
        return None if found is None else {**current, **found}

    def delete(self, ctx: Any, current: dict[str, Any]) -> dict[str, Any] | None:
        if current["fail"] == "delete":
            ctx.diagnostics.add_error("Still in use", "as the test wants it")
            return current
        path(current["id"]).unlink(missing_ok=True)
        return None

    def import_(self, ctx: Any, id: str) -> dict[str, Any] | None:
        if id == "many":
            ctx.diagnostics.add_error("Not just one")
        return load(id)

    def upgrade(self, ctx: Any, version: int, old: dict[str, Any]) -> dict[str, Any]:
        if version == 0:
            old["name"] = old.pop("title")
        if old.get("fail") == "upgrade":
            ctx.diagnostics.add_error("Too old")
        ctx.diagnostics.add_warning("It was old", f"version {version}")
        names = [*(a.name for a in self.get_schema().attributes), *(b.type_name for b in self.get_schema().block_types)]
        return {name: old.get(name, [] if name == "rule" else None) for name in names}


class NoteData(DataSource):
    def __init__(self, provider: TestProvider) -> None:
        self.provider = provider

    @classmethod
    def get_name(cls) -> str:
        return "note"

    @classmethod
    def get_schema(cls) -> Schema:
        return Schema(
            [
                Attribute("id", String(), required=True),
                Attribute("name", String(), computed=True),
                Attribute("secret", String(), computed=True, sensitive=True),
                Attribute("tags", Map(String()), computed=True),
            ]
        )

    def read(self, ctx: Any, config: dict[str, Any]) -> dict[str, Any] | None:
        found = load(config["id"])
        if found is None:
            ctx.diagnostics.add_error("No such note", f"{config['id']} is not there", path=["id"])
            return None
        ctx.diagnostics.add_warning("It was read", path=["id"])
        return {**config, **{name: found[name] for name in ("name", "secret", "tags")}}


class Total(Function):
    def __init__(self, provider: TestProvider) -> None:
        pass

    @classmethod
    def get_name(cls) -> str:
        return "total"

    @classmethod
    def get_signature(cls) -> FunctionSignature:
        first, more = Parameter("first", Number()), Parameter("more", Number(), allow_null_value=True)
        return FunctionSignature([first], Return(Number()), more, summary="The sum")

    def call(self, ctx: CallContext, arguments: list[Any]) -> Any:
        if any(a is not None and a < 0 for a in arguments):
            ctx.diagnostics.add_error("it is negative")
        return sum(a for a in arguments if a is not None)


class Split(Function):
    def __init__(self, provider: TestProvider) -> None:
        pass

    @classmethod
    def get_name(cls) -> str:
        return "split"

    @classmethod
    def get_signature(cls) -> FunctionSignature:
        return FunctionSignature([Parameter("text", String())], Return(List(String())), deprecation_message="too old")

    def call(self, ctx: CallContext, arguments: list[Any]) -> Any:
        return arguments[0].split(",")


class TestProvider(Provider):
    prefix = "note"

    def get_model_prefix(self) -> str:
        return "tf_"

    def full_name(self) -> str:
        return "example.com/test/tf"

    def get_provider_schema(self, diags: Diagnostics) -> Schema:
        return Schema(
            [optional("prefix", String()), optional("fail", String()), optional("key", String(), sensitive=True)]
        )

    def validate_config(self, diags: Diagnostics, config: dict[str, Any]) -> None:
        if config["fail"] == "validate":
            diags.add_error("Bad prefix", path=["prefix"])

    def configure_provider(self, diags: Diagnostics, config: dict[str, Any]) -> None:
        if config["fail"] == "configure":
            diags.add_error("Cannot sign in", "as the test wants it", path=["fail"])
        if config["prefix"] is not None:
            self.prefix = "unknown" if config["prefix"] is Unknown else config["prefix"]

    def get_data_sources(self) -> list[Any]:
        return [NoteData]

    def get_resources(self) -> list[Any]:
        return [Note]

    def get_functions(self) -> list[Any]:
        return [Total, Split]


def die() -> None:
    sys.stderr.write("panic: the test wants it\n")
    sys.stderr.flush()
    os._exit(2)


if __name__ == "__main__":
    if "--dev" not in sys.argv:
        WORLD.mkdir(exist_ok=True)
        with open(WORLD / "started", "a") as file:
            file.write(f"{os.getpid()}\n")
    run_provider(TestProvider(), sys.argv)
