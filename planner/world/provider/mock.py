"""A provider that makes objects up: for tests, of one that is mocked or of single resources that are overridden."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from planner.foundation.values.json_codec import CodecError, from_json
from planner.foundation.values.schema import implied_type
from planner.foundation.values.types import DYNAMIC
from planner.foundation.values.value import Null, Value
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
    Provider,
    ProviderSchema,
    ReadAnswer,
)
from planner.world.provider.mock_values import compose
from planner.world.provider.recorded import without_removed


class MockedProvider:
    """Stands for another provider, of which only the schema and the checks of configurations are used. `values` are
    those attributes of its objects that a test gives. `known_late`: what is made up of a new object is known when it is
    applied."""

    is_inline = True

    def __init__(self, of: Provider, values: Mapping[str, Value] = {}, known_late: bool = False) -> None:
        self.of, self.values, self.known_late = of, values, known_late

    def schema(self) -> ProviderSchema:
        return self.of.schema()

    def validate_provider(self, config: Value) -> list[AttributeDiagnostic]:
        return []

    def configure(self, config: Value) -> list[AttributeDiagnostic]:
        return []

    def validate_resource(self, mode: str, type: str, config: Value) -> list[AttributeDiagnostic]:
        return self.of.validate_resource(mode, type, config)

    def upgrade(
        self, type: str, version: int, attributes: dict[str, Any], flat: bool = False
    ) -> tuple[Value, list[AttributeDiagnostic]]:
        schema = self.schema().resources[type]
        if flat or version != schema.version:
            return self.of.upgrade(type, version, attributes, flat)
        wanted = implied_type(schema.block)
        try:
            return from_json(without_removed(attributes, wanted), wanted), []
        except CodecError:
            return self.of.upgrade(type, version, attributes, flat)

    def upgrade_identity(
        self, type: str, version: int, identity: dict[str, Any]
    ) -> tuple[Value, list[AttributeDiagnostic]]:
        return self.of.upgrade_identity(type, version, identity)

    def move(self, request: MoveRequest) -> MoveAnswer:
        detail = f"A mocked provider cannot make a {request.target} of a {request.source_type}."
        return MoveAnswer(Null(DYNAMIC), diagnostics=(_refused(detail),))

    def read(
        self, type: str, current: Value, private: str | None, identity: Value = None, meta: Value = None
    ) -> ReadAnswer:
        return ReadAnswer(current, private, identity=identity)

    def plan(self, request: PlanRequest) -> PlanAnswer:
        """Objects are known when they are planned, if not told otherwise; nothing is ever replaced."""
        if request.proposed.__class__ is Null:
            return PlanAnswer(request.proposed)
        schema = self.schema().resources[request.type].block
        is_unknown = self.known_late and request.prior.__class__ is Null
        planned, problems = compose(request.type, schema, request.config, self.values, is_unknown)
        return PlanAnswer(planned, private=request.prior_private, diagnostics=tuple(problems))

    def apply(self, request: ApplyRequest) -> ApplyAnswer:
        if not self.known_late or request.planned.__class__ is Null or request.prior.__class__ is not Null:
            return ApplyAnswer(request.planned, request.private)
        schema = self.schema().resources[request.type].block
        made, problems = compose(request.type, schema, request.config, self.values)
        return ApplyAnswer(made, request.private, diagnostics=tuple(problems))

    def import_object(
        self, type: str, id: str, identity: Value = None
    ) -> tuple[list[ImportedObject], list[AttributeDiagnostic]]:
        return [], [
            _refused(f"There is no {type} with the id {id}: its provider is mocked, so nothing can be imported.")
        ]

    def read_data(self, type: str, config: Value, meta: Value = None, address: str = "") -> ReadAnswer:
        value, problems = compose(type, self.schema().data_sources[type].block, config, self.values)
        return ReadAnswer(value, diagnostics=tuple(problems))

    def open(self, type: str, config: Value) -> OpenedEphemeral:
        value, problems = compose(type, self.schema().ephemeral[type].block, config, self.values)
        return OpenedEphemeral(value, diagnostics=tuple(problems))

    def renew(self, type: str, private: bytes | None) -> OpenedEphemeral:
        return OpenedEphemeral(None, private)

    def close_ephemeral(self, type: str, private: bytes | None) -> list[AttributeDiagnostic]:
        return []

    def function(self, name: str) -> Any:
        return self.of.function(name)

    def stop(self) -> None:
        """Nothing runs."""

    def close(self) -> None:
        """Whoever started the provider that this stands for ends it."""


def _refused(detail: str) -> AttributeDiagnostic:
    return AttributeDiagnostic("error", "Not possible with a mocked provider", detail, None)
