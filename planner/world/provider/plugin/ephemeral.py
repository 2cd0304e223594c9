"""Calls to a plugin about ephemeral resources: opened, renewed while they are used, closed."""

from __future__ import annotations

from typing import Any

from planner.foundation.values.json_codec import CodecError
from planner.foundation.values.schema import implied_type
from planner.foundation.values.types import DYNAMIC
from planner.foundation.values.value import Null, Value
from planner.world.provider.interface import AttributeDiagnostic, OpenedEphemeral
from planner.world.provider.plugin.answers import diagnostics
from planner.world.provider.plugin.base import PluginBase, abilities
from planner.world.provider.plugin.process import PluginError


class EphemeralCalls(PluginBase):
    """The part of a plugin provider that is about ephemeral resources."""

    def open(self, type: str, config: Value) -> OpenedEphemeral:
        """What the resource gives, from its configuration."""
        try:
            wanted = implied_type(self._block("ephemeral", type))
            answer = self._call(
                "OpenEphemeralResource",
                "Open",
                type_name=type,
                config=self._dynamic(config, wanted),
                client_capabilities=abilities(self._started()),
            )
            value = self._value(answer, "result", wanted)
        except (PluginError, CodecError) as problem:
            return OpenedEphemeral(Null(DYNAMIC), diagnostics=(self._failed(problem),))
        return OpenedEphemeral(value, _private(answer), _renew_at(answer), tuple(diagnostics(answer.diagnostics)))

    def renew(self, type: str, private: bytes | None) -> OpenedEphemeral:
        """Keep an open resource usable."""
        try:
            answer = self._call("RenewEphemeralResource", "Renew", type_name=type, **_given(private))
        except PluginError as problem:
            return OpenedEphemeral(None, private, diagnostics=(self._failed(problem),))
        return OpenedEphemeral(None, _private(answer), _renew_at(answer), tuple(diagnostics(answer.diagnostics)))

    def close_ephemeral(self, type: str, private: bytes | None) -> list[AttributeDiagnostic]:
        """The resource is needed no longer."""
        try:
            answer = self._call("CloseEphemeralResource", "Close", type_name=type, **_given(private))
        except PluginError as problem:
            return [self._failed(problem)]
        return diagnostics(answer.diagnostics)


def _given(private: bytes | None) -> dict[str, Any]:
    return {} if private is None else {"private": private}


def _private(answer: Any) -> bytes | None:
    return answer.private if answer.HasField("private") else None


def _renew_at(answer: Any) -> float | None:
    if not answer.HasField("renew_at"):
        return None
    seconds: int = answer.renew_at.seconds
    return seconds + float(answer.renew_at.nanos) / 1e9
