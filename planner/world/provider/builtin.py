"""The builtin provider `terraform.io/builtin/terraform`: `terraform_data` and `terraform_remote_state`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from planner.foundation.values.json_codec import CodecError, from_json
from planner.foundation.values.schema import BlockSchema, implied_type
from planner.foundation.values.types import DYNAMIC
from planner.foundation.values.value import Null, Value
from planner.world.provider import remote_state, terraform_data
from planner.world.provider.builtin_functions import FUNCTIONS
from planner.world.provider.interface import (
    ApplyAnswer,
    ApplyRequest,
    AttributeDiagnostic,
    ImportedObject,
    MoveAnswer,
    MoveRequest,
    OpenedEphemeral,
    PlanAnswer,
    PlanRequest,
    ProviderSchema,
    ReadAnswer,
)
from planner.world.state.encryption_seal import PLAIN, Seal

SCHEMA = ProviderSchema(
    provider=BlockSchema(),
    resources={terraform_data.NAME: terraform_data.SCHEMA},
    data_sources={remote_state.NAME: remote_state.SCHEMA},
    functions={f.name: f for f in FUNCTIONS},
    functions_are_all=True,
    is_configurable=False,
)


class BuiltinProvider:
    """Answers at once and keeps nothing, so one serves all configurations and threads."""

    is_inline = True

    def __init__(self, seal_of: Callable[[str], Seal] | None = None) -> None:
        """`seal_of`: how the state is kept that the data source with an address reads; in clear where it is not
        given."""
        self._seal_of = seal_of

    def schema(self) -> ProviderSchema:
        return SCHEMA

    def validate_provider(self, config: Value) -> list[AttributeDiagnostic]:
        return []

    def configure(self, config: Value) -> list[AttributeDiagnostic]:
        return []

    def validate_resource(self, mode: str, type: str, config: Value) -> list[AttributeDiagnostic]:
        if mode == "managed" and type == terraform_data.NAME:
            return terraform_data.validate(config)
        if mode == "data" and type == remote_state.NAME:
            return remote_state.validate(config)
        return [_unknown(type)]

    def upgrade(
        self, type: str, version: int, attributes: dict[str, Any], flat: bool = False
    ) -> tuple[Value, list[AttributeDiagnostic]]:
        if type == terraform_data.NAME:
            return terraform_data.upgrade(attributes)
        if type != remote_state.NAME:
            return Null(DYNAMIC), [_unknown(type)]
        wanted = implied_type(remote_state.SCHEMA.block)
        try:
            return from_json(attributes, wanted), []
        except CodecError as e:
            detail = f"The recorded object cannot be read: {e}."
            return Null(wanted), [AttributeDiagnostic("error", "Invalid object in state", detail)]

    def upgrade_identity(
        self, type: str, version: int, identity: dict[str, Any]
    ) -> tuple[Value, list[AttributeDiagnostic]]:
        return Null(DYNAMIC), [_unknown(type)]

    def move(self, request: MoveRequest) -> MoveAnswer:
        if request.target == terraform_data.NAME:
            return terraform_data.move(request)
        return MoveAnswer(Null(DYNAMIC), diagnostics=(_unknown(request.target),))

    def read(
        self, type: str, current: Value, private: str | None, identity: Value = None, meta: Value = None
    ) -> ReadAnswer:
        return ReadAnswer(current, private)

    def plan(self, request: PlanRequest) -> PlanAnswer:
        return terraform_data.plan(request)

    def apply(self, request: ApplyRequest) -> ApplyAnswer:
        return terraform_data.apply(request.planned)

    def import_object(
        self, type: str, id: str, identity: Value = None
    ) -> tuple[list[ImportedObject], list[AttributeDiagnostic]]:
        if type == terraform_data.NAME:
            return terraform_data.import_object(id), []
        return [], [_unknown(type)]

    def read_data(self, type: str, config: Value, meta: Value = None, address: str = "") -> ReadAnswer:
        if type == remote_state.NAME:
            return remote_state.read(config, PLAIN if self._seal_of is None else self._seal_of(address))
        return ReadAnswer(Null(DYNAMIC), diagnostics=(_unknown(type),))

    def open(self, type: str, config: Value) -> OpenedEphemeral:
        return OpenedEphemeral(Null(DYNAMIC), diagnostics=(_unknown(type),))

    def renew(self, type: str, private: bytes | None) -> OpenedEphemeral:
        return OpenedEphemeral(Null(DYNAMIC), diagnostics=(_unknown(type),))

    def close_ephemeral(self, type: str, private: bytes | None) -> list[AttributeDiagnostic]:
        return [_unknown(type)]

    def function(self, name: str) -> Any:
        return SCHEMA.functions.get(name)

    def stop(self) -> None:
        """Nothing to stop: every call ends at once."""

    def close(self) -> None:
        """Nothing to close."""


def _unknown(type: str) -> AttributeDiagnostic:
    return AttributeDiagnostic("error", "Unknown type", f'The builtin provider has nothing named "{type}".')
