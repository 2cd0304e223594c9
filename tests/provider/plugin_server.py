"""A provider plugin for the tests: a process of its own that does what real plugins do, and misbehaves on demand.

Run as `python plugin_server.py PROTOCOL`. Its objects are JSON files in the directory TEST_PROVIDER_WORLD. What goes
wrong is asked for by the argument `fail` of a resource, or by TEST_PROVIDER_START for the start of the process.
"""

from __future__ import annotations

import json
import os
import re
import sys
import tempfile
import time
from concurrent import futures
from pathlib import Path
from typing import Any

import grpc

from planner.foundation.values.json_codec import from_json, to_json
from planner.foundation.values.numbers import from_float
from planner.foundation.values.schema import implied_type
from planner.foundation.values.types import NUMBER, STRING, ObjectType
from planner.foundation.values.value import Null, Unknown
from planner.world.provider.plugin.codec import decode, encode
from planner.world.provider.plugin.messages import CALLS, STREAMS, messages
from planner.world.provider.plugin.process import COOKIE
from planner.world.provider.plugin.schemas import block_schema

VERSION = int(sys.argv[1])
M = messages(VERSION)
WORLD = Path(os.environ.get("TEST_PROVIDER_WORLD", "."))
TYPE, NAMED, DATA, TOKEN = "test_thing", "test_named", "test_thing", "test_token"
ERROR, WARNING = 1, 2


# ---------------------------------------------------------------- schema


def attribute(name: str, of: Any = "string", **flags: Any) -> Any:
    return M.Attribute(name=name, type=json.dumps(of).encode(), **(flags or {"optional": True}))


def block(name: str, nesting: int, *attributes: Any, **limits: int) -> Any:
    return M.NestedBlock(type_name=name, nesting=nesting, block=M.Block(attributes=attributes), **limits)


def thing() -> Any:
    attributes = [
        attribute("id", computed=True),
        attribute("name", required=True),
        attribute("size", "number"),
        attribute("tags", ["map", "string"]),
        attribute("zones", ["set", "string"]),
        attribute("secret", optional=True, sensitive=True),
        attribute("token", computed=True, sensitive=True),
        attribute("region", optional=True, description="where it **is**", description_kind=1),
        attribute("note", optional=True, computed=True),
        attribute("anything", "dynamic"),
        attribute("password_wo", optional=True, write_only=True),
        attribute("old", optional=True, deprecated=True),
        attribute("fail"),
    ]
    if VERSION == 6:
        parts = [attribute("host", required=True), attribute("port", "number", optional=True, computed=True)]
        for name, nesting in (("endpoint", 1), ("listeners", 2), ("peers", 3), ("routes", 4)):
            nested = M.Object(attributes=parts, nesting=nesting)
            attributes.append(M.Attribute(name=name, nested_type=nested, optional=True))
    blocks = [
        block("limit", 1, attribute("most", "number")),
        block("rule", 2, attribute("port", "number", required=True), attribute("made", computed=True), max_items=3),
        block("label", 3, attribute("key"), attribute("value")),
        block("disk", 4, attribute("gigabytes", "number")),
        block("place", 5, attribute("row", "number")),
    ]
    if VERSION == 5:
        blocks = blocks[:3]  # as with all providers of its time
    return M.Schema(version=1, block=M.Block(attributes=attributes, block_types=blocks))


def named() -> Any:
    """A type whose objects have an identity."""
    return M.Schema(block=M.Block(attributes=[attribute("id", computed=True), attribute("name", required=True)]))


def data() -> Any:
    return M.Schema(
        block=M.Block(attributes=[attribute("id", required=True), attribute("name", computed=True), attribute("fail")])
    )


def token() -> Any:
    return M.Schema(block=M.Block(attributes=[attribute("name"), attribute("value", computed=True, sensitive=True)]))


def provider() -> Any:
    return M.Schema(block=M.Block(attributes=[attribute("prefix"), attribute("fail")]))


