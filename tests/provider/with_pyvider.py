"""A provider made with the package `pyvider` from PyPI, as its users make them.

Found by `pyvider` through the entry point of its group, and started as a plugin by the program `pyvider`. Its objects
are JSON files in the directory TEST_PROVIDER_WORLD. What goes wrong is asked for by the argument `fail`.

What it covers: protocol 6 with a certificate of its own; every call for resources (with encrypted private data and
planned destruction), identities and their upgrade, moves between types, upgrades that answer in JSON, data sources,
ephemeral resources, functions; blocks nested in all five ways and blocks within blocks; nested attributes as single
objects; write-only attributes; what to replace told by the provider. Nested attributes as lists, sets and maps, the
second protocol and plugins that hang are plugin_server.py's.
"""

from __future__ import annotations

import json
import os
import sys
from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import attrs
from pyvider.cty import CtyValue
from pyvider.cty.conversion import cty_to_native
from pyvider.data_sources import register_data_source
from pyvider.data_sources.base import BaseDataSource
from pyvider.ephemerals import register_ephemeral_resource
from pyvider.ephemerals.base import BaseEphemeralResource
from pyvider.exceptions import FunctionError, ResourceError
from pyvider.functions.decorators import register_function
from pyvider.providers.base import BaseProvider, ProviderMetadata
from pyvider.providers.decorators import register_provider
from pyvider.resources.base import BaseResource
from pyvider.resources.context import ResourceContext
from pyvider.resources.decorators import register_resource
from pyvider.resources.private_state import PrivateState
from pyvider.schema import (
    PvsSchema,
    a_dyn,
    a_list,
    a_map,
    a_num,
    a_obj,
    a_set,
    a_str,
    a_unknown,
    b_group,
    b_list,
    b_map,
    b_set,
    b_single,
    s_data_source,
    s_identity,
    s_provider,
    s_resource,
)

WORLD = Path(os.environ.get("TEST_PROVIDER_WORLD", "."))
SETTINGS = {"prefix": "box"}
Given = attrs.define(kw_only=True)


def path(id: str) -> Path:
    return WORLD / f"{id}.json"


def load(id: str) -> dict[str, Any] | None:
    return json.loads(path(id).read_text()) if path(id).exists() else None


def plain(value: Any) -> Any:
    """What JSON can hold of a value."""
    if isinstance(value, CtyValue):
        return plain(cty_to_native(value))
    if attrs.has(type(value)):
        return {field.name: plain(getattr(value, field.name)) for field in attrs.fields(type(value))}
    if isinstance(value, dict):
        return {key: plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple | set | frozenset):
        return [plain(item) for item in value]
    return float(value) if isinstance(value, Decimal) else value


def store(state: Any) -> None:
    WORLD.mkdir(exist_ok=True)
    path(state.id).write_text(json.dumps(plain(state), sort_keys=True))


def die() -> None:
    sys.stderr.write("panic: the test wants it\n")
    sys.stderr.flush()
    os._exit(2)


# ---------------------------------------------------------------- the provider


@Given
class Settings:
    prefix: str | None = None
    fail: str | None = None


@register_provider("pyvider")
class TestProvider(BaseProvider):
    def __init__(self) -> None:
        super().__init__(metadata=ProviderMetadata(name="pyvider", version="1.0.0"))

    async def setup(self) -> None:
        await super().setup()
        self._final_schema = s_provider({"prefix": a_str(), "fail": a_str()})
        self.config_class = Settings

    async def configure(self, config: Any) -> None:
        await super().configure(config)
        if config.fail == "configure":
            raise ResourceError("Cannot sign in")
        SETTINGS["prefix"] = config.prefix or SETTINGS["prefix"]


# ---------------------------------------------------------------- a resource with everything


@Given
class Step:
    command: str | None = None


@Given
class Rule:
    port: int | None = None
    made: str | None = None
    step: list[Step] | None = None


@Given
class Endpoint:
    host: str | None = None
    port: int | None = None
    key: str | None = None


