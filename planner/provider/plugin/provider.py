"""A provider that runs as a plugin, behind the same questions as any other (planner.provider.interface.Provider).

A plugin process serves one configuration: protocols 5 and 6 keep what `ConfigureProvider` sets for the whole process.
So each PluginProvider has a process of its own, started by the first question that the cache of schemas cannot answer.
"""

from __future__ import annotations

import base64
from collections.abc import Callable
from contextlib import suppress
from functools import cached_property
from threading import Lock, RLock, Thread
from typing import TYPE_CHECKING, Any

from attrs import evolve

from planner.language.convert import path_text
from planner.language.json_codec import CodecError, from_json
from planner.language.schema import BlockSchema, implied_type
from planner.language.types import DYNAMIC, Type
from planner.language.values import Null, Value, is_wholly_known
from planner.provider.interface import (
    ApplyAnswer,
    AttributeDiagnostic,
    ImportedObject,
    PlanAnswer,
    PlanRequest,
    ProviderSchema,
    ReadAnswer,
    ResourceSchema,
)
from planner.provider.plugin import schema_cache
from planner.provider.plugin.answers import diagnostics, failure, kept_write_only, path
from planner.provider.plugin.messages import messages
from planner.provider.plugin.process import PluginError
from planner.vocabulary import exact_json
from planner.vocabulary.diagnostic import Diagnostic, Failure, error
from planner.vocabulary.version import COMPATIBLE_VERSION

if TYPE_CHECKING:
    from planner.provider.plugin.client import Client

_NOTHING = b"\xc0"  # null in MessagePack