SCHEMA = M.SchemaAnswer(
    provider=provider(),
    resource_schemas={TYPE: thing(), NAMED: named()},
    data_source_schemas={DATA: data()},
    ephemeral_resource_schemas={TOKEN: token()},
    server_capabilities=M.ServerCapabilities(
        plan_destroy=True, get_provider_schema_optional=VERSION == 6, move_resource_state=True
    ),
    functions={
        "double": M.Function(
            parameters=[M.Parameter(name="x", type=b'"number"')],
            variadic_parameter=M.Parameter(name="more", type=b'"number"'),
            **{"return": M.Return(type=b'"number"')},
            summary="Twice the sum",
        )
    },
)
IDENTITY = ObjectType({"name": STRING, "region": STRING})
IDENTITIES = {
    NAMED: M.IdentitySchema(
        version=1,
        identity_attributes=[
            M.IdentityAttribute(name="name", type=b'"string"', required_for_import=True),
            M.IdentityAttribute(name="region", type=b'"string"', optional_for_import=True),
        ],
    )
}
if os.environ.get("TEST_PROVIDER_BIG"):
    for i in range(int(os.environ["TEST_PROVIDER_BIG"])):
        SCHEMA.resource_schemas[f"test_big_{i}"].CopyFrom(thing())
BLOCKS = {
    "resource": block_schema(SCHEMA.resource_schemas[TYPE].block),
    "named": block_schema(SCHEMA.resource_schemas[NAMED].block),
    "data": block_schema(SCHEMA.data_source_schemas[DATA].block),
    "token": block_schema(SCHEMA.ephemeral_resource_schemas[TOKEN].block),
    "provider": block_schema(SCHEMA.provider.block),
}
TYPES = {kind: implied_type(found) for kind, found in BLOCKS.items()}
PREFIX = {"value": "thing"}


def read(given: Any, kind: str = "resource") -> Any:
    # as plugins in Go, which end at a type with optional attributes
    assert not re.search(rb'\["object",\{[^}]*\},\[', given.msgpack), given.msgpack
    return decode(given.msgpack, TYPES[kind])


def write(value: Any, kind: str = "resource") -> Any:
    return M.DynamicValue(msgpack=encode(value, TYPES[kind]))


def problem(summary: str, *steps: Any, severity: int = ERROR, detail: str = "as the test wants it") -> Any:
    found = M.Diagnostic(severity=severity, summary=summary, detail=detail)
    for step in steps:
        kind = "element_key_int" if isinstance(step, int) else "attribute_name"
        found.attribute.steps.add(**{kind: step})
    return found


def identity(name: str) -> Any:
    data = encode({"name": name, "region": "here"}, IDENTITY)
    return M.IdentityData(identity_data=M.DynamicValue(msgpack=data))


# ---------------------------------------------------------------- calls