@Given
class Box:
    id: str | None = None
    name: str | None = None
    region: str | None = None
    size: Any = None
    tags: dict[str, str] | None = None
    zones: list[str] | None = None
    anything: Any = None
    parts: list[dict[str, Any]] | None = None
    secret: str | None = None
    token: str | None = None
    password_wo: str | None = None
    note: str | None = None
    level: Any = None
    old: str | None = None
    endpoint: Endpoint | None = None
    fail: str | None = None
    rule: list[Rule] | None = None
    label: list[dict[str, Any]] | None = None
    disk: dict[str, dict[str, Any]] | None = None
    limit: dict[str, Any] | None = None
    place: dict[str, Any] | None = None


@attrs.frozen
class Kept(PrivateState):
    times: int = 0


@register_resource("pyvider_box")
class BoxResource(BaseResource):
    config_class = state_class = Box
    private_state_class = Kept

    @classmethod
    def get_schema(cls) -> PvsSchema:
        endpoint = {
            "host": a_str(required=True),
            "port": a_num(optional=True, computed=True),
            "key": a_str(sensitive=True),
        }
        return s_resource(
            {
                "id": a_str(computed=True),
                "name": a_str("what it is called", required=True),
                "region": a_str(requires_replace=True),
                "size": a_num(),
                "tags": a_map(a_str()),
                "zones": a_set(a_str()),
                "anything": a_dyn(),
                "parts": a_list(a_obj({"name": a_str(), "weight": a_num()})),
                "secret": a_str(sensitive=True),
                "token": a_str(computed=True, sensitive=True),
                "password_wo": a_str(write_only=True),
                "note": a_str(optional=True, computed=True),
                "level": a_num(optional=True, default=3),
                "old": a_str(deprecated=True),
                "endpoint": a_obj(endpoint),
                "fail": a_str(),
            },
            [
                b_list(
                    "rule",
                    attributes={"port": a_num(required=True), "made": a_str(computed=True)},
                    block_types=[b_list("step", attributes={"command": a_str(required=True)}, max_items=2)],
                    max_items=3,
                ),
                b_set("label", attributes={"key": a_str(required=True), "value": a_str()}),
                b_map("disk", attributes={"gigabytes": a_num()}),
                b_single("limit", attributes={"most": a_num(), "key": a_str(sensitive=True)}),
                b_group("place", attributes={"row": a_num()}),
            ],
            version=2,
        )

    async def _validate_config(self, config: Box) -> list[str]:
        return ["Bad name", "Bad size"] if config.fail == "validate" else []

    async def plan(self, ctx: ResourceContext) -> Any:
        planned, kept = await super().plan(ctx)
        fail = planned.get("fail") if planned else None
        if fail == "crash-plan":
            die()
        if fail == "raise-plan":
            raise RuntimeError("the test wants it")
        if fail == "plan":
            ctx.add_attribute_error("rule[0].port", "No plan", "as the test wants it")
            ctx.add_attribute_error('tags["k"]', "No tag")
        if fail == "warn":
            ctx.add_attribute_warning("size", "Planned with care")
            ctx.add_warning("Planned", "with care")
        if fail == "bad-plan":
            planned["name"] = "another"
        if planned and fail == "shrink" and ctx.state is not None:
            ctx.require_replace("size")
            ctx.require_replace("endpoint.port")
        return planned, kept

    async def _create(self, ctx: ResourceContext, base_plan: dict[str, Any]) -> Any:
        for rule in base_plan.get("rule") or []:
            rule["made"] = rule.get("made") or a_unknown(a_str())
        return self.settle(base_plan), None

    async def _update(self, ctx: ResourceContext, base_plan: dict[str, Any]) -> Any:
        for rule in base_plan.get("rule") or []:
            rule["made"] = rule.get("made") or "made"
        return self.settle(base_plan), None

    def settle(self, plan: dict[str, Any]) -> dict[str, Any]:
        endpoint = plan.get("endpoint")
        if isinstance(endpoint, dict) and endpoint.get("port") is None:
            endpoint["port"] = a_unknown(a_num())
        return plan

    async def _create_apply(self, ctx: ResourceContext) -> Any:
        planned = ctx.planned_state
        if planned.fail == "create":
            ctx.add_attribute_error("name", "Not made")
            return None, None
        return self.write(ctx, attrs.evolve(planned, id=f"{SETTINGS['prefix']}-{planned.name}"))

    async def _update_apply(self, ctx: ResourceContext) -> Any:
        if ctx.planned_state.fail == "update":
            ctx.add_attribute_error("size", "Not changed")
            return ctx.state, None
        return self.write(ctx, ctx.planned_state)

    def write(self, ctx: ResourceContext, made: Box) -> tuple[Box, Kept]:
        if made.fail == "crash-apply":
            die()
        if made.fail == "raise-apply":
            raise RuntimeError("the test wants it")
        made = attrs.evolve(made, note=made.note or "by the provider", token=made.token or f"token of {made.name}")
        if made.rule:
            made.rule = [attrs.evolve(rule, made=rule.made or "made") for rule in made.rule]
        if made.endpoint is not None:
            made.endpoint = attrs.evolve(made.endpoint, port=made.endpoint.port or 80)
        if ctx.config is not None and ctx.config.password_wo is not None:
            WORLD.mkdir(exist_ok=True)
            (WORLD / "password").write_text(ctx.config.password_wo)
        made = attrs.evolve(made, password_wo=None)
        store(made)
        if made.fail == "half":
            ctx.add_attribute_error("limit", "Half done")
        if made.fail == "unlike":
            made = attrs.evolve(made, size=999)
        kept = ctx.get_private_state(Kept)
        return made, Kept(times=1 + (kept.times if kept else 0))

    async def _delete_apply(self, ctx: ResourceContext) -> None:
        if ctx.state.fail == "delete":
            raise ResourceError("Still in use")
        if ctx.get_private_state(Kept) is None:
            raise ResourceError("Its private data is lost")
        path(ctx.state.id).unlink(missing_ok=True)

    async def read(self, ctx: ResourceContext) -> Box | None:
        if ctx.state.fail == "read":
            ctx.add_attribute_error("name", "Not read")
        if ctx.state.fail == "warn":
            ctx.add_warning("Read with care")
        found = load(ctx.state.id)
        return None if found is None else Box(**found)

    async def import_state(self, ctx: ResourceContext, import_id: str) -> Any:
        found = load(import_id)
        return None if found is None else (Box(**found), Kept(times=0))

    @classmethod
    async def upgrade_state(cls, version: int, raw_state: dict[str, Any]) -> dict[str, Any]:
        if version == 0:
            raw_state["name"] = raw_state.pop("title")
        if raw_state.get("fail") == "upgrade":
            raise ResourceError("Too old")
        empty = {"rule": [], "label": [], "disk": {}, "place": {"row": None}}
        names = [field.name for field in attrs.fields(Box)]
        return {name: raw_state.get(name, empty.get(name)) for name in names}


