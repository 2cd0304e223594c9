"""Compares policies with provider schemas, and reports conditions on attributes that no object has."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from planner.answers.policy.library import own_files
from planner.answers.policy.program import Policies
from planner.foundation.values.schema import implied_type
from planner.foundation.values.types import Type
from planner.foundation.vocabulary.diagnostic import Diagnostic, Failure
from planner.language.config.model import Config
from planner.operations.load import Loaded

if TYPE_CHECKING:
    from planner.answers.policy.shapes import Shapes
    from planner.engine.evaluation.schemas import Schemas
    from planner.world.provider.interface import ProviderSchema


MISFITS = (
    "policy.no_path",
    "policy.no_type",
    "policy.no_value",
    "policy.no_rows",
    "policy.misfit",
    "rules.unknown_word",
    "policy.no_vertices",
    "policy.unknown_override",
)
"""the codes of diagnostics about mistakes because of which a policy, or an override of a policy, never has an effect"""


def misfits_of(policies: Policies, loaded: Loaded[Any]) -> list[Diagnostic]:
    """Errors for conditions in policies on attributes that no object has. The policies of the library are not checked,
    because they support several versions of a provider."""
    from planner.answers.policy.shapes import misfits

    own = frozenset(own_files(policies.files))
    if not own:
        return []
    result = misfits(policies.program, shapes_of(loaded.schemas, loaded.config))
    return [problem for problem in result if problem.subject is not None and problem.subject.filename in own]


def shapes_of(schemas: Schemas, config: Config) -> Shapes:
    """The types of objects of each resource type, according to the schemas of the providers in the configuration."""
    sources: set[str] = set()
    waiting = [config.root]
    while waiting:
        module = waiting.pop()
        sources |= {module.provider_source(decl.provider_name) for decl in module.resources.values()}
        waiting += module.children.values()
    return _Shapes(schemas, sorted(sources))


class _Shapes:
    def __init__(self, schemas: Schemas, sources: list[str]) -> None:
        self._schemas, self._sources = schemas, sources
        self._known: dict[tuple[str, str], Type | None] = {}

    def __call__(self, mode: str, type: str) -> Type | None:
        if (mode, type) not in self._known:
            items = (self._of(source, mode, type) for source in self._sources)
            self._known[mode, type] = next((one for one in items if one is not None), None)
        return self._known[mode, type]

    def _of(self, source: str, mode: str, type: str) -> Type | None:
        schema = self._schema(source)
        result = schema.resource(mode, type) if schema is not None and mode in _MODES else None
        return implied_type(result.block) if result is not None else None

    def types(self, mode: str) -> list[str]:
        items: set[str] = set()
        for source in self._sources:
            schema = self._schema(source)
            if schema is not None:
                items.update(schema.data_sources if mode == "data" else schema.resources)
        return sorted(items)

    def lacks(self, mode: str, type: str) -> str:
        first = type.partition("_")[0]
        named = [source for source in self._sources if source.rpartition("/")[2] == first]
        known = [source for source in named if self._schema(source) is not None]
        return known[0] if known and mode in ("managed", "data") and self(mode, type) is None else ""

    def _schema(self, source: str) -> ProviderSchema | None:
        try:
            return self._schemas.schema(source)
        except Failure:
            return None


_MODES = ("managed", "data", "ephemeral")
