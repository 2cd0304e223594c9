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
from planner.foundation.values.types import STRING, ObjectType
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
    )
}
SCHEMA = M.SchemaAnswer(
    provider=PROVIDER,
    resource_schemas=RESOURCES,
    action_schemas={} if "action" in OFF else {name: M.ActionSchema(schema=of) for name, of in ACTIONS.items()},
    server_capabilities=M.ServerCapabilities(plan_destroy=True, get_provider_schema_optional=True),
)
TYPES = {name: implied_type(block_schema(of.block)) for name, of in {"": PROVIDER, **RESOURCES, **ACTIONS}.items()}
IDENTITY_TYPES = {"probe_thing": ObjectType({"name": STRING, "region": STRING})}


def read(given: Any, type: str) -> Any:
    return decode(given.msgpack, TYPES[type])


def write(value: Any, type: str) -> Any:
    return M.DynamicValue(msgpack=encode(value, TYPES[type]))


def identity(type: str, value: Any) -> Any:
    data = encode(value, IDENTITY_TYPES[type])
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
    type = getattr(request, "action_type", None) or getattr(request, "type_name", "")
    note({"call": call, "type": type, "request": _plain(request, type)})


def note(line: dict[str, Any]) -> None:
    """Add a line to the log."""
    if path := os.environ.get("PROBE_LOG"):
        with LOG, open(path, "a") as file:
            file.write(json.dumps(line, default=float) + "\n")


def _plain(request: Any, type: str) -> Any:
    found = {}
    for field, value in request.ListFields():
        name = field.name
        if not hasattr(value, "DESCRIPTOR"):
            found[name] = value.decode("latin-1") if isinstance(value, bytes) else value
        elif value.DESCRIPTOR.name == "DynamicValue" and type in TYPES:
            found[name] = to_json(unknown_as_null(read(value, type)), TYPES[type])
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
    reason = PROVIDER_UNKNOWN if SETTINGS["defer"] is True else reason
    if is_rude or (reason and request.client_capabilities.deferral_allowed):
        return {"deferred": M.Deferred(reason=reason or CONFIG_UNKNOWN)}
    return {}


def region() -> str:
    return SETTINGS["region"] if isinstance(SETTINGS["region"], str) else "home"


def thing_identity(field: str, name: str, is_update: bool = False) -> dict[str, Any]:
    """The field of an answer with a thing's identity; `noid-` has none, `idflip-` another one after an update."""
    if name.startswith("noid-"):
        return {}
    shown = f"flipped-{name}" if is_update and name.startswith("idflip-") else name
    return {field: identity("probe_thing", {"name": shown, "region": region()})}


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

    def ReadResource(self, request: Any, context: Any) -> Any:  # noqa: N802
        type, now = request.type_name, read(request.current_state, request.type_name)
        if put_off := deferral(request):
            return M.ReadAnswer(new_state=request.current_state, **put_off)
        with world() as objects:
            found = objects["things"].get(now["name"])
        if found is None:
            return M.ReadAnswer(new_state=write(Null(TYPES[type]), type))
        told = thing_identity("new_identity", now["name"])
        state = write(from_json(found, TYPES[type]), type)
        return M.ReadAnswer(new_state=state, private=request.private, **told)

    def PlanResourceChange(self, request: Any, context: Any) -> Any:  # noqa: N802
        type = request.type_name
        prior, planned = read(request.prior_state, type), read(request.proposed_new_state, type)
        if planned.__class__ is Null:
            return M.PlanAnswer(planned_state=request.proposed_new_state)
        name = planned["name"] if isinstance(planned["name"], str) else ""
        planned = {**planned, "secret_wo": Null(STRING)}
        moved = prior.__class__ is not Null and prior["name"] != planned["name"]
        if prior.__class__ is Null:
            planned.update(id=Unknown(STRING), token=Unknown(STRING))
        if name.startswith("wo-leak-"):
            planned["secret_wo"] = "leaked"
        reason = {"defercfg": CONFIG_UNKNOWN, "deferpre": ABSENT}.get(name.partition("-")[0], 0)
        return M.PlanAnswer(
            planned_state=write(planned, type),
            requires_replace=[M.AttributePath(steps=[M.Step(attribute_name="name")])] if moved else [],
            planned_private=b"planned",
            **deferral(request, reason, name.startswith("deferrude-")),
            **(thing_identity("planned_identity", name) if name else {}),
        )

    def ApplyResourceChange(self, request: Any, context: Any) -> Any:  # noqa: N802
        type = request.type_name
        prior, planned = read(request.prior_state, type), read(request.planned_state, type)
        with world() as objects:
            if prior.__class__ is not Null:
                objects["things"].pop(prior["name"], None)
            if planned.__class__ is Null:
                return M.ApplyAnswer(new_state=request.planned_state)
            name = planned["name"]
            if name.startswith("failcreate-") and prior.__class__ is Null:
                return M.ApplyAnswer(new_state=request.prior_state, diagnostics=[problem("Cannot create", "name")])
            made = {**planned, "id": f"thing-{name}", "token": f"token-{name}"}
            objects["things"][name] = to_json(made, TYPES[type])
        told = thing_identity("new_identity", name, prior.__class__ is not Null)
        return M.ApplyAnswer(new_state=write(made, type), private=b"private", **told)

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
            yield completed(problem("The note was refused", "fail"))
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