class PluginProvider:
    """The provider with a source address, run by a command. `keep_schema`: the file whose identity its schema may be
    kept by; None when it must be asked each time."""

    is_inline = False

    def __init__(self, address: str, command: list[str], keep_schema: str | None = None) -> None:
        self.address = address
        self._command, self._keep_schema = command, keep_schema
        self._lock = RLock()
        self._client: Client | None = None
        self._answer: Any = None
        self._asked = False  # whether this process was asked for its schema, which some plugins need first
        self._stopping = Lock()

    # ---------------------------------------------------------------- process

    def _started(self) -> Client:
        """The running plugin, which knows that its schema was asked for. Raises PluginError."""
        with self._lock:
            if self._client is None:
                from planner.provider.plugin.client import Client

                self._client = Client(self._command, self.address)
                self._asked = False
            if not self._asked and not self._schema_answer().server_capabilities.get_provider_schema_optional:
                self._ask_schema()
            return self._client

    def _call(self, name: str, request: str, quick: bool = False, /, **fields: Any) -> Any:
        """Ask with a message of the named kind. Raises PluginError."""
        client = self._started()
        return client.call(name, getattr(client.messages, request)(**fields), quick)

    def stop(self) -> None:
        """Ask the plugin to end what it is doing soon; this does not wait, as it may run in a signal handler."""
        if self._client is not None:
            Thread(target=self._stop, args=(self._client,), name=f"stop {self.address}", daemon=True).start()

    def _stop(self, client: Client) -> None:
        with suppress(PluginError):  # it is asked, not made
            client.call("StopProvider", client.messages.Empty(), quick=True)

    def close(self) -> None:
        with self._lock:
            client, self._client = self._client, None
        if client is not None:
            client.close()

    # ---------------------------------------------------------------- schema

    def schema(self) -> ProviderSchema:
        """All that the plugin offers. Raises Failure."""
        return self._schema

    @cached_property
    def _schema(self) -> ProviderSchema:
        from planner.provider.plugin.functions import functions
        from planner.provider.plugin.schemas import Converted, ephemeral_schema, resource_schema

        try:
            with self._lock:
                answer = self._schema_answer()
        except PluginError as problem:
            raise Failure(self._broken(str(problem))) from None
        return ProviderSchema(
            evolve(self._readable(resource_schema)(answer.provider).block, ephemeral=True),
            Converted(answer.resource_schemas, self._readable(resource_schema)),
            Converted(answer.data_source_schemas, self._readable(resource_schema)),
            Converted(answer.ephemeral_resource_schemas, self._readable(ephemeral_schema)),
            self._readable(functions)(answer.functions, self.call_function),
        )

    def _readable(self, convert: Callable[..., Any]) -> Callable[..., Any]:
        def converted(*given: Any) -> Any:
            try:
                return convert(*given)
            except (ValueError, RecursionError) as problem:
                raise Failure(self._broken(f"Its schema cannot be read: {problem}.")) from None

        return converted

    def _schema_answer(self) -> Any:
        """The message with the schema: kept from an earlier run, or asked for. Raises PluginError and Failure."""
        if self._answer is None:
            kept = schema_cache.load(self._keep_schema) if self._keep_schema is not None else None
            if kept is not None:
                version, data = kept
                from google.protobuf.message import DecodeError

                with suppress(DecodeError, ValueError):
                    self._answer = messages(version).SchemaAnswer.FromString(data)
        if self._answer is None:
            self._ask_schema()
        return self._answer

    def _ask_schema(self) -> None:
        if self._client is None:
            from planner.provider.plugin.client import Client

            self._client = Client(self._command, self.address)
        client = self._client
        answer = client.call("GetProviderSchema", client.messages.Empty(), quick=True)
        self._asked = True
        found = diagnostics(answer.diagnostics)
        if any(d.severity == "error" for d in found):
            raise Failure([error("provider.schema", d.summary, d.detail) for d in found if d.severity == "error"])
        if self._answer is None:
            self._answer = answer
            if self._keep_schema is not None:
                schema_cache.store(self._keep_schema, client.version, answer.SerializeToString())

    def _broken(self, detail: str) -> Diagnostic:
        return error("provider.plugin", "Provider plugin failed", f"{self._who}: {detail}")

    @property
    def _who(self) -> str:
        return f"The plugin of the provider {self.address} ({self._command[0]})"

    def _failed(self, problem: Exception) -> AttributeDiagnostic:
        return failure("Provider plugin failed", f"{self._who}: {problem}")

    def _block(self, mode: str, type: str) -> BlockSchema:
        """Raises PluginError when there is no such type."""
        schema = self.schema()
        tables = {"managed": schema.resources, "data": schema.data_sources, "ephemeral": schema.ephemeral}
        found: ResourceSchema | None = tables[mode].get(type)
        if found is None:
            raise PluginError(f"It has nothing named {type}.")
        return found.block

    # ---------------------------------------------------------------- validate, configure

    def validate_provider(self, config: Value) -> list[AttributeDiagnostic]:
        try:
            answer = self._call("ValidateProviderConfig", "ProviderConfig", True, config=self._configuration(config))
        except (PluginError, CodecError) as problem:
            return [self._failed(problem)]
        return diagnostics(answer.diagnostics)

    def configure(self, config: Value) -> list[AttributeDiagnostic]:
        found = self.validate_provider(config)
        if any(d.severity == "error" for d in found):
            return found
        try:
            client = self._started()
            answer = self._call(
                "ConfigureProvider",
                "Configuration",
                terraform_version=COMPATIBLE_VERSION,
                config=self._configuration(config),
                client_capabilities=_abilities(client),
            )
        except (PluginError, CodecError) as problem:
            return [*found, self._failed(problem)]
        return found + diagnostics(answer.diagnostics)

    def _configuration(self, config: Value) -> Any:
        return self._dynamic(config, implied_type(self.schema().provider))

    def validate_resource(self, mode: str, type: str, config: Value) -> list[AttributeDiagnostic]:
        call = {
            "managed": "ValidateResourceConfig",
            "data": "ValidateDataResourceConfig",
            "ephemeral": "ValidateEphemeralResourceConfig",
        }[mode]
        try:
            value = self._dynamic(config, implied_type(self._block(mode, type)))
            fields = {"client_capabilities": _abilities(self._started())} if mode == "managed" else {}
            answer = self._call(call, "ResourceConfig", True, type_name=type, config=value, **fields)
        except (PluginError, CodecError) as problem:
            return [self._failed(problem)]
        return diagnostics(answer.diagnostics)

    # ---------------------------------------------------------------- objects

    def upgrade(self, type: str, version: int, attributes: dict[str, Any]) -> tuple[Value, list[AttributeDiagnostic]]:
        try:
            block = self._block("managed", type)
            wanted = implied_type(block)
            if version == self.schema().resources[type].version:
                attributes = without_removed(attributes, wanted)
            client = self._started()
            raw = client.messages.RawState(json=exact_json.dumps(attributes))
            answer = self._call(
                "UpgradeResourceState", "OldState", True, type_name=type, version=version, raw_state=raw
            )
            found = diagnostics(answer.diagnostics)
            value = self._value(answer, "upgraded_state", wanted)
        except (PluginError, CodecError) as problem:
            return Null(DYNAMIC), [self._failed(problem)]
        return value, found + self._write_only(block, value, type)

    def read(self, type: str, current: Value, private: str | None) -> ReadAnswer:
        try:
            block = self._block("managed", type)
            client = self._started()
            answer = self._call(
                "ReadResource",
                "Read",
                type_name=type,
                current_state=self._dynamic(current, implied_type(block)),
                private=_bytes(private),
                client_capabilities=_abilities(client),
                **self._meta(),
            )
            found = diagnostics(answer.diagnostics)
            value = self._value(answer, "new_state", implied_type(block))
        except (PluginError, CodecError) as problem:
            return ReadAnswer(current, private, (self._failed(problem),))
        found += self._write_only(block, value, type) + self._unknown(value, type)
        return ReadAnswer(value, _text(answer.private), tuple(found))

    def plan(self, request: PlanRequest) -> PlanAnswer:
        type = request.type
        try:
            block = self._block("managed", type)
            wanted = implied_type(block)
            capabilities = self._schema_answer().server_capabilities
            if request.proposed.__class__ is Null and not capabilities.plan_destroy:
                return PlanAnswer(Null(wanted), private=request.prior_private)
            client = self._started()
            answer = self._call(
                "PlanResourceChange",
                "Plan",
                type_name=type,
                prior_state=self._dynamic(request.prior, wanted),
                proposed_new_state=self._dynamic(request.proposed, wanted),
                config=self._dynamic(request.config, wanted),
                prior_private=_bytes(request.prior_private),
                client_capabilities=_abilities(client),
                **self._meta(),
            )
            found = diagnostics(answer.diagnostics)
            planned = self._value(answer, "planned_state", wanted)
        except (PluginError, CodecError) as problem:
            return PlanAnswer(request.proposed, diagnostics=(self._failed(problem),))
        return PlanAnswer(
            planned,
            tuple(path(p) for p in answer.requires_replace),
            _text(answer.planned_private),
            answer.legacy_type_system,
            tuple(found + self._write_only(block, planned, type)),
        )

    def apply(self, type: str, prior: Value, planned: Value, config: Value, private: str | None) -> ApplyAnswer:
        try:
            block = self._block("managed", type)
            wanted = implied_type(block)
            answer = self._call(
                "ApplyResourceChange",
                "Apply",
                type_name=type,
                prior_state=self._dynamic(prior, wanted),
                planned_state=self._dynamic(planned, wanted),
                config=self._dynamic(Null(wanted) if config.__class__ is Null else config, wanted),
                planned_private=_bytes(private),
                **self._meta(),
            )
            found = diagnostics(answer.diagnostics)
            value = self._value(answer, "new_state", wanted)
        except (PluginError, CodecError) as problem:
            return ApplyAnswer(Null(DYNAMIC), diagnostics=(self._failed(problem),))
        found += self._write_only(block, value, type)
        return ApplyAnswer(value, _text(answer.private), answer.legacy_type_system, tuple(found))

    def import_object(self, type: str, id: str) -> tuple[list[ImportedObject], list[AttributeDiagnostic]]:
        try:
            block = self._block("managed", type)
            client = self._started()
            answer = self._call(
                "ImportResourceState", "Import", type_name=type, id=id, client_capabilities=_abilities(client)
            )
            objects = [
                ImportedObject(o.type_name, self._value(o, "state", implied_type(block)), _text(o.private))
                for o in answer.imported_resources
            ]
        except (PluginError, CodecError) as problem:
            return [], [self._failed(problem)]
        return objects, diagnostics(answer.diagnostics)

    def read_data(self, type: str, config: Value) -> ReadAnswer:
        try:
            wanted = implied_type(self._block("data", type))
            client = self._started()
            answer = self._call(
                "ReadDataSource",
                "DataSource",
                type_name=type,
                config=self._dynamic(config, wanted),
                client_capabilities=_abilities(client),
                **self._meta(),
            )
            value = self._value(answer, "state", wanted)
        except (PluginError, CodecError) as problem:
            return ReadAnswer(Null(DYNAMIC), diagnostics=(self._failed(problem),))
        return ReadAnswer(value, diagnostics=tuple(diagnostics(answer.diagnostics)))

    def call_function(self, name: str, arguments: list[tuple[Value, Type]], result: Type) -> Value:
        """The result of a provider function; each argument comes with its parameter's type. Raises FunctionError."""
        from planner.language.functions.protocol import FunctionError

        try:
            given = [self._dynamic(value, of) for value, of in arguments]
            answer = self._call("CallFunction", "FunctionCall", True, name=name, arguments=given)
            if answer.HasField("error"):
                at = answer.error.function_argument if answer.error.HasField("function_argument") else None
                raise FunctionError(answer.error.text, at)
            return self._value(answer, "result", result)
        except (PluginError, CodecError) as problem:
            raise FunctionError(f"{self._who}: {problem}") from None

    # ---------------------------------------------------------------- values

    def _dynamic(self, value: Value, wanted: Type) -> Any:
        from planner.provider.plugin.codec import encode

        return self._started().messages.DynamicValue(msgpack=encode(value, wanted))

    def _value(self, answer: Any, name: str, wanted: Type) -> Value:
        """The value in a field of an answer; Null when there is none. Raises CodecError."""
        from planner.provider.plugin.codec import decode

        given = getattr(answer, name)
        try:
            if given.msgpack:
                return decode(given.msgpack, wanted)
            if given.json:
                return from_json(exact_json.loads(given.json), wanted)
        except ValueError as problem:
            raise CodecError(f"Its answer cannot be read: {name}: {problem}.") from None
        return Null(wanted)

    def _meta(self) -> dict[str, Any]:
        """What goes with calls to a provider that wants to know of modules: nothing is said of them."""
        if not self._schema_answer().HasField("provider_meta"):
            return {}
        return {"provider_meta": self._started().messages.DynamicValue(msgpack=_NOTHING)}

    def _write_only(self, block: BlockSchema, value: Value, type: str) -> list[AttributeDiagnostic]:
        return [
            failure(
                "Invalid provider response",
                f"{self._who} answered with a value for {type}.{path_text(at)}, which is write-only and must never be "
                "in an answer. This is a mistake in the provider.",
            )
            for at in kept_write_only(block, value)
        ]

    def _unknown(self, value: Value, type: str) -> list[AttributeDiagnostic]:
        if is_wholly_known(value):
            return []
        detail = f"{self._who} left parts of an existing {type} unknown. This is a mistake in the provider."
        return [failure("Provider produced invalid object", detail)]


def without_removed(attributes: Any, wanted: Type) -> Any:
    """Recorded attributes without those that the type does not have (any more), at any depth."""
    from planner.language.types import ListType, MapType, ObjectType, SetType

    if isinstance(wanted, ObjectType) and isinstance(attributes, dict):
        of = wanted.attributes
        return {name: without_removed(value, of[name]) for name, value in attributes.items() if name in of}
    if isinstance(wanted, MapType) and isinstance(attributes, dict):
        return {key: without_removed(value, wanted.element) for key, value in attributes.items()}
    if isinstance(wanted, ListType | SetType) and isinstance(attributes, list):
        return [without_removed(value, wanted.element) for value in attributes]
    return attributes


def _abilities(client: Client) -> Any:
    return client.messages.ClientCapabilities(write_only_attributes_allowed=True)


def _bytes(private: str | None) -> bytes:
    """What a provider keeps for itself, which state and plan hold in base64."""
    return base64.b64decode(private) if private else b""


def _text(private: bytes) -> str | None:
    return base64.b64encode(private).decode() if private else None
