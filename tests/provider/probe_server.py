"""A provider plugin that offers what is new in the protocols 5.11 and 6.11, with every fault on demand.

Run as `python probe_server.py PROTOCOL`, in the frame of plugin_server.py. Its objects are in one JSON file, which the
argument `world` of its configuration or the variable PROBE_WORLD names. PROBE_OFF lists what it does not offer; the
file PROBE_LOG gets a line for each call. The name of an object, and the argument `mode`, ask for what goes wrong.
"""

from __future__ import annotations

import fcntl
import json
import os
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from plugin_server import WARNING, WORLD, M, attribute, block, problem, serve

from planner.foundation.values.json_codec import from_json, to_json
from planner.foundation.values.schema import implied_type
from planner.foundation.values.sets import unknown_as_null
from planner.foundation.values.types import BOOL, NUMBER, STRING, ObjectType
from planner.foundation.values.value import Null, Unknown
from planner.world.provider.plugin.codec import decode, encode
from planner.world.provider.plugin.schemas import block_schema

OFF = set(os.environ.get("PROBE_OFF", "").split(","))
CONFIG_UNKNOWN, PROVIDER_UNKNOWN, ABSENT = 1, 2, 3


# ---------------------------------------------------------------- schema


def schema(*attributes: Any, blocks: tuple[Any, ...] = (), version: int = 0) -> Any:
    return M.Schema(version=version, block=M.Block(attributes=attributes, block_types=blocks))


NAME, ID = attribute("name", required=True), attribute("id", computed=True)
PROVIDER = schema(attribute("world"), attribute("region"), attribute("defer", "bool"))
RESOURCES = {
    "probe_thing": schema(
        NAME,
        attribute("size", "number"),
        attribute("note"),
        attribute("old_note", optional=True, deprecated=True),
        attribute("secret_wo", optional=True, write_only=True),
        attribute("secret_wo_version", "number"),
        ID,
        attribute("token", computed=True, sensitive=True),
        blocks=(block("rule", 2, attribute("port", "number", required=True), attribute("label")),),
        version=2,
    ),
    "probe_twin": schema(NAME, ID),
    "probe_plain": schema(attribute("value"), ID),
    "probe_aged": schema(NAME, ID, version=1),
}
DATA = {"probe_lookup": schema(NAME, attribute("found", "bool", computed=True))}
EPHEMERAL = {"probe_lease": schema(NAME, attribute("ttl", "number"), attribute("value", computed=True, sensitive=True))}
LISTS = {
    "probe_thing": schema(attribute("prefix"), attribute("region"), attribute("mode")),
    "probe_aged": schema(attribute("prefix"), attribute("region"), attribute("zone", required=True), attribute("mode")),
}
ACTIONS = {
    "probe_note": schema(
        attribute("text", required=True),
        attribute("steps", "number"),
        attribute("fail", "bool"),
        attribute("warn", "bool"),
        attribute("secret_wo", optional=True, write_only=True),
        attribute("defer", "bool"),
        blocks=(block("tag", 2, attribute("key", required=True), attribute("value")),),
    ),
    "probe_bare": schema(),
    "probe_faulty": schema(attribute("mode", required=True)),
}
IDENTITIES = {
    "probe_thing": M.IdentitySchema(
        version=1,
        identity_attributes=[
            M.IdentityAttribute(name="name", type=b'"string"', required_for_import=True),
            M.IdentityAttribute(name="region", type=b'"string"', optional_for_import=True),
        ],
    ),
    "probe_aged": M.IdentitySchema(
        version=2,
        identity_attributes=[M.IdentityAttribute(name="name", type=b'"string"', required_for_import=True)],
    ),
}
SCHEMA = M.SchemaAnswer(
    provider=PROVIDER,
    resource_schemas=RESOURCES,
    data_source_schemas=DATA,
    ephemeral_resource_schemas=EPHEMERAL,
    list_resource_schemas={} if "list" in OFF else LISTS,
    action_schemas={} if "action" in OFF else {name: M.ActionSchema(schema=of) for name, of in ACTIONS.items()},
    server_capabilities=M.ServerCapabilities(
        plan_destroy=True,
        get_provider_schema_optional=True,
        move_resource_state="move" not in OFF,
        generate_resource_config="generate" not in OFF,
    ),
)
TYPES = {
    name: implied_type(block_schema(of.block))
    for name, of in {"": PROVIDER, **RESOURCES, **DATA, **EPHEMERAL, **ACTIONS}.items()
}
LIST_TYPES = {name: implied_type(block_schema(of.block)) for name, of in LISTS.items()}
IDENTITY_TYPES = {
    "probe_thing": ObjectType({"name": STRING, "region": STRING}),
    "probe_aged": ObjectType({"name": STRING}),
}


