"""Calls to a plugin about actions: validation, planning, and invocation, whose response is a stream of events."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import closing
from typing import Any

from planner.foundation.values.convert import path_text
from planner.foundation.values.json_codec import CodecError
from planner.foundation.values.paths import unknown_paths
from planner.foundation.values.schema import implied_type
from planner.foundation.values.value import Value
from planner.world.provider.interface import ActionPlan, AttributeDiagnostic
from planner.world.provider.plugin.answers import diagnostics
from planner.world.provider.plugin.base import PluginBase
from planner.world.provider.plugin.process import PluginError


class ActionCalls(PluginBase):
    """The calls of a plugin provider about actions."""

    def validate_action(self, type: str, config: Value) -> list[AttributeDiagnostic]:
        """The problems of an action's configuration, which may have unknown values."""
        try:
            answer = self._call(
                "ValidateActionConfig", "ActionConfig", True, action_type=type, config=self._action_config(type, config)
            )
        except (PluginError, CodecError) as problem:
            return [self._failed(problem)]
        return diagnostics(answer.diagnostics)

    def plan_action(self, type: str, config: Value) -> ActionPlan:
        """The provider's plan for an invocation with this configuration, which may have unknown values."""
        try:
            answer = self._call("PlanAction", "ActionPlan", **self._action_fields(type, config))
        except (PluginError, CodecError) as problem:
            return ActionPlan(diagnostics=(self._failed(problem),))
        reason, faults = self._deferred(answer, type)
        return ActionPlan(reason, (*diagnostics(answer.diagnostics), *faults))

    def invoke_action(self, type: str, config: Value, progress: Callable[[str], None]) -> list[AttributeDiagnostic]:
        """Invoke an action with a known configuration, and return its diagnostics when it is complete."""
        for at in unknown_paths(config):
            detail = f"{path_text(at) or 'The configuration'} is not known yet, so the action cannot be invoked."
            return [AttributeDiagnostic("error", "Unknown value in the configuration of an action", detail, at)]
        result: list[AttributeDiagnostic] | None = None
        try:
            with closing(self._stream("InvokeAction", "Invoke", **self._action_fields(type, config))) as events:
                for event in events:
                    if result is not None:
                        return [*result, self._failed(PluginError(f"It went on after the action {type} was complete."))]
                    if event.WhichOneof("selector") == "completed":
                        result = diagnostics(event.completed.diagnostics)
                    else:
                        progress(event.progress.message)
        except (PluginError, CodecError) as problem:
            return [*(result or ()), self._failed(problem)]
        if result is None:
            return [self._failed(PluginError(f"It ended without reporting that the action {type} is complete."))]
        return result

    def _action_fields(self, type: str, config: Value) -> dict[str, Any]:
        """The fields of a request about an action. Raises PluginError and CodecError."""
        config_field = self._action_config(type, config)
        return {"action_type": type, "config": config_field, "client_capabilities": self._abilities()}

    def _action_config(self, type: str, config: Value) -> Any:
        return self._dynamic(config, implied_type(self._block("action", type)))
