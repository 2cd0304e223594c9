"""Providers that run as plugins, with the interface planner.world.provider.interface.Provider."""

from __future__ import annotations

from functools import cached_property
from typing import Any

from planner.foundation.support import exact_json
from planner.foundation.support.digests import blake2b
from planner.foundation.values.json_codec import CodecError
from planner.foundation.values.schema import implied_type
from planner.foundation.values.types import DYNAMIC, Type
from planner.foundation.values.value import Null, Value
from planner.foundation.vocabulary.diagnostic import Failure, error
from planner.foundation.vocabulary.release import COMPATIBLE_VERSION
from planner.language.functions.protocol import Function, FunctionError
from planner.world.provider import interface
from planner.world.provider.conformity import without_removed
from planner.world.provider.plugin.answers import diagnostics, path
from planner.world.provider.plugin.base import PluginBase, functions, private_bytes, private_text
from planner.world.provider.plugin.process import PluginError, UnknownCall
from planner.world.provider.plugin.streams import ActionCalls, ListCalls

# Ephemeral resources are opened, renewed while they are used, and closed.


class EphemeralCalls(PluginBase):
    """The calls to a plugin provider about ephemeral resources."""

    def open(self, type: str, config: Value) -> interface.OpenedEphemeral:
        try:
            wanted = implied_type(self._block("ephemeral", type))
            answer = self._call(
                "OpenEphemeralResource",
                "Open",
                type_name=type,
                config=self._dynamic(config, wanted),
                client_capabilities=self._abilities(),
            )
            value = self._value(answer, "result", wanted)
        except (PluginError, CodecError) as problem:
            return interface.OpenedEphemeral(Null(DYNAMIC), diagnostics=(self._plugin_problem(problem),))
        problems = diagnostics(answer.diagnostics) + self._deferral(answer, type)
        return interface.OpenedEphemeral(value, _private(answer), _renew_at(answer), tuple(problems))

    def renew(self, type: str, private: bytes | None) -> interface.OpenedEphemeral:
        try:
            answer = self._call("RenewEphemeralResource", "Renew", type_name=type, **_private_field(private))
        except PluginError as problem:
            return interface.OpenedEphemeral(None, private, diagnostics=(self._plugin_problem(problem),))
        return interface.OpenedEphemeral(
            None, _private(answer), _renew_at(answer), tuple(diagnostics(answer.diagnostics))
        )

    def close_ephemeral(self, type: str, private: bytes | None) -> list[interface.AttributeDiagnostic]:
        try:
            answer = self._call("CloseEphemeralResource", "Close", type_name=type, **_private_field(private))
        except PluginError as problem:
            return [self._plugin_problem(problem)]
        return diagnostics(answer.diagnostics)


def _private_field(private: bytes | None) -> dict[str, Any]:
    return {} if private is None else {"private": private}


def _private(answer: Any) -> bytes | None:
    return answer.private if answer.HasField("private") else None


def _renew_at(answer: Any) -> float | None:
    if not answer.HasField("renew_at"):
        return None
    seconds: int = answer.renew_at.seconds
    return seconds + float(answer.renew_at.nanos) / 1e9