def read(given: Any, type: str) -> Any:
    return decode(given.msgpack, TYPES[type])


def write(value: Any, type: str) -> Any:
    return M.DynamicValue(msgpack=encode(value, TYPES[type]))


def identity(type: str, value: Any) -> Any:
    wanted = IDENTITY_TYPES[type]
    data = encode({name: value[name] for name in wanted.attributes}, wanted)
    return M.IdentityData(identity_data=M.DynamicValue(msgpack=data))


# ---------------------------------------------------------------- world, log


@contextmanager
def world() -> Iterator[Any]:
    """All objects, as they are and as they will be: {"things": {name: attributes}, "notes": [...]}."""
    configured = SETTINGS["world"]
    path = Path(configured if isinstance(configured, str) else os.environ.get("PROBE_WORLD") or WORLD / "probe.json")
    with path.with_suffix(".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        found = json.loads(path.read_text()) if path.exists() else {"things": {}, "notes": []}
        before = json.dumps(found)
        yield found
        if json.dumps(found) != before:
            path.write_text(json.dumps(found, indent=1))


SETTINGS: dict[str, Any] = {"world": None, "region": None, "defer": None}
LOG = threading.Lock()


def log(call: str, request: Any) -> None:
    """Note a call with its request; unknown values are null."""
    names = (getattr(request, name, "") for name in ("action_type", "type_name", "target_type_name"))
    type = next(filter(None, names), "")
    note({"call": call, "type": type, "request": _plain(request, type, "List" in call)})


def note(line: dict[str, Any]) -> None:
    """Add a line to the log."""
    if path := os.environ.get("PROBE_LOG"):
        with LOG, open(path, "a") as file:
            file.write(json.dumps(line, default=float) + "\n")


def _plain(request: Any, type: str, is_list: bool) -> Any:
    found: dict[str, Any] = {}
    wanted: Any
    for field, value in request.ListFields():
        name = field.name
        if not hasattr(value, "DESCRIPTOR"):
            found[name] = value.decode("latin-1") if isinstance(value, bytes) else value
        elif name in ("include_resource_object", "limit"):
            wanted = BOOL if name == "include_resource_object" else NUMBER
            found[name] = to_json(unknown_as_null(decode(value.msgpack, wanted)), wanted)
        elif value.DESCRIPTOR.name == "DynamicValue" and type in (LIST_TYPES if is_list else TYPES):
            wanted = (LIST_TYPES if is_list else TYPES)[type]
            found[name] = to_json(unknown_as_null(decode(value.msgpack, wanted)), wanted)
        elif value.DESCRIPTOR.name == "IdentityData":
            wanted = IDENTITY_TYPES[type]
            found[name] = to_json(unknown_as_null(decode(value.identity_data.msgpack, wanted)), wanted)
        elif value.DESCRIPTOR.name == "RawState":
            found[name] = json.loads(value.json)
        elif value.DESCRIPTOR.name == "ClientCapabilities":
            found[name] = {part.name: given for part, given in value.ListFields()}
    return found


# ---------------------------------------------------------------- calls


def is_set(value: Any) -> bool:
    return value.__class__ not in (Null, Unknown)


def deferral(request: Any, reason: int = 0, is_rude: bool = False) -> dict[str, Any]:
    """The field of an answer that defers: for this reason, or as the provider's configuration wants it."""
    is_unset = any(value.__class__ is Unknown for value in SETTINGS.values())
    reason = PROVIDER_UNKNOWN if SETTINGS["defer"] is True or is_unset else reason
    if is_rude or (reason and request.client_capabilities.deferral_allowed):
        return {"deferred": M.Deferred(reason=reason or CONFIG_UNKNOWN)}
    return {}


def region() -> str:
    return SETTINGS["region"] if isinstance(SETTINGS["region"], str) else "home"


KEYS = {"probe_plain": "value"}
"""the attribute that names an object, where that is not `name`"""


def objects_of(type: str, found: Any) -> Any:
    """The objects of a type in the world, by name. A twin shows a thing."""
    return found.setdefault("things" if type in ("probe_thing", "probe_twin") else type, {})


def named(field: str, type: str, name: str, is_update: bool = False) -> dict[str, Any]:
    """The field of an answer with an identity; `noid-` has none, `idflip-` another one after an update, and that of
    `idlate-` is planned without values, as google does it."""
    if type not in IDENTITY_TYPES or "identity" in OFF or name.startswith("noid-"):
        return {}
    shown = f"flipped-{name}" if is_update and name.startswith("idflip-") else name
    if field == "planned_identity" and name.startswith("idlate-"):
        return {field: identity(type, {"name": Null(STRING), "region": ""})}
    return {field: identity(type, {"name": shown, "region": region()})}


class Probe:
    """The answers, one method a call (named as in protocol 6)."""

    def GetProviderSchema(self, request: Any, context: Any) -> Any:  # noqa: N802
        return SCHEMA

    def GetResourceIdentitySchemas(self, request: Any, context: Any) -> Any:  # noqa: N802
        return M.IdentitySchemasAnswer(identity_schemas={} if "identity" in OFF else IDENTITIES)

    def ValidateProviderConfig(self, request: Any, context: Any) -> Any:  # noqa: N802
        return M.ProviderConfigAnswer()

    def ConfigureProvider(self, request: Any, context: Any) -> Any:  # noqa: N802
        SETTINGS.update(read(request.config, ""))
        return M.Diagnostics()

    def ValidateResourceConfig(self, request: Any, context: Any) -> Any:  # noqa: N802
        return M.Diagnostics()

    def UpgradeResourceState(self, request: Any, context: Any) -> Any:  # noqa: N802
        type = request.type_name
        return M.UpgradedState(upgraded_state=write(from_json(json.loads(request.raw_state.json), TYPES[type]), type))

    def UpgradeResourceIdentity(self, request: Any, context: Any) -> Any:  # noqa: N802
        raw, type = json.loads(request.raw_identity.json), request.type_name
        old = {0: "ident", 1: "id_part"}.get(request.version)
        if type != "probe_aged" or old is None:
            return M.UpgradedIdentity(diagnostics=[problem("No identity of this version")])
        return M.UpgradedIdentity(upgraded_identity=identity(type, {"name": raw[old]}))

    def MoveResourceState(self, request: Any, context: Any) -> Any:  # noqa: N802
        source = request.source_type_name, request.source_schema_version
        if request.target_type_name != "probe_twin" or source not in (("probe_thing", 2), ("foreign_thing", 1)):
            what = f"{request.source_provider_address} {request.source_type_name}"
            return M.MoveAnswer(diagnostics=[problem("Unable to Move Resource State", detail=f"from {what}")])
        raw = json.loads(request.source_state.json)
        state = write({"name": raw["name"], "id": raw["id"]}, "probe_twin")
        return M.MoveAnswer(target_state=state, target_private=request.source_private)

    def ReadResource(self, request: Any, context: Any) -> Any:  # noqa: N802
        type, now = request.type_name, read(request.current_state, request.type_name)
        if put_off := deferral(request):
            return M.ReadAnswer(new_state=request.current_state, **put_off)
        name = now[KEYS.get(type, "name")]
        with world() as objects:
            found = objects_of(type, objects).get(str(name))
        if found is None:
            return M.ReadAnswer(new_state=write(Null(TYPES[type]), type))
        state = write(from_json({key: found[key] for key in TYPES[type].attributes}, TYPES[type]), type)
        return M.ReadAnswer(new_state=state, private=request.private, **named("new_identity", type, str(name)))

    def PlanResourceChange(self, request: Any, context: Any) -> Any:  # noqa: N802
        type, key = request.type_name, KEYS.get(request.type_name, "name")
        prior, planned = read(request.prior_state, type), read(request.proposed_new_state, type)
        if planned.__class__ is Null:
            return M.PlanAnswer(planned_state=request.proposed_new_state)
        name = planned[key] if isinstance(planned[key], str) else ""
        moved = prior.__class__ is not Null and prior[key] != planned[key]
        made = {"id": Unknown(STRING), "token": Unknown(STRING)} if prior.__class__ is Null else {}
        made |= {"secret_wo": "leaked" if name.startswith("wo-leak-") else Null(STRING)}
        planned = {**planned, **{part: value for part, value in made.items() if part in planned}}
        asked, _, other = name.partition("-")
        reason = {"defercfg": CONFIG_UNKNOWN, "deferpre": ABSENT}.get(asked, 0)
        with world() as objects:  # deferuntil-NAME waits for the thing NAME
            reason = ABSENT if asked == "deferuntil" and other not in objects["things"] else reason
        return M.PlanAnswer(
            planned_state=write(planned, type),
            requires_replace=[M.AttributePath(steps=[M.Step(attribute_name=key)])] if moved else [],
            planned_private=request.prior_private or b"planned",
            **deferral(request, reason, name.startswith("deferrude-")),
            **(named("planned_identity", type, name) if name else {}),
        )

    def ApplyResourceChange(self, request: Any, context: Any) -> Any:  # noqa: N802
        type, key = request.type_name, KEYS.get(request.type_name, "name")
        prior, planned = read(request.prior_state, type), read(request.planned_state, type)
        with world() as found:
            objects = objects_of(type, found)
            if prior.__class__ is not Null:
                objects.pop(str(prior[key]), None)
            if planned.__class__ is Null:
                return M.ApplyAnswer(new_state=request.planned_state)
            name = str(planned[key])
            if name.startswith("failcreate-") and prior.__class__ is Null:
                return M.ApplyAnswer(new_state=request.prior_state, diagnostics=[problem("Cannot create", key)])
            made = {"id": f"{type.partition('_')[2]}-{name}", "token": f"token-{name}"}
            planned = {**planned, **{part: value for part, value in made.items() if part in planned}}
            objects[name] = to_json(planned, TYPES[type])
        more = named("new_identity", type, name, prior.__class__ is not Null)
        return M.ApplyAnswer(new_state=write(planned, type), private=request.planned_private, **more)

    def ImportResourceState(self, request: Any, context: Any) -> Any:  # noqa: N802
        type = request.type_name
        if put_off := deferral(request):
            return M.ImportAnswer(**put_off)
        name: Any = request.id
        if request.HasField("identity"):
            name = decode(request.identity.identity_data.msgpack, IDENTITY_TYPES[type])["name"]
        with world() as objects:
            found = objects_of(type, objects).get(str(name))
        if found is None:
            return M.ImportAnswer(diagnostics=[problem("Nothing to import", detail=f"no {name}")])
        state = write(from_json(found, TYPES[type]), type)
        one = M.ImportedResource(type_name=type, state=state, **named("identity", type, str(name)))
        return M.ImportAnswer(imported_resources=[one])

    def ValidateDataResourceConfig(self, request: Any, context: Any) -> Any:  # noqa: N802
        return M.Diagnostics()

    def ReadDataSource(self, request: Any, context: Any) -> Any:  # noqa: N802
        config = read(request.config, request.type_name)
        put_off = deferral(
            request, ABSENT if config["name"].startswith("defer-") else 0, config["name"].startswith("deferrude-")
        )
        with world() as objects:
            found = config["name"] in objects["things"]
        return M.DataSourceAnswer(state=write({**config, "found": found}, request.type_name), **put_off)

    def ValidateEphemeralResourceConfig(self, request: Any, context: Any) -> Any:  # noqa: N802
        return M.Diagnostics()

    def OpenEphemeralResource(self, request: Any, context: Any) -> Any:  # noqa: N802
        config = read(request.config, request.type_name)
        soon = M.Timestamp(seconds=int(time.time() + float(config["ttl"]))) if is_set(config["ttl"]) else None
        value = write({**config, "value": f"lease of {config['name']}"}, request.type_name)
        private = json.dumps({"name": config["name"], "renewals": 0}).encode()
        put_off = deferral(request, 0, config["name"].startswith("deferrude-"))
        return M.OpenAnswer(result=value, private=private, renew_at=soon, **put_off)

    def RenewEphemeralResource(self, request: Any, context: Any) -> Any:  # noqa: N802
        lease = json.loads(request.private)
        lease["renewals"] += 1
        found = {"failrenew": [problem("Cannot renew")], "warnrenew": [problem("Renewed late", severity=WARNING)]}
        shown = found.get(lease["name"].partition("-")[0], [])
        return M.RenewAnswer(private=json.dumps(lease).encode(), diagnostics=shown)

    def CloseEphemeralResource(self, request: Any, context: Any) -> Any:  # noqa: N802
        is_bad = json.loads(request.private)["name"].startswith("failclose-")
        return M.Diagnostics(diagnostics=[problem("Cannot close")] if is_bad else [])

    def ValidateListResourceConfig(self, request: Any, context: Any) -> Any:  # noqa: N802
        config = decode(request.config.msgpack, LIST_TYPES[request.type_name])
        return M.Diagnostics(diagnostics=[problem("Bad mode", "mode")] if config["mode"] == "bad" else [])

    def ListResource(self, request: Any, context: Any) -> Iterator[Any]:  # noqa: N802
        type = request.type_name
        config = decode(request.config.msgpack, LIST_TYPES[type])
        prefix = config["prefix"] if is_set(config["prefix"]) else ""
        mode = config["mode"] if is_set(config["mode"]) else "ok"
        with world() as objects:
            found = {n: part for n, part in objects_of(type, objects).items() if n.startswith(prefix)}
        if mode == "endless":
            yield from without_end(M.ListEvent(identity=identity(type, {"name": "again", "region": region()})), context)
            return
        if mode in ("warn", "remarks"):
            for _ in range(1 if mode == "warn" else 2000):
                yield M.ListEvent(diagnostic=[problem("Slow today", severity=WARNING)])
        for number, (name, part) in enumerate(sorted(found.items())):
            if mode == "error_mid" and number == 2:
                yield M.ListEvent(diagnostic=[problem("The list broke off")])
                return
            event = M.ListEvent(display_name=f"Thing {name}")
            if mode != "noident":
                event.identity.CopyFrom(identity(type, {"name": name, "region": "" if mode == "gaps" else region()}))
            if request.include_resource_object and mode != "noobject":
                event.resource_object.CopyFrom(write(from_json(part, TYPES[type]), type))
            yield event

    def GenerateResourceConfig(self, request: Any, context: Any) -> Any:  # noqa: N802
        type, state = request.type_name, read(request.state, request.type_name)
        config = dict(state)
        for part in RESOURCES[type].block.attributes:
            is_empty = part.optional and config[part.name] == ""
            if part.deprecated or is_empty or (part.computed and not part.optional):
                config[part.name] = Null(TYPES[type].attributes[part.name])
        if "note" in config and config["note"].__class__ is Null:
            config["note"] = "generated"
        return M.GeneratedConfig(config=write(config, type))

    def ValidateActionConfig(self, request: Any, context: Any) -> Any:  # noqa: N802
        if request.action_type not in ACTIONS:
            return M.Diagnostics(diagnostics=[problem("Unknown action")])
        config = read(request.config, request.action_type)
        bad = request.action_type == "probe_note" and config["text"] == ""
        return M.Diagnostics(diagnostics=[problem("Empty text", "text")] if bad else [])

    def PlanAction(self, request: Any, context: Any) -> Any:  # noqa: N802
        config = read(request.config, request.action_type)
        if config.get("mode") == "plan_error":
            return M.ActionPlanAnswer(diagnostics=[problem("No plan for this action", "mode")])
        return M.ActionPlanAnswer(**deferral(request, ABSENT if config.get("defer") is True else 0))

    def InvokeAction(self, request: Any, context: Any) -> Iterator[Any]:  # noqa: N802
        config = read(request.config, request.action_type)
        if request.action_type == "probe_faulty":
            yield from faulty(config["mode"], context)
            return
        if request.action_type == "probe_bare":
            yield completed()
            return
        steps = int(config["steps"]) if is_set(config["steps"]) else 0
        for i in range(steps):
            yield M.InvokeEvent(progress=M.Progress(message=f"step {i + 1}/{steps}"))
        if config["fail"] is True:
            yield completed(problem("The note was refused", "fail", detail=f"It says {config['text']}."))
            return
        tags = {tag["key"]: tag["value"] if is_set(tag["value"]) else None for tag in config["tag"].items}
        with world() as objects:
            objects["notes"].append({"text": config["text"], "tags": tags, "time": time.time()})
        yield completed(*([problem("Careful with notes", severity=WARNING)] if config["warn"] is True else []))

    def StopProvider(self, request: Any, context: Any) -> Any:  # noqa: N802
        return M.StopAnswer()

    def __getattribute__(self, name: str) -> Any:
        """The method of a call, which notes the call first."""
        method = super().__getattribute__(name)

        def noted(request: Any, context: Any) -> Any:
            log(name, request)
            return method(request, context)

        return noted


def completed(*problems: Any) -> Any:
    return M.InvokeEvent(completed=M.Diagnostics(diagnostics=problems))


def faulty(mode: str, context: Any) -> Iterator[Any]:
    """The events of an action that goes wrong."""
    yield M.InvokeEvent(progress=M.Progress(message=f"about to {mode}"))
    if mode == "twocomplete":
        yield completed()
        yield completed(problem("Too late"))
    if mode == "crash":
        sys.stderr.write("panic: the action wants it\n")
        sys.stderr.flush()
        os._exit(2)
    if mode == "endless":
        yield from without_end(M.InvokeEvent(progress=M.Progress(message="more")), context)
    while mode == "hang" and context.is_active():
        time.sleep(0.05)


def without_end(event: Any, context: Any) -> Iterator[Any]:
    """The same event again and again, until the stream is left: the log gets their number."""
    sent = 0
    ended = threading.Event()
    context.add_callback(ended.set)
    while not ended.is_set():
        try:
            yield event
        except GeneratorExit:
            break
        sent += 1
    note({"call": "left after", "events": sent})


def main() -> None:
    serve(Probe())


if __name__ == "__main__":
    main()
