"""A provider that is never asked: only its schema is known, and nothing reaches the world.

What its answers would be is guessed as little as possible: objects are as they were recorded, what the provider decides
is unknown, and whatever would need it is left to the rules to name (rules/plan/undecided.dl).
"""

from __future__ import annotations

from typing import Any

from planner.foundation.values.json_codec import CodecError, from_json
from planner.foundation.values.operations import same_value
from planner.foundation.values.schema import implied_type
from planner.foundation.values.types import DYNAMIC
from planner.foundation.values.value import Null, Value
from planner.language.functions.protocol import unknown_function
from planner.world.provider.conformity import without_removed
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
from planner.world.provider.propose import planned_unknown_object


class OfflineProvider:
    """Stands for another provider, of which it only uses the schema. Nothing can be applied with it."""

    is_inline = True

    def __init__(self, of: Provider) -> None:
        self.of = of

    def schema(self) -> ProviderSchema:
        return self.of.schema()

    def validate_provider(self, config: Value) -> list[AttributeDiagnostic]:
        return []

    def configure(self, config: Value) -> list[AttributeDiagnostic]:
        return []

    def validate_resource(self, mode: str, type: str, config: Value) -> list[AttributeDiagnostic]:
        return []

    def upgrade(
        self, type: str, version: int, attributes: dict[str, Any], flat: bool = False
    ) -> tuple[Value, list[AttributeDiagnostic]]:
        wanted = implied_type(self.schema().resources[type].block)
        try:
            if flat:
                raise CodecError("it is in the form of very old states")
            return from_json(without_removed(attributes, wanted), wanted), []
        except CodecError as problem:
            detail = f"Only the provider can bring the recorded object up to date: {problem}. Plan without -offline."
            return Null(wanted), [_refused(detail)]

    def upgrade_identity(
        self, type: str, version: int, identity: dict[str, Any]
    ) -> tuple[Value, list[AttributeDiagnostic]]:
        return None, []

    def move(self, request: MoveRequest) -> MoveAnswer:
        detail = f"Only the provider can make a {request.target} of a {request.source_type}. Plan without -offline."
        return MoveAnswer(Null(DYNAMIC), diagnostics=(_refused(detail),))

    def read(
        self, type: str, current: Value, private: str | None, identity: Value = None, meta: Value = None
    ) -> ReadAnswer:
        return ReadAnswer(current, private, identity=identity)

    def plan(self, request: PlanRequest) -> PlanAnswer:
        """A new object as its configuration says; one that changes keeps nothing that the provider decides."""
        prior, proposed = request.prior, request.proposed
        unchanged = prior.__class__ is not Null and same_value(prior, proposed)
        if proposed.__class__ is Null or unchanged:
            return PlanAnswer(proposed, private=request.prior_private, identity=request.prior_identity)
        planned = planned_unknown_object(self.schema().resources[request.type].block, request.config)
        return PlanAnswer(planned, private=request.prior_private)

    def apply(self, request: ApplyRequest) -> ApplyAnswer:
        return ApplyAnswer(request.prior, diagnostics=(_refused("Nothing can be applied without its provider."),))

    def import_object(
        self, type: str, id: str, identity: Value = None
    ) -> tuple[list[ImportedObject], list[AttributeDiagnostic]]:
        return [], [_refused("Nothing can be imported without its provider.")]

    def read_data(self, type: str, config: Value, meta: Value = None, address: str = "") -> ReadAnswer:
        return ReadAnswer(Null(DYNAMIC), diagnostics=(_refused("Nothing can be read without its provider."),))

    def open(self, type: str, config: Value) -> OpenedEphemeral:
        return OpenedEphemeral(Null(DYNAMIC), diagnostics=(_refused("Nothing can be opened without its provider."),))

    def renew(self, type: str, private: bytes | None) -> OpenedEphemeral:
        return OpenedEphemeral(None, private)

    def close_ephemeral(self, type: str, private: bytes | None) -> list[AttributeDiagnostic]:
        return []

    def function(self, name: str) -> Any:
        """Of those that only a configured provider has, nothing is known."""
        return self.schema().functions.get(name) or unknown_function(name)

    def stop(self) -> None:
        """Nothing runs."""

    def close(self) -> None:
        """Its schema may have started it."""
        self.of.close()


def _refused(detail: str) -> AttributeDiagnostic:
    return AttributeDiagnostic("error", "Provider needed", detail, None)