# ---------------------------------------------------------------- a resource with an identity


@Given
class Named:
    id: str | None = None
    name: str | None = None


@register_resource("pyvider_named")
class NamedResource(BaseResource):
    config_class = state_class = Named

    @classmethod
    def get_schema(cls) -> PvsSchema:
        return s_resource({"id": a_str(computed=True), "name": a_str(required=True)})

    @classmethod
    def get_identity_schema(cls) -> PvsSchema:
        return s_identity({"name": a_str(required=True), "region": a_str(optional=True)}, version=1)

    @classmethod
    def get_identity(cls, state: Any) -> dict[str, Any] | None:
        return {"name": state.name, "region": "here"} if state is not None and state.name is not None else None

    @classmethod
    async def upgrade_identity(cls, version: int, raw_identity: dict[str, Any]) -> dict[str, Any]:
        if raw_identity["title"] == "lost":
            raise ResourceError("No such title")
        return {"name": raw_identity["title"], "region": "here"}

    async def _validate_config(self, config: Named) -> list[str]:
        return []

    async def _create_apply(self, ctx: ResourceContext) -> Any:
        made = attrs.evolve(ctx.planned_state, id=ctx.planned_state.name)
        store(made)
        return made, None

    async def _update_apply(self, ctx: ResourceContext) -> Any:
        store(ctx.planned_state)
        return ctx.planned_state, None

    async def _delete_apply(self, ctx: ResourceContext) -> None:
        path(ctx.state.id).unlink(missing_ok=True)

    async def read(self, ctx: ResourceContext) -> Named | None:
        found = load(ctx.state.id)
        return None if found is None else Named(id=ctx.state.id, name=found["name"])

    async def import_state(self, ctx: ResourceContext, import_id: str) -> Named | None:
        id = ctx.identity["name"] if ctx.identity else import_id
        return Named(id=id, name=id) if path(id).exists() else None

    async def move_state(self, address: str, type: str, state: dict[str, Any], version: int) -> Any:
        if type not in ("tf_note", "pyvider_box"):
            return None
        return {"id": state["id"], "name": state["name"]}


