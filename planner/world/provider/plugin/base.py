"""The base class of all calls to a plugin: its process, its schema, and the conversion of values in requests and
responses.

A plugin process serves one configuration, because in protocols 5 and 6 `ConfigureProvider` applies to the whole
process. So each configuration has its own process, started by the first call that needs it. The schema may come from a
cache."""

from __future__ import annotations

import base64
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from contextlib import suppress
from functools import cached_property, partial
from threading import RLock, Thread
from typing import TYPE_CHECKING, Any

from planner.foundation.support import exact_json
from planner.foundation.values.convert import path_text
from planner.foundation.values.json_codec import CodecError, from_json
from planner.foundation.values.operations import same_value
from planner.foundation.values.paths import infinite_paths, parts
from planner.foundation.values.schema import BlockSchema, implied_type
from planner.foundation.values.types import Type
from planner.foundation.values.value import Null, Value, is_wholly_known
from planner.foundation.vocabulary.diagnostic import Diagnostic, Failure, error
from planner.foundation.vocabulary.records import evolve
from planner.language.functions.protocol import Function, Param
from planner.world.provider.interface import AttributeDiagnostic, ProviderSchema, ResourceSchema
from planner.world.provider.plugin.answers import diagnostics, failure, kept_write_only
from planner.world.provider.plugin.client import ClientClosedError, PluginClient
from planner.world.provider.plugin.codec import decode, encode
from planner.world.provider.plugin.messages import CALLS, messages
from planner.world.provider.plugin.process import Attachment, PluginError
from planner.world.provider.plugin.schema_parts import (
    DamagedSchema,
    MessageTable,
    SchemaParts,
    general_part,
    identity_of,
    load_parts,
    store_parts,
    take_apart,
)
from planner.world.provider.plugin.schemas import Converted, action_schema, ephemeral_schema, read_type, resource_schema

if TYPE_CHECKING:
    from planner.world.provider.plugin.kept_answers import KeptAnswers

_NOTHING = b"\xc0"  # null in MessagePack


