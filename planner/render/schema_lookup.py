"""Schemas and decoded objects for showing plans and states."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

from planner.foundation.values.json_codec import implied_value
from planner.foundation.values.paths import apply_marks
from planner.foundation.values.value import SENSITIVE
from planner.foundation.vocabulary.address import AddressError
from planner.foundation.vocabulary.diagnostic import Failure
from planner.foundation.vocabulary.provider_address import parse_provider_configuration

if TYPE_CHECKING:
    from planner.engine.evaluation.schemas import Schemas
    from planner.foundation.values.value import Value
    from planner.world.provider.interface import ResourceSchema
    from planner.world.state.model import ObjectState, ResourceState


class SchemaLookup:
    """Looks schemas up by what plans and states hold. Where a provider cannot be asked, or has no such type, objects
    are shown by the shape of their values alone."""

    def __init__(self, schemas: Schemas) -> None:
        self._schemas = schemas
        self.resource_schema = cache(self._find)

    def _find(self, provider: str, mode: str, type: str) -> ResourceSchema | None:
        try:
            return self._schemas.resource(parse_provider_configuration(provider).source, mode, type)
        except (AddressError, Failure):
            return None

    def decode(self, resource: ResourceState, obj: ObjectState) -> Value:
        """The attributes of an object as a value, sensitive parts marked. Raises Failure."""
        schema = self.resource_schema(resource.provider, resource.mode, resource.type)
        if schema is None or schema.version != obj.schema_version:
            return _implied(obj)
        from planner.answers.documents.json_state import object_value

        return object_value(obj, schema, resource.address)


def _implied(obj: ObjectState) -> Value:
    marks = [(path, frozenset((SENSITIVE,))) for path in obj.sensitive_paths]
    return apply_marks(implied_value(obj.attributes), marks)