# ---------------------------------------------------------------- the rest


@Given
class Filter:
    name: str | None = None


@Given
class Found:
    id: str | None = None
    name: str | None = None
    secret: str | None = None
    filter: list[Filter] | None = None


@register_data_source("pyvider_box")
class BoxData(BaseDataSource):
    config_class = state_class = Found

    @classmethod
    def get_schema(cls) -> PvsSchema:
        return s_data_source(
            {"id": a_str(required=True), "name": a_str(computed=True), "secret": a_str(computed=True, sensitive=True)},
            [b_list("filter", attributes={"name": a_str(required=True)})],
        )

    async def _validate_config(self, config: Found) -> list[str]:
        return ["Bad id"] if config.id == "bad" else []

    async def read(self, ctx: ResourceContext) -> Found | None:
        found = load(ctx.config.id)
        if found is None:
            ctx.add_attribute_error("id", "No such box")
            return None
        ctx.add_warning("It was read")
        return attrs.evolve(ctx.config, name=found["name"], secret=found["secret"])


@Given
class Token:
    name: str | None = None
    value: str | None = None


@attrs.frozen
class Opened(PrivateState):
    how: str


@register_ephemeral_resource("pyvider_token")
class TokenResource(BaseEphemeralResource):
    config_class = result_class = Token
    private_state_class = Opened

    @classmethod
    def get_schema(cls) -> PvsSchema:
        return s_resource({"name": a_str(), "value": a_str(computed=True, sensitive=True)})

    async def validate(self, config: Token | None) -> list[str]:
        return ["Bad name"] if config is not None and config.name == "bad" else []

    async def open(self, ctx: Any) -> Any:
        if ctx.config.name == "locked":
            raise ResourceError("Locked")
        note("open")
        soon = datetime.now(UTC) if ctx.config.name == "renewed" else None
        return Token(name=ctx.config.name, value="opened"), Opened("open"), soon

    async def renew(self, ctx: Any) -> Any:
        note(f"renew {ctx.private_state.how}")
        return Opened("renewed"), None

    async def close(self, ctx: Any) -> None:
        note(f"close {ctx.private_state.how}")


def note(what: str) -> None:
    WORLD.mkdir(exist_ok=True)
    with open(WORLD / "ephemeral", "a") as file:
        file.write(f"{what}\n")


@register_function("total", summary="The sum")
def total(first: float, *more: float) -> float:
    """The sum of all."""
    if first < 0:
        raise FunctionError("it is negative", argument_index=0)
    return first + sum(more)


@register_function("shout")
def shout(texts: list[str], times: int = 1) -> dict[str, str]:
    """Each in capitals, many times."""
    return {text: text.upper() * int(times) for text in texts}


if "TF_PLUGIN_MAGIC_COOKIE" in os.environ:
    WORLD.mkdir(exist_ok=True)
    with open(WORLD / "started", "a") as file:
        file.write(f"{os.getpid()}\n")