class Provider:
    """The answers, one method a call (named as in protocol 6)."""

    def GetProviderSchema(self, request: Any, context: Any) -> Any:  # noqa: N802
        return SCHEMA

    def GetResourceIdentitySchemas(self, request: Any, context: Any) -> Any:  # noqa: N802
        return M.IdentitySchemasAnswer(identity_schemas=IDENTITIES)

    def UpgradeResourceIdentity(self, request: Any, context: Any) -> Any:  # noqa: N802
        return M.UpgradedIdentity(upgraded_identity=identity(json.loads(request.raw_identity.json)["title"]))

    def MoveResourceState(self, request: Any, context: Any) -> Any:  # noqa: N802
        if request.source_type_name != "other_thing":
            return M.MoveAnswer(diagnostics=[problem("Cannot move that")])
        title = json.loads(request.source_state.json)["title"]
        return M.MoveAnswer(
            target_state=write({"id": title, "name": title}, "named"), target_private=b"moved " + request.source_private
        )

    def ValidateProviderConfig(self, request: Any, context: Any) -> Any:  # noqa: N802
        config = read(request.config, "provider")
        bad = [problem("Bad provider", "prefix")] if config["fail"] == "validate" else []
        return M.ProviderConfigAnswer(diagnostics=bad)

    def ConfigureProvider(self, request: Any, context: Any) -> Any:  # noqa: N802
        config = read(request.config, "provider")
        with (WORLD / "configured").open("a") as log:  # one line for each call
            prefix = config["prefix"]
            told = "(unknown)" if isinstance(prefix, Unknown) else to_json(prefix, STRING)
            log.write(json.dumps(told) + "\n")
        if isinstance(config["prefix"], str):
            PREFIX["value"] = config["prefix"]
        bad = [problem("Cannot sign in", "fail")] if config["fail"] == "configure" else []
        return M.Diagnostics(diagnostics=bad)

    def ValidateResourceConfig(self, request: Any, context: Any) -> Any:  # noqa: N802
        if request.type_name == NAMED:
            return M.Diagnostics()
        config = read(request.config)
        found = []
        if config["fail"] == "validate":
            found.append(problem("Bad name", "name"))
        if config["fail"] == "validate-rule":
            found.append(problem("Bad port", "rule", 0, "port"))
        if config["fail"] == "warn":
            found.append(problem("Careful", severity=WARNING))
        return M.Diagnostics(diagnostics=found)

    def ValidateDataResourceConfig(self, request: Any, context: Any) -> Any:  # noqa: N802
        return M.Diagnostics()

    def ValidateEphemeralResourceConfig(self, request: Any, context: Any) -> Any:  # noqa: N802
        return M.Diagnostics()

    def UpgradeResourceState(self, request: Any, context: Any) -> Any:  # noqa: N802
        if request.type_name == NAMED:
            raw = json.loads(request.raw_state.json)
            return M.UpgradedState(upgraded_state=write(from_json(raw, TYPES["named"]), "named"))
        raw = dict(request.raw_state.flatmap) or json.loads(request.raw_state.json)
        if request.version == 0:
            raw["name"] = raw.pop("title")
        return M.UpgradedState(upgraded_state=write(from_json(raw, TYPES["resource"])))

    def ReadResource(self, request: Any, context: Any) -> Any:  # noqa: N802
        if request.type_name == NAMED:
            name = read(request.current_state, "named")["name"]
            return M.ReadAnswer(new_state=request.current_state, private=request.private, new_identity=identity(name))
        current = read(request.current_state)
        misbehave("read", current)
        file = WORLD / f"{current['id']}.json"
        if not file.exists():
            return M.ReadAnswer(new_state=write(Null(TYPES["resource"])))
        recorded = from_json(json.loads(file.read_text()), TYPES["resource"])
        return M.ReadAnswer(new_state=write(recorded), private=request.private or b"read")

    def PlanResourceChange(self, request: Any, context: Any) -> Any:  # noqa: N802
        if request.type_name == NAMED:
            return plan_named(request)
        prior, planned = read(request.prior_state), read(request.proposed_new_state)
        if planned.__class__ is Null:
            misbehave("plan-destroy", prior)
            return M.PlanAnswer(planned_state=write(planned), planned_private=b"destroy")
        misbehave("plan", planned)
        if planned["fail"] == "plan":
            return M.PlanAnswer(planned_state=write(planned), diagnostics=[problem("No plan", "name")])
        new = prior.__class__ is Null
        replace = not new and prior["region"] != planned["region"]
        planned = {**planned, "password_wo": Null(STRING)}
        if new:
            planned["id"], planned["token"] = Unknown(STRING), Unknown(STRING)
            if planned["note"].__class__ is Null:
                planned["note"] = Unknown(STRING)
        elif os.environ.get("TEST_PROVIDER_UPGRADED"):  # a version that decides something anew
            planned["note"] = Unknown(STRING)
        planned = with_computed(planned, Unknown(STRING), Unknown(NUMBER))
        if planned["fail"] == "infinite":
            planned["size"] = from_float(float("inf"))
        if planned["fail"] == "bad-plan":
            planned["name"] = "something else"
        if planned["fail"] == "write-only":
            planned["password_wo"] = "kept"
        paths = [M.AttributePath(steps=[M.Step(attribute_name="region")])] if replace else []
        return M.PlanAnswer(
            planned_state=write(planned),
            requires_replace=paths,
            planned_private=b"planned \x00\xff",
            legacy_type_system=planned["fail"] == "legacy",
        )

    def ApplyResourceChange(self, request: Any, context: Any) -> Any:  # noqa: N802
        if request.type_name == NAMED:
            return apply_named(request)
        prior, planned = read(request.prior_state), read(request.planned_state)
        nothing = write(Null(TYPES["resource"]))
        if planned.__class__ is Null:
            misbehave("destroy", prior)
            if request.planned_private not in (b"destroy", b"planned \x00\xff"):  # the latter in a replacement
                return M.ApplyAnswer(new_state=write(prior), diagnostics=[problem("Destroyed without a plan")])
            (WORLD / f"{prior['id']}.json").unlink(missing_ok=True)
            return M.ApplyAnswer(new_state=nothing)
        misbehave("apply", planned)
        if request.planned_private != b"planned \x00\xff":
            return M.ApplyAnswer(new_state=nothing, diagnostics=[problem("Applied without a plan")])
        if planned["fail"] == "apply":
            return M.ApplyAnswer(new_state=nothing, diagnostics=[problem("No luck", "name")])
        made = dict(planned)
        if made["id"].__class__ is Unknown:
            made["id"] = f"{PREFIX['value']}-{made['name']}"
            made["token"] = f"token of {made['name']}"
        if made["note"].__class__ is Unknown:
            made["note"] = "by the provider"
        made = with_computed(made, "made", 80, only_unknown=True)
        WORLD.mkdir(exist_ok=True)
        (WORLD / f"{made['id']}.json").write_text(json.dumps(to_json(made, TYPES["resource"]), default=float))
        found = [problem("Half done")] if planned["fail"] == "partial" else []
        if planned["fail"] == "inconsistent":
            made["size"] = 999
        password = read(request.config)["password_wo"]
        if isinstance(password, str):
            (WORLD / "password").write_text(password)
        return M.ApplyAnswer(new_state=write(made), private=b"private \x00\xff", diagnostics=found)

    def ImportResourceState(self, request: Any, context: Any) -> Any:  # noqa: N802
        if request.type_name == NAMED:
            by = request.identity.identity_data.msgpack
            name = decode(by, IDENTITY)["name"] if by else request.id
            state = write({"id": name, "name": name}, "named")
            found = M.ImportedResource(type_name=NAMED, state=state, identity=identity(name))
            return M.ImportAnswer(imported_resources=[found])
        file = WORLD / f"{request.id}.json"
        if not file.exists():
            return M.ImportAnswer(diagnostics=[problem("Nothing to import", detail=f"no {request.id}")])
        recorded = from_json(json.loads(file.read_text()), TYPES["resource"])
        found = M.ImportedResource(type_name=request.type_name, state=write(recorded), private=b"imported")
        return M.ImportAnswer(imported_resources=[found])

    def ReadDataSource(self, request: Any, context: Any) -> Any:  # noqa: N802
        config = read(request.config, "data")
        misbehave("read", config)
        file = WORLD / f"{config['id']}.json"
        if not file.exists():
            return M.DataSourceAnswer(diagnostics=[problem("No such thing", "id")])
        return M.DataSourceAnswer(state=write({**config, "name": json.loads(file.read_text())["name"]}, "data"))

    def GetFunctions(self, request: Any, context: Any) -> Any:  # noqa: N802
        """Once it is configured with a prefix it has a function of that, too."""
        if PREFIX["value"] == "thing":
            return M.FunctionsAnswer(functions=SCHEMA.functions)
        if PREFIX["value"] == "no functions":
            return M.FunctionsAnswer(diagnostics=[problem("No functions today")])
        prefixed = M.Function(
            parameters=[M.Parameter(name="name", type=b'"string"')], **{"return": M.Return(type=b'"string"')}
        )
        return M.FunctionsAnswer(functions={**SCHEMA.functions, "prefixed": prefixed})

    def CallFunction(self, request: Any, context: Any) -> Any:  # noqa: N802
        if request.name == "prefixed":
            text = f"{PREFIX['value']}-{decode(request.arguments[0].msgpack, STRING)}"
            return M.FunctionAnswer(result=M.DynamicValue(msgpack=encode(text, STRING)))
        numbers = [decode(a.msgpack, NUMBER) for a in request.arguments]
        if any(n < 0 for n in numbers):
            at = next(i for i, n in enumerate(numbers) if n < 0)
            return M.FunctionAnswer(error=M.FunctionError(text="it is negative", function_argument=at))
        return M.FunctionAnswer(result=M.DynamicValue(msgpack=encode(2 * sum(numbers), NUMBER)))

    def OpenEphemeralResource(self, request: Any, context: Any) -> Any:  # noqa: N802
        config = read(request.config, "token")
        note("open")
        if config["name"] == "locked":
            return M.OpenAnswer(diagnostics=[problem("Locked", "name")])
        soon = M.Timestamp(seconds=int(time.time())) if config["name"] == "renewed" else None
        return M.OpenAnswer(result=write({**config, "value": "opened"}, "token"), private=b"open", renew_at=soon)

    def RenewEphemeralResource(self, request: Any, context: Any) -> Any:  # noqa: N802
        note(f"renew {request.private.decode()}")
        return M.RenewAnswer(private=b"renewed")

    def CloseEphemeralResource(self, request: Any, context: Any) -> Any:  # noqa: N802
        note(f"close {request.private.decode()}")
        return M.Diagnostics()

    def StopProvider(self, request: Any, context: Any) -> Any:  # noqa: N802
        (WORLD / "stopped").touch()
        return M.StopAnswer()