class PluginBase:
    """A provider with a source address. Its plugin is started with `command`, or already runs at the address in
    `attachment` (TF_REATTACH_PROVIDERS). `keep_schema`: the plugin's file, which identifies the cached schema; None if
    the schema is not cached."""

    is_inline = False
    deferral_allowed = False  # whether the plugin may defer objects and actions
    kept: KeptAnswers | None = None  # cached responses from earlier commands

    def __init__(
        self,
        address: str,
        command: Sequence[str],
        keep_schema: str | None = None,
        attachment: Attachment | None = None,
    ) -> None:
        self.address = address
        self._command, self._keep_schema, self._attachment = list(command), keep_schema, attachment
        self._lock = RLock()
        self._starting = RLock()
        """a lock that is acquired after `_lock`, and held while the process starts and a delayed configuration is
        sent"""
        self._client: PluginClient | None = None
        self._parts: SchemaParts | None = None
        self._keep_is_damaged = False
        self._is_configured = False
        self._configuration = b""
        """the request with which the provider was configured"""
        self._late: dict[str, Any] | None = None
        """the fields of a request that configured the provider earlier without a problem; the request is sent again
        before the first call that needs the process"""
        self._valid: set[tuple[str, str, bool, bytes]] = set()
        """object configurations that the provider found valid: mode, type, whether the provider was configured at that
        time, and digest"""
        # whether the schema was requested from this process; some plugins require this request before any other call
        self._asked = False

    # ---------------------------------------------------------------- process

    def _start(self) -> PluginClient:
        """The running plugin. Raises PluginError."""
        with self._starting:
            if self._client is None:
                self._client = PluginClient(self._command, self.address, self._attachment)
                self._asked = False
            return self._client

    def _serving(self) -> PluginClient:
        """The running plugin. A delayed configuration request is sent to it first. Raises PluginError and Failure, and
        ClientClosedError after `close`."""
        if self.kept is not None:
            self.kept.is_insufficient = True
        client = self._started()
        if self._late is not None:
            with self._starting:
                if self._late is not None:
                    request = client.messages.Configuration(**self._late)
                    answer = self._send_logged(client, "ConfigureProvider", request.SerializeToString(), False)
                    problems = [d for d in diagnostics(answer.diagnostics) if d.severity == "error"]
                    if problems:
                        raise PluginError("\n\n".join(f"{d.summary}: {d.detail}" for d in problems))
                    self._late = None
        return client

    def _started(self) -> PluginClient:
        """The running plugin, after its schema was requested. Raises PluginError and Failure."""
        client = self._client
        if client is not None and self._asked:
            return client
        with self._lock:
            abilities = self._schema_parts().general.server_capabilities
        with self._starting:
            client = self._start()
            if not self._asked and not abilities.get_provider_schema_optional:
                self._request_schema(client)
            self._asked = True
            return client

    @property
    def _messages(self) -> Any:
        """The message classes of the plugin's protocol. Raises PluginError and Failure."""
        client = self._client
        if client is not None:
            return client.messages
        with self._lock:
            return messages(self._schema_parts().version)

    def answers_of(self, calls: Mapping[str, bool]) -> KeptAnswers | None:
        """The cache of the plugin's responses to `calls` (as in KeptAnswers); None if responses are not cached."""
        from planner.world.provider.plugin import kept_answers
        from planner.world.provider.plugin.kept_answers import KeptAnswers

        identity = identity_of(self._keep_schema) if self._keep_schema is not None else None
        answers = KeptAnswers(identity, calls) if identity is not None else None
        if kept_answers.LOGS is not None:
            kept_answers.LOGS[self.address] = None
            if answers is not None and identity is not None and self._keep_schema is not None:
                answers.log = kept_answers.CallLog(identity, self._keep_schema, kept_answers.environment())
                kept_answers.LOGS[self.address] = answers.log
        return answers

    def wake(self) -> None:
        """Start the process in the background if the last run of the same command needed it, or if there is no record
        of such a run."""
        if self.kept is not None and not self.kept.starts:
            return
        Thread(target=self._wake, name=f"start {self.address}", daemon=True).start()

    def _wake(self) -> None:
        with suppress(PluginError, Failure):  # later calls get the same error
            self._started()

    def _call(self, name: str, request: str, quick: bool = False, /, **fields: Any) -> Any:
        """The response to the call `name`. `request`: the message type of the request; `fields`: its fields. Raises
        PluginError and Failure."""
        return self._send(name, getattr(self._messages, request)(**fields), quick)

    def _send(self, name: str, message: Any, quick: bool) -> Any:
        while True:
            with suppress(ClientClosedError):
                return self._send_logged(self._serving(), name, message.SerializeToString(), quick)

    def _send_logged(self, client: PluginClient, name: str, request: bytes, quick: bool) -> Any:
        """Send a request, and log it if the calls of this command are logged. Raises PluginError, and ClientClosedError
        after `close`."""
        log = self.kept.log if self.kept is not None else None
        try:
            answer = client.call_bytes(name, request, quick)
        except (PluginError, ClientClosedError):
            if log is not None:
                log.fail()
            raise
        if log is not None:
            log.add(self, name, request, answer)
        return client.read(name, answer)

    def answer_again(self, call: str, request: bytes) -> bytes:
        """Send the plugin a request that an earlier command sent and recorded, and return the new response. Raises
        PluginError, Failure and ClientClosedError."""
        return self._started().call_bytes(call, request)

    def _call_kept(self, name: str, request: str, quick: bool, stamps: bytes | None, /, **fields: Any) -> Any:
        """Like `_call`, but may return a cached response. `stamps`: the `file_stamps` of the files that the request
        names; None if they are unknown. Raises PluginError and Failure."""
        message = getattr(self._messages, request)(**fields)
        kept = self.kept
        if kept is None or name not in kept.calls or stamps is None:
            return self._send(name, message, quick)
        data = b"\0".join((self._configuration, stamps, message.SerializeToString(deterministic=True)))
        known = kept.get(name, data)
        if known is not None:
            return getattr(self._messages, CALLS[name][2]).FromString(known)
        answer = self._send(name, message, quick)
        problems = diagnostics(getattr(answer, "diagnostics", ()))
        is_deferred = any(field.name == "deferred" for field, _ in answer.ListFields())
        if not is_deferred and not any(d.severity == "error" for d in problems):
            kept.put(name, data, answer.SerializeToString())
        return answer

    def _stream(self, name: str, request: str, /, **fields: Any) -> Generator[Any, None, None]:
        """Like `_call`, for a streamed response: yields messages as they arrive. Raises PluginError and Failure."""
        if self.kept is not None and self.kept.log is not None:
            self.kept.log.fail()  # streamed responses come in any order and are not logged, so the log is incomplete
        while True:
            with suppress(ClientClosedError):
                client = self._serving()
                return (yield from client.stream(name, getattr(client.messages, request)(**fields)))

    def stop(self) -> None:
        """Request the plugin to stop. Does not wait, because this may run in a signal handler."""
        if self._client is not None:
            Thread(target=self._stop, args=(self._client,), name=f"stop {self.address}", daemon=True).start()

    def _stop(self, client: PluginClient) -> None:
        with suppress(PluginError, ClientClosedError):  # the plugin may ignore the request
            client.call("StopProvider", client.messages.Empty(), quick=True)

    def close(self) -> None:
        """End the process when running calls have ended, and kill it if it does not end. The next call starts a new
        process."""
        with self._lock, self._starting:
            client, self._client = self._client, None
            self._asked = self._is_configured = False
            self._late, self._configuration = None, b""
        if self.kept is not None:
            self.kept.save()
        if client is not None:
            client.close()

    # ---------------------------------------------------------------- schema

    def schema(self) -> ProviderSchema:
        """The schema of the provider. Raises Failure."""
        return self._schema

    @cached_property
    def _schema(self) -> ProviderSchema:
        try:
            with self._lock:
                told = self._schema_parts()
        except PluginError as problem:
            raise Failure(self._failure(str(problem))) from None
        answer = told.general
        tables = {name: MessageTable(places, partial(self._part, name)) for name, places in told.places.items()}
        identities = tables["identity_schemas"]

        def managed(name: str, given: Any) -> ResourceSchema:
            return resource_schema(name, given, identities.get(name))

        return ProviderSchema(
            evolve(self._readable(resource_schema)("provider", answer.provider, None, False).block, ephemeral=True),
            Converted(tables["resource_schemas"], self._readable(managed)),
            Converted(tables["data_source_schemas"], self._readable(resource_schema)),
            Converted(tables["ephemeral_resource_schemas"], self._readable(ephemeral_schema)),
            self._readable(functions)(tables["functions"], self._call_function),
            self._readable(resource_schema)("provider_meta", answer.provider_meta).block
            if answer.HasField("provider_meta")
            else None,
            answer.provider.version,
            answer.HasField("provider"),
            actions=Converted(tables["action_schemas"], self._readable(action_schema)),
            list_resources=Converted(tables["list_resource_schemas"], self._readable(resource_schema)),
            generates_config=answer.server_capabilities.generate_resource_config,
        )

    def _call_function(self, name: str, arguments: list[tuple[Value, Type]], result: Type) -> Value:
        raise NotImplementedError

    def _readable(self, convert: Callable[..., Any]) -> Callable[..., Any]:
        def converted(*given: Any) -> Any:
            try:
                return convert(*given)
            except (ValueError, RecursionError) as problem:
                raise Failure(self._failure(f"Its schema cannot be read: {problem}.")) from None

        return converted

    def _part(self, table: str, name: str) -> Any:
        """The protobuf message with the schema of one type (an entry of `table`). Raises Failure and KeyError."""
        with self._lock:
            try:
                try:
                    return self._schema_parts().part(table, name)
                # the cached schema is damaged: request it again, and cache the new one
                except DamagedSchema:
                    self._parts, self._keep_is_damaged = None, True
                    return self._schema_parts().part(table, name)
            except PluginError as problem:
                raise Failure(self._failure(str(problem))) from None
            except ValueError as problem:
                raise Failure(self._failure(f"Its schema of {name} cannot be read: {problem}.")) from None

    def _schema_parts(self) -> SchemaParts:
        """The schema, from the cache or from the plugin. Raises PluginError and Failure."""
        if self._parts is None and self._keep_schema is not None and not self._keep_is_damaged:
            self._parts = load_parts(self._keep_schema)
        if self._parts is None:
            self._ask_schema()
        assert self._parts is not None
        return self._parts

    def _ask_schema(self) -> None:
        try:
            with self._starting:
                client = self._start()
                answer = self._request_schema(client)
                self._asked = True
            # identities are optional: if their schemas are invalid, the provider is used without them
            identities = b""
            with suppress(PluginError):
                more = client.call("GetResourceIdentitySchemas", client.messages.Empty(), quick=True)
                if not any(d.severity == "error" for d in diagnostics(more.diagnostics)):
                    identities = more.SerializeToString()
            parts, data = take_apart(client.version, answer, identities)
        except ValueError as problem:
            raise PluginError(f"Its schema cannot be read: {problem}.") from None
        self._parts = parts
        if self._keep_schema is not None:
            store_parts(self._keep_schema, parts, data)

    def _request_schema(self, client: PluginClient) -> bytes:
        """The schema that the plugin returns, in encoded form. Raises PluginError, and Failure with errors of the
        plugin."""
        answer = client.call_bytes("GetProviderSchema", b"", quick=True)
        try:
            problems = diagnostics(general_part(client.version, answer).diagnostics)
        except ValueError as problem:
            raise PluginError(f"Its schema cannot be read: {problem}.") from None
        if any(d.severity == "error" for d in problems):
            raise Failure([error("provider.schema", d.summary, d.detail) for d in problems if d.severity == "error"])
        return answer

    def _failure(self, detail: str) -> Diagnostic:
        return error("provider.plugin", "Provider plugin failed", f"{self._who}: {detail}")

    @property
    def _who(self) -> str:
        where = self._command[0] if self._command else "started by another program"
        return f"The plugin of the provider {self.address} ({where})"

    def _plugin_problem(self, problem: Exception) -> AttributeDiagnostic:
        return failure("Provider plugin failed", f"{self._who}: {problem}")

    def _resource(self, mode: str, type: str) -> ResourceSchema:
        """The schema of a type. Raises PluginError if there is no such type, and Failure if there is no schema."""
        known = self.schema().resource(mode, type)
        if known is None:
            raise PluginError(f"It has no type {type}.")
        return known

    def _block(self, mode: str, type: str) -> BlockSchema:
        """The schema of the body of an object. Raises the same exceptions as `_resource`."""
        return self._resource(mode, type).block

    # ---------------------------------------------------------------- values

    def _stamps_of(self, value: Value) -> bytes | None:
        """The `file_stamps` of the files that a value names; b"" if it names none or responses are not cached, None if
        there are too many files."""
        if self.kept is None:
            return b""
        from planner.world.provider.plugin.kept_answers import file_stamps

        stamps = file_stamps(_texts(value), self.kept.log)
        if stamps is None and self.kept.log is not None:
            self.kept.log.fail()
        return stamps

    def _dynamic(self, value: Value, wanted: Type) -> Any:
        return self._messages.DynamicValue(msgpack=encode(value, wanted))

    def _value(self, answer: Any, name: str, wanted: Type, is_stored: bool = True) -> Value:
        """The value in a field of a response, Null if there is none. Raises CodecError, also if a stored value contains
        an infinite number."""
        given = getattr(answer, name)
        try:
            if given.msgpack:
                value = decode(given.msgpack, wanted)
                if is_stored and (infinite := infinite_paths(value)):
                    raise CodecError(f"the number {path_text(infinite[0])} is infinite, and cannot be stored")
                return value
            if given.json:
                return from_json(exact_json.loads(given.json), wanted)
        except ValueError as problem:
            raise CodecError(f"Its response cannot be read: {name}: {problem}.") from None
        return Null(wanted)

    def _identity_out(self, field: str, identity: Value, schema: ResourceSchema) -> dict[str, Any]:
        """The field with the identity for a request; {} if there is no identity."""
        if identity is None or identity.__class__ is Null or schema.identity is None:
            return {}
        data = self._dynamic(identity, implied_type(schema.identity))
        return {field: self._messages.IdentityData(identity_data=data)}

    def _identity_in(self, answer: Any, field: str, schema: ResourceSchema) -> Value:
        """The identity in a field of a response; None if the response has none. Raises CodecError."""
        if schema.identity is None or not answer.HasField(field):
            return None
        given = getattr(answer, field)
        if not given.HasField("identity_data"):
            return None
        identity = self._value(given, "identity_data", implied_type(schema.identity))
        return None if identity.__class__ is Null else identity

    def _identity_faults(
        self, type: str, value: Value, identity: Value, planned: Value = None
    ) -> list[AttributeDiagnostic]:
        """The reasons why an identity (None if it is missing) is invalid. An object must keep its identity, and the
        identity must match the plan."""
        if value.__class__ is Null or self._resource("managed", type).identity is None:
            return []
        if identity is None or all(part.__class__ is Null for part in identity.values()):
            detail = f"{self._who} returned a {type} without its identity. This is a bug in the provider."
            return [failure("Missing resource identity", detail)]
        if not is_wholly_known(identity):
            detail = f"{self._who} returned an unknown identity for a {type}. This is a bug in the provider."
            return [failure("Missing resource identity", detail)]
        before = {} if planned is None or planned.__class__ is not dict else planned
        # the google provider plans some parts as null or empty and sets them later, so these count as unknown
        changed = [
            name
            for name, part in before.items()
            if part != ""
            and part.__class__ is not Null
            and is_wholly_known(part)
            and not same_value(part, identity[name])
        ]
        if not changed:
            return []
        detail = f"{self._who} changed the identity of a {type}: {', '.join(sorted(changed))} differs from the plan."
        return [failure("Resource identity changed", f"{detail} This is a bug in the provider.")]

    def _meta(self, meta: Value) -> dict[str, Any]:
        """The field `provider_meta` of a request; {} if the provider has no schema for it."""
        wanted = self.schema().meta
        if wanted is None:
            return {}
        messages = self._messages
        if meta is None:
            return {"provider_meta": messages.DynamicValue(msgpack=_NOTHING)}
        return {"provider_meta": self._dynamic(meta, implied_type(wanted))}

    def _abilities(self) -> Any:
        """The capabilities of planner as a client. Raises PluginError and Failure."""
        capabilities = self._messages.ClientCapabilities
        return capabilities(deferral_allowed=self.deferral_allowed, write_only_attributes_allowed=True)

    def _deferral(self, answer: Any, type: str) -> list[AttributeDiagnostic]:
        """The error for a response that defers its object; [] for other responses."""
        reason, faults = self._deferral_problems(answer, type)
        if not reason or faults:
            return faults
        detail = f"{self._who} deferred {type} with the reason {reason}."
        return [AttributeDiagnostic("error", "Deferred by the provider", detail, None, deferred=reason)]

    def _deferral_problems(self, answer: Any, type: str) -> tuple[str, list[AttributeDiagnostic]]:
        """The reason why a response defers its object or action ("" if it does not), and an error if the provider must
        not defer."""
        if not answer.HasField("deferred"):
            return "", []
        reason = DEFERRALS.get(answer.deferred.reason, "")
        what = f"without a valid reason ({answer.deferred.reason})" if not reason else f"with the reason {reason}"
        if reason and self.deferral_allowed:
            return reason, []
        detail = f"{self._who} deferred {type} {what}"
        detail += ", although deferral was not allowed" if not self.deferral_allowed else ""
        return reason, [failure("Invalid provider response", f"{detail}. This is a bug in the provider.")]

    def _write_only(self, block: BlockSchema, value: Value, type: str) -> list[AttributeDiagnostic]:
        return [
            failure(
                "Invalid provider response",
                f"{self._who} returned a value for {type}.{path_text(at)}, which is write-only and must be null in "
                "responses. This is a bug in the provider.",
            )
            for at in kept_write_only(block, value)
        ]

    def _unknown(self, value: Value, type: str) -> list[AttributeDiagnostic]:
        if is_wholly_known(value):
            return []
        detail = f"{self._who} returned unknown values for an existing {type}. This is a bug in the provider."
        return [failure("Provider produced invalid object", detail)]


