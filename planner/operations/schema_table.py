"""Schemas in the form in which facts and validation ask for them."""

from __future__ import annotations

from collections.abc import Collection
from typing import TYPE_CHECKING

from planner.foundation.vocabulary.diagnostic import Failure

if TYPE_CHECKING:
    from planner.engine.evaluation.schemas import Schemas
    from planner.foundation.values.schema import BlockSchema
    from planner.foundation.values.value import Value
    from planner.world.provider.interface import AttributeDiagnostic


class SchemaTable:
    """The schemas of providers and provisioners. An unknown provider or type has none: validation is what reports
    it."""

    def __init__(self, schemas: Schemas) -> None:
        self.schemas = schemas

    def resource_schema(self, provider: str, mode: str, type: str) -> BlockSchema | None:
        try:
            schema = self.schemas.resource(provider, mode, type)
        except Failure:
            return None
        return schema.block if schema else None

    def provider_schema(self, provider: str) -> BlockSchema | None:
        try:
            return self.schemas.schema(provider).provider
        except Failure:
            return None

    def provider_functions(self, provider: str) -> tuple[Collection[str], bool] | None:
        try:
            schema = self.schemas.schema(provider)
        except Failure:
            return None
        return schema.functions, schema.functions_are_all

    def provisioner_schema(self, type: str) -> BlockSchema | None:
        from planner.engine.apply.provisioners import provisioner_schema

        return provisioner_schema(type)

    def provisioner_problems(self, type: str, config: Value | None) -> list[AttributeDiagnostic]:
        from planner.engine.apply.provisioners import validate_provisioner

        return validate_provisioner(type, config)