def note(what: str) -> None:
    """Write down what happened to ephemeral resources."""
    with open(WORLD / "ephemeral", "a") as file:
        file.write(f"{what}\n")


def plan_named(request: Any) -> Any:
    prior, planned = read(request.prior_state, "named"), read(request.proposed_new_state, "named")
    if planned.__class__ is Null:
        return M.PlanAnswer(planned_state=request.proposed_new_state)
    name = planned["name"]
    if prior.__class__ is Null:
        planned = {**planned, "id": Unknown(STRING)}
    known = isinstance(name, str)
    state = write(planned, "named")
    return (
        M.PlanAnswer(planned_state=state, planned_identity=identity(name))
        if known
        else M.PlanAnswer(planned_state=state)
    )


def apply_named(request: Any) -> Any:
    planned = read(request.planned_state, "named")
    if planned.__class__ is Null:
        return M.ApplyAnswer(new_state=request.planned_state)
    made = {**planned, "id": planned["name"] if planned["id"].__class__ is Unknown else planned["id"]}
    return M.ApplyAnswer(new_state=write(made, "named"), new_identity=identity(made["name"]))


def with_computed(value: Any, text: Any, number: Any, only_unknown: bool = False) -> Any:
    """The value with what the provider sets in nested blocks and attributes."""
    found = dict(value)

    def settle(part: Any, name: str, wanted: Any) -> Any:
        now = part[name]
        missing = now.__class__ is Unknown or (not only_unknown and now.__class__ is Null)
        return {**part, name: wanted} if missing else part

    rules = found["rule"]
    found["rule"] = type(rules)(rules.element, tuple(settle(r, "made", text) for r in rules.items))
    if VERSION == 6 and found["endpoint"].__class__ is dict:
        found["endpoint"] = settle(found["endpoint"], "port", number)
    return found