class PluginProvider(EphemeralCalls, ActionCalls, ListCalls):
    """A plugin as a Provider; PluginBase documents the arguments."""

    # ---------------------------------------------------------------- validate, configure

    def validate_provider(self, config: Value) -> list[interface.AttributeDiagnostic]:
        try:
            stamps, value = self._stamps_of(config), self._configuration_value(config)
            answer = self._call_kept("ValidateProviderConfig", "ProviderConfig", True, stamps, config=value)
        except (PluginError, CodecError) as problem:
            return [self._plugin_problem(problem)]
        return diagnostics(answer.diagnostics)

    def configure(self, config: Value) -> list[interface.AttributeDiagnostic]:
        problems = self.validate_provider(config)
        if any(d.severity == "error" for d in problems):
            return problems
        try:
            problems += self._configure(
                self._stamps_of(config),
                terraform_version=COMPATIBLE_VERSION,
                config=self._configuration_value(config),
                client_capabilities=self._abilities(),
            )
        except (PluginError, CodecError) as problem:
            return [*problems, self._plugin_problem(problem)]
        self._is_configured = True
        self.__dict__.pop("_registered", None)
        return problems

    def _configure(self, stamps: bytes | None, /, **fields: Any) -> list[interface.AttributeDiagnostic]:
        """Configure the plugin. If an earlier command used the same configuration without a problem, the request is
        delayed until a call needs the process. `stamps`: as in `_call_kept`. Raises PluginError."""
        call, kept = "ConfigureProvider", self.kept
        message = self._messages.Configuration(**fields)
        if stamps is None:
            self.kept = kept = None
        data = (stamps or b"") + message.SerializeToString(deterministic=True)
        problems: list[interface.AttributeDiagnostic] = []
        if kept is not None and call in kept.calls and kept.get(call, data) is not None:
            self._late = fields
        else:
            problems = diagnostics(self._send(call, message, False).diagnostics)
            if kept is not None and not problems:
                kept.put(call, data, b"")
        self._configuration = data
        return problems

    def _configuration_value(self, config: Value) -> Any:
        return self._dynamic(config, implied_type(self.schema().provider))

    def validate_resource(self, mode: str, type: str, config: Value) -> list[interface.AttributeDiagnostic]:
        call = {
            "managed": "ValidateResourceConfig",
            "data": "ValidateDataResourceConfig",
            "ephemeral": "ValidateEphemeralResourceConfig",
        }[mode]
        try:
            value = self._dynamic(config, implied_type(self._block(mode, type)))
            asked = (mode, type, self._is_configured, blake2b(value.msgpack, digest_size=16).digest())
            if asked in self._valid:
                return []
            fields = {"client_capabilities": self._abilities()} if mode == "managed" else {}
            stamps = self._stamps_of(config)
            answer = self._call_kept(call, "ResourceConfig", True, stamps, type_name=type, config=value, **fields)
        except (PluginError, CodecError) as problem:
            return [self._plugin_problem(problem)]
        result = diagnostics(answer.diagnostics)
        if not result:
            self._valid.add(asked)
        return result

    # ---------------------------------------------------------------- objects

    def upgrade(
        self, type: str, version: int, attributes: dict[str, Any], flat: bool = False
    ) -> tuple[Value, list[interface.AttributeDiagnostic]]:
        try:
            block = self._block("managed", type)
            wanted = implied_type(block)
            if version == self._resource("managed", type).version and not flat:
                attributes = without_removed(attributes, wanted)
            raw = self._raw(attributes, flat)
            answer = self._call_kept(
                "UpgradeResourceState", "OldState", True, b"", type_name=type, version=version, raw_state=raw
            )
            problems = diagnostics(answer.diagnostics)
            value = self._value(answer, "upgraded_state", wanted)
        except (PluginError, CodecError) as problem:
            return Null(DYNAMIC), [self._plugin_problem(problem)]
        return value, problems + self._write_only(block, value, type)

    def _raw(self, attributes: dict[str, Any], flat: bool) -> Any:
        raw = self._messages.RawState
        return raw(flatmap=attributes) if flat else raw(json=exact_json.dumps(attributes))

    def upgrade_identity(
        self, type: str, version: int, identity: dict[str, Any]
    ) -> tuple[Value, list[interface.AttributeDiagnostic]]:
        try:
            schema = self._resource("managed", type)
            raw = self._raw(identity, False)
            answer = self._call_kept(
                "UpgradeResourceIdentity", "OldIdentity", True, b"", type_name=type, version=version, raw_identity=raw
            )
            value = self._identity_in(answer, "upgraded_identity", schema)
        except (PluginError, CodecError) as problem:
            return None, [self._plugin_problem(problem)]
        return value, diagnostics(answer.diagnostics)

    def move(self, request: interface.MoveRequest) -> interface.MoveAnswer:
        try:
            schema = self._resource("managed", request.target)
            if not self._schema_parts().general.server_capabilities.move_resource_state:
                detail = f"{self._who} cannot move objects between types, so no {request.source_type} can become a "
                refusal = interface.AttributeDiagnostic("error", "Move not supported", f"{detail}{request.target}.")
                return interface.MoveAnswer(Null(DYNAMIC), diagnostics=(refusal,))
            source_identity: dict[str, Any] = {}
            if request.identity is not None:
                source_identity["source_identity"] = self._raw(request.identity, False)
                source_identity["source_identity_schema_version"] = request.identity_version
            answer = self._call(
                "MoveResourceState",
                "Move",
                source_provider_address=request.source_provider,
                source_type_name=request.source_type,
                source_schema_version=request.source_version,
                source_state=self._raw(request.attributes, request.flat),
                source_private=private_bytes(request.private),
                target_type_name=request.target,
                **source_identity,
            )
            problems = diagnostics(answer.diagnostics)
            value = self._value(answer, "target_state", implied_type(schema.block))
            identity = self._identity_in(answer, "target_identity", schema)
        except (PluginError, CodecError) as problem:
            return interface.MoveAnswer(Null(DYNAMIC), diagnostics=(self._plugin_problem(problem),))
        problems += self._write_only(schema.block, value, request.target)
        return interface.MoveAnswer(value, private_text(answer.target_private), tuple(problems), identity)

    def read(
        self, type: str, current: Value, private: str | None, identity: Value = None, meta: Value = None
    ) -> interface.ReadAnswer:
        try:
            schema = self._resource("managed", type)
            block = schema.block
            answer = self._call(
                "ReadResource",
                "Read",
                type_name=type,
                current_state=self._dynamic(current, implied_type(block)),
                private=private_bytes(private),
                client_capabilities=self._abilities(),
                **self._identity_out("current_identity", identity, schema),
                **self._meta(meta),
            )
            problems = diagnostics(answer.diagnostics)
            value = self._value(answer, "new_state", implied_type(block))
            now = self._identity_in(answer, "new_identity", schema)
        except (PluginError, CodecError) as problem:
            return interface.ReadAnswer(current, private, (self._plugin_problem(problem),))
        problems += self._write_only(block, value, type) + self._unknown(value, type) + self._deferral(answer, type)
        if not any(p.severity == "error" for p in problems):
            problems += self._identity_faults(type, value, now)
        return interface.ReadAnswer(value, private_text(answer.private), tuple(problems), now)

    def plan(self, request: interface.PlanRequest) -> interface.PlanAnswer:
        type = request.type
        try:
            schema = self._resource("managed", type)
            block, wanted = schema.block, implied_type(schema.block)
            capabilities = self._schema_parts().general.server_capabilities
            if request.proposed.__class__ is Null and not capabilities.plan_destroy:
                return interface.PlanAnswer(Null(wanted), private=request.prior_private)
            answer = self._call_kept(
                "PlanResourceChange",
                "Plan",
                False,
                self._stamps_of(request.config),
                type_name=type,
                prior_state=self._dynamic(request.prior, wanted),
                proposed_new_state=self._dynamic(request.proposed, wanted),
                config=self._dynamic(request.config, wanted),
                prior_private=private_bytes(request.prior_private),
                client_capabilities=self._abilities(),
                **self._identity_out("prior_identity", request.prior_identity, schema),
                **self._meta(request.meta),
            )
            problems = diagnostics(answer.diagnostics)
            planned = self._value(answer, "planned_state", wanted)
            identity = self._identity_in(answer, "planned_identity", schema)
        except (PluginError, CodecError) as problem:
            return interface.PlanAnswer(request.proposed, diagnostics=(self._plugin_problem(problem),))
        return interface.PlanAnswer(
            planned,
            tuple(path(p) for p in answer.requires_replace),
            private_text(answer.planned_private),
            answer.legacy_type_system,
            tuple(problems + self._write_only(block, planned, type) + self._deferral(answer, type)),
            identity,
        )

    def apply(self, request: interface.ApplyRequest) -> interface.ApplyAnswer:
        type, config = request.type, request.config
        try:
            schema = self._resource("managed", type)
            block, wanted = schema.block, implied_type(schema.block)
            answer = self._call(
                "ApplyResourceChange",
                "Apply",
                type_name=type,
                prior_state=self._dynamic(request.prior, wanted),
                planned_state=self._dynamic(request.planned, wanted),
                config=self._dynamic(Null(wanted) if config.__class__ is Null else config, wanted),
                planned_private=private_bytes(request.private),
                **self._identity_out("planned_identity", request.identity, schema),
                **self._meta(request.meta),
            )
            problems = diagnostics(answer.diagnostics)
            value = self._value(answer, "new_state", wanted)
            identity = self._identity_in(answer, "new_identity", schema)
        except (PluginError, CodecError) as problem:
            return interface.ApplyAnswer(Null(DYNAMIC), diagnostics=(self._plugin_problem(problem),))
        problems += self._write_only(block, value, type)
        if not any(p.severity == "error" for p in problems):
            problems += self._identity_faults(type, value, identity, request.identity)
        return interface.ApplyAnswer(
            value, private_text(answer.private), answer.legacy_type_system, tuple(problems), identity
        )

    def import_object(
        self, type: str, id: str, identity: Value = None
    ) -> tuple[list[interface.ImportedObject], list[interface.AttributeDiagnostic]]:
        try:
            schema = self._resource("managed", type)
            wanted = implied_type(schema.block)
            answer = self._call(
                "ImportResourceState",
                "Import",
                type_name=type,
                id=id,
                client_capabilities=self._abilities(),
                **self._identity_out("identity", identity, schema),
            )
            objects = [
                interface.ImportedObject(
                    o.type_name,
                    self._value(o, "state", wanted),
                    private_text(o.private),
                    self._identity_in(o, "identity", schema),
                )
                for o in answer.imported_resources
            ]
        except (PluginError, CodecError) as problem:
            return [], [self._plugin_problem(problem)]
        return objects, diagnostics(answer.diagnostics) + self._deferral(answer, type)

    def read_data(self, type: str, config: Value, meta: Value = None, address: str = "") -> interface.ReadAnswer:
        try:
            wanted = implied_type(self._block("data", type))
            answer = self._call(
                "ReadDataSource",
                "DataSource",
                type_name=type,
                config=self._dynamic(config, wanted),
                client_capabilities=self._abilities(),
                **self._meta(meta),
            )
            value = self._value(answer, "state", wanted)
        except (PluginError, CodecError) as problem:
            return interface.ReadAnswer(Null(DYNAMIC), diagnostics=(self._plugin_problem(problem),))
        problems = diagnostics(answer.diagnostics) + self._deferral(answer, type)
        return interface.ReadAnswer(value, diagnostics=tuple(problems))

    def function(self, name: str) -> Function | None:
        """A function in the schema, or one that the plugin registered; None if there is none. Registered functions are
        requested once, if possible after the plugin is configured."""
        item: Function | None = self.schema().functions.get(name)
        return item or self._registered.get(name)

    @cached_property
    def _registered(self) -> dict[str, Function]:
        """The functions that the running provider reports, by name. Raises Failure."""
        try:
            answer = self._call("GetFunctions", "Empty", True)
        except UnknownCall:
            return {}
        except PluginError as problem:
            raise Failure(self._failure(str(problem))) from None
        problems = [
            error("provider.functions", d.summary, d.detail)
            for d in diagnostics(answer.diagnostics)
            if d.severity == "error"
        ]
        if problems:
            raise Failure(problems)
        result: dict[str, Function] = self._readable(functions)(answer.functions, self._call_function)
        return result

    def _call_function(self, name: str, arguments: list[tuple[Value, Type]], result: Type) -> Value:
        """The result of a function. `arguments`: values with the types of their parameters. Raises FunctionError."""
        try:
            given = [self._dynamic(value, of) for value, of in arguments]
            stamps = self._stamps_of(tuple(value for value, _ in arguments))
            answer = self._call_kept("CallFunction", "FunctionCall", True, stamps, name=name, arguments=given)
            if answer.HasField("error"):
                # an error that names no argument refers to the first argument
                raise FunctionError(answer.error.text, answer.error.function_argument)
            return self._value(answer, "result", result, is_stored=False)
        except (PluginError, CodecError) as problem:
            raise FunctionError(f"{self._who}: {problem}") from None