DEFERRALS = {1: "resource_config_unknown", 2: "provider_config_unknown", 3: "absent_prereq"}
"""reasons for deferral: number in the protocol -> word in plans"""


def private_bytes(private: str | None) -> bytes:
    """Decode a provider's private data, which states and plans contain in Base64."""
    return base64.b64decode(private) if private else b""


def private_text(private: bytes) -> str | None:
    return base64.b64encode(private).decode() if private else None


# Functions of a provider (`provider::name::function`), called in its plugin.


Call = Callable[[str, list[tuple[Value, Type]], Type], Value]
"""parameters: name, arguments with the types of their parameters, and type of the result; raises FunctionError"""


def functions(given: Any, call: Call) -> dict[str, Function]:
    """The functions in a schema, by name. Raises ValueError for an unreadable type."""
    return {name: _function(name, given[name], call) for name in sorted(given)}


def _function(name: str, given: Any, call: Call) -> Function:
    params = [_param(p) for p in given.parameters]
    variadic = _param(given.variadic_parameter) if given.HasField("variadic_parameter") else None
    result = read_type(getattr(given, "return").type)

    def impl(*values: Value) -> Value:
        types = [p.type for p in params]
        if variadic is not None:
            types += [variadic.type] * (len(values) - len(types))
        return call(name, list(zip(values, types, strict=True)), result)

    function = Function(name, params, variadic, result, impl, given.description, not_null=False)
    function.summary = given.summary
    return function


def _param(given: Any) -> Param:
    return Param(
        given.name,
        read_type(given.type),
        given.description,
        allow_null=given.allow_null_value,
        allow_unknown=given.allow_unknown_values,
        allow_dynamic=given.allow_unknown_values,
    )


def _texts(value: Value) -> Iterator[str]:
    if value.__class__ is str:
        yield value
    else:
        for _, part in parts(value):
            yield from _texts(part)