def misbehave(during: str, value: Any) -> None:
    """Crash or hang when the object asks for it."""
    asked = value["fail"]
    if asked == f"crash-{during}":
        sys.stderr.write("some log line\npanic: the test wants it\n\ngoroutine 1 [running]:\n")
        sys.stderr.flush()
        os._exit(2)
    if asked == f"hang-{during}":
        (WORLD / "hanging").touch()
        time.sleep(600)
    if asked == f"slow-{during}":
        (WORLD / "slow").touch()
        while not (WORLD / "stopped").exists():
            time.sleep(0.05)


def killed(request: Any, context: Any) -> Any:
    """The answer to a call that the process does not survive."""
    sys.stderr.write("out of memory, or so it seems\n")
    sys.stderr.flush()
    os.kill(os.getpid(), 9)


# ---------------------------------------------------------------- server


def own_certificate() -> tuple[str, Any]:
    """A certificate for localhost, as the handshake shows it, and what a server needs to use it."""
    import base64
    from datetime import UTC, datetime, timedelta

    from cryptography import x509
    from cryptography.hazmat.primitives import hashes
    from cryptography.hazmat.primitives.asymmetric import ec
    from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat

    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "localhost")])
    now = datetime.now(UTC)
    made = (
        x509.CertificateBuilder(name, name, key.public_key(), x509.random_serial_number())
        .not_valid_before(now - timedelta(minutes=1))
        .not_valid_after(now + timedelta(hours=1))
        .add_extension(x509.SubjectAlternativeName([x509.DNSName("localhost")]), critical=False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .sign(key, hashes.SHA256())
    )
    private = key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
    credentials = grpc.ssl_server_credentials([(private, made.public_bytes(Encoding.PEM))])
    return base64.b64encode(made.public_bytes(Encoding.DER)).decode().rstrip("="), credentials


def serve(answers: Any) -> None:
    """Be the plugin that answers each call with the method of its name."""
    if os.environ.get(COOKIE[0]) != COOKIE[1]:
        sys.exit("This is a plugin: it is not meant to be run by hand.")
    start = os.environ.get("TEST_PROVIDER_START", "")
    if start == "crash":
        sys.exit("cannot start today")
    if start == "hang":
        sys.stderr.write("waiting for something\n")
        sys.stderr.flush()
        time.sleep(600)
    if start == "slow":
        time.sleep(1.5)
    if start == "old":
        print("1|4|unix|/tmp/nowhere|grpc|", flush=True)
        time.sleep(600)
    if start == "babble":
        print("hello, world", flush=True)
        time.sleep(600)
    server = grpc.server(futures.ThreadPoolExecutor(8), options=[("grpc.max_send_message_length", -1)])
    handlers = {}
    for call, (old, asked, answered) in CALLS.items():
        answer = killed if call == os.environ.get("TEST_PROVIDER_KILL") else getattr(answers, call, None)
        if answer is not None:
            made = grpc.unary_stream_rpc_method_handler if call in STREAMS else grpc.unary_unary_rpc_method_handler
            handlers[old if VERSION == 5 else call] = made(
                answer,
                request_deserializer=getattr(M, asked).FromString,
                response_serializer=getattr(M, answered).SerializeToString,
            )
    stop = futures.Future[None]()

    def shutdown(request: bytes, context: Any) -> bytes:
        stop.set_result(None)
        return b""

    control = {"Shutdown": grpc.unary_unary_rpc_method_handler(shutdown)}
    server.add_generic_rpc_handlers(
        (
            grpc.method_handlers_generic_handler(f"tfplugin{VERSION}.Provider", handlers),
            grpc.method_handlers_generic_handler("plugin.GRPCController", control),
        )
    )
    path = os.path.join(os.environ.get("PLUGIN_UNIX_SOCKET_DIR") or tempfile.mkdtemp(), "plugin")
    certificate = ""
    if start == "tls":
        certificate, credentials = own_certificate()
        server.add_secure_port(f"unix:{path}", credentials)
    else:
        server.add_insecure_port(f"unix:{path}")
    server.start()
    WORLD.mkdir(exist_ok=True)
    with open(WORLD / "started", "a") as file:
        file.write(f"{os.environ.get('TEST_PROVIDER_PID') or os.getpid()}\n")
    print(f"1|{VERSION}|unix|{path}|grpc|{certificate}", flush=True)
    stop.result()
    server.stop(0.2).wait()


def main() -> None:
    serve(Provider())


if __name__ == "__main__":
    main()
