"""Calls to a plugin about actions and existing objects. The response to an invocation is a stream of events; the
response to a search is a stream of results."""

from __future__ import annotations

from collections.abc import Callable, Generator
from contextlib import closing
from typing import Any

from planner.foundation.values.convert import path_text
from planner.foundation.values.json_codec import CodecError
from planner.foundation.values.paths import unknown_paths
from planner.foundation.values.schema import implied_type
from planner.foundation.values.types import BOOL, DYNAMIC, NUMBER
from planner.foundation.values.value import Null, Value
from planner.world.provider.interface import (
    ActionPlan,
    AttributeDiagnostic,
    Finding,
    FoundObject,
    ListRequest,
    ResourceSchema,
)
from planner.world.provider.plugin.answers import diagnostics, failure
from planner.world.provider.plugin.base import PluginBase
from planner.world.provider.plugin.process import PluginError

_MAX_REMARKS = 1000  # maximum number of problems that a search may report without a result


class ListCalls(PluginBase):
    """Calls about searches and generated configuration."""

    def validate_list(
        self, type: str, config: Value, includes_objects: Value, limit: Value
    ) -> list[AttributeDiagnostic]:
        """Problems of a search configuration, which may have unknown values."""
        try:
            answer = self._call(
                "ValidateListResourceConfig",
                "ListConfig",
                True,
                type_name=type,
                config=self._dynamic(config, implied_type(self._block("list", type))),
                include_resource_object=self._dynamic(includes_objects, BOOL),
                limit=self._dynamic(limit, NUMBER),
            )
        except (PluginError, CodecError) as problem:
            return [self._plugin_problem(problem)]
        return diagnostics(answer.diagnostics)

    def list_objects(self, request: ListRequest) -> Generator[Finding, None, None]:
        """The results of a search as they arrive. The generator ends after an error, and at the limit, because some
        providers return more results than requested."""
        results = remarks = 0
        try:
            schema = self._resource("managed", request.type)
            events = self._stream(
                "ListResource",
                "List",
                type_name=request.type,
                config=self._dynamic(request.config, implied_type(self._block("list", request.type))),
                include_resource_object=request.includes_objects,
                limit=request.limit,
            )
            with closing(events):
                while results < request.limit and (event := next(events, None)) is not None:
                    problems = diagnostics(event.diagnostic)
                    yield from problems
                    if any(p.severity == "error" for p in problems):
                        return
                    if problems and not event.HasField("identity"):
                        remarks += 1
                        if remarks > _MAX_REMARKS:
                            raise PluginError(f"It reported more than {_MAX_REMARKS} problems without a result.")
                        continue
                    results += 1
                    yield from self._result(event, request, schema)
        except (PluginError, CodecError) as problem:
            yield self._plugin_problem(problem)

    def _result(self, event: Any, request: ListRequest, schema: ResourceSchema) -> Generator[Finding, None, None]:
        """Yields the result in an event of the response, after a warning if its values were requested and are missing.
        Raises PluginError and CodecError."""
        identity = self._identity_in(event, "identity", schema)
        if identity is None or all(part.__class__ is Null for part in identity.values()):
            shown = f" ({event.display_name})" if event.display_name else ""
            raise PluginError(f"It returned a {request.type}{shown} without an identity.")
        wanted = implied_type(schema.block)
        value = self._value(event, "resource_object", wanted) if request.includes_objects else Null(wanted)
        if request.includes_objects and value.__class__ is Null:
            detail = f"{self._who} returned {event.display_name} without its values, which were requested."
            yield AttributeDiagnostic("warning", "Incomplete result", detail, None)
        yield FoundObject(identity, event.display_name, value)

    def generate_config(self, type: str, value: Value) -> tuple[Value, list[AttributeDiagnostic]]:
        try:
            wanted = implied_type(self._block("managed", type))
            answer = self._call(
                "GenerateResourceConfig", "Generate", True, type_name=type, state=self._dynamic(value, wanted)
            )
            config = self._value(answer, "config", wanted)
        except (PluginError, CodecError) as problem:
            return Null(DYNAMIC), [self._plugin_problem(problem)]
        problems = diagnostics(answer.diagnostics)
        if config.__class__ is Null and not any(p.severity == "error" for p in problems):
            problems.append(
                failure("Invalid provider response", f"{self._who} generated no configuration for a {type}.")
            )
        return config, problems


class ActionCalls(PluginBase):
    """Calls about actions."""

    def validate_action(self, type: str, config: Value) -> list[AttributeDiagnostic]:
        """Problems of an action's configuration, which may have unknown values."""
        try:
            answer = self._call(
                "ValidateActionConfig", "ActionConfig", True, action_type=type, config=self._action_config(type, config)
            )
        except (PluginError, CodecError) as problem:
            return [self._plugin_problem(problem)]
        return diagnostics(answer.diagnostics)

    def plan_action(self, type: str, config: Value) -> ActionPlan:
        """Plan the invocation of an action, whose configuration may have unknown values."""
        try:
            answer = self._call("PlanAction", "ActionPlan", **self._action_fields(type, config))
        except (PluginError, CodecError) as problem:
            return ActionPlan(diagnostics=(self._plugin_problem(problem),))
        reason, faults = self._deferral_problems(answer, type)
        return ActionPlan(reason, (*diagnostics(answer.diagnostics), *faults))

    def invoke_action(self, type: str, config: Value, progress: Callable[[str], None]) -> list[AttributeDiagnostic]:
        """Invoke an action with a known configuration. Returns its diagnostics after it has ended."""
        for at in unknown_paths(config):
            detail = f"{path_text(at) or 'The configuration'} is not known yet, so the action cannot be invoked."
            return [AttributeDiagnostic("error", "Unknown value in the configuration of an action", detail, at)]
        result: list[AttributeDiagnostic] | None = None
        try:
            with closing(self._stream("InvokeAction", "Invoke", **self._action_fields(type, config))) as events:
                for event in events:
                    if result is not None:
                        return [
                            *result,
                            self._plugin_problem(PluginError(f"It continued after the action {type} was complete.")),
                        ]
                    if event.WhichOneof("selector") == "completed":
                        result = diagnostics(event.completed.diagnostics)
                    else:
                        progress(event.progress.message)
        except (PluginError, CodecError) as problem:
            return [*(result or ()), self._plugin_problem(problem)]
        if result is None:
            return [
                self._plugin_problem(PluginError(f"It ended without reporting that the action {type} is complete."))
            ]
        return result

    def _action_fields(self, type: str, config: Value) -> dict[str, Any]:
        """Fields of a request about an action. Raises PluginError and CodecError."""
        config_field = self._action_config(type, config)
        return {"action_type": type, "config": config_field, "client_capabilities": self._abilities()}

    def _action_config(self, type: str, config: Value) -> Any:
        return self._dynamic(config, implied_type(self._block("action", type)))
