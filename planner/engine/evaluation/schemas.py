"""The providers of one walk and their schemas: started when something first asks, each once."""

from __future__ import annotations

from collections.abc import Callable
from threading import RLock
from typing import TYPE_CHECKING, Any

from planner.engine.evaluation.schema_marks import marked_by_schema
from planner.foundation.values.schema import contains_sensitive, implied_type
from planner.foundation.values.types import ObjectType
from planner.foundation.values.value import Unknown, Value
from planner.foundation.vocabulary.diagnostic import Failure, error
from planner.language.config.model import ModuleConfig, ResourceDecl
from planner.world.provider.interface import Provider, ProviderSchema, ResourceSchema

if TYPE_CHECKING:
    from planner.language.functions import Function


class Schemas:
    """Schemas by provider source address (`terraform.io/builtin/terraform`). `start` makes a provider and raises
    Failure when it cannot."""

    def __init__(self, start: Callable[[str], Provider]) -> None:
        self._start = start
        self._lock = RLock()
        self._providers: dict[str, Provider] = {}
        self._schemas: dict[str, ProviderSchema] = {}
        self._failures: dict[str, Failure] = {}
        self.resolvers: dict[ModuleConfig, dict[Any, Callable[[Any], tuple[Value, int]]]] = {}
        """what references stand for (planner.engine.evaluation.scope), which is the same in all walks of a
        configuration"""
        self.named: dict[Any, tuple[str, str, object, Callable[[Any], tuple[Value, int]]]] = {}
        """of those to variables and local values, for all calls of a module: the kind, the name, what declares it, and
        what it stands for"""

    def lent(self) -> Schemas:
        """The same schemas for work that goes on beside other work: its providers are its own, and so is their end."""
        lent = Schemas(self._start)
        lent._lock, lent._schemas, lent._failures = self._lock, self._schemas, self._failures
        lent.resolvers, lent.named = self.resolvers, self.named
        return lent

    def provider(self, source: str) -> Provider:
        """The unconfigured provider that answers questions about schemas. Raises Failure, each time anew."""
        with self._lock:
            if source in self._failures:
                raise self._failures[source]
            found = self._providers.get(source)
            if found is None:
                try:
                    found = self._providers[source] = self._start(source)
                except Failure as failure:
                    self._failures[source] = failure
                    raise
            return found

    def new_provider(self, source: str) -> Provider:
        """A provider of its own, to be configured. The first one asked for is the one that gave the schema."""
        with self._lock:
            return self._providers.pop(source, None) or self._start(source)

    def close(self) -> None:
        """End the providers that were started for questions about schemas; one that is asked again starts again."""
        with self._lock:
            providers = list(self._providers.values())
        for provider in providers:
            provider.close()

    def schema(self, source: str) -> ProviderSchema:
        """All that the provider offers. Raises Failure."""
        found = self._schemas.get(source)
        if found is not None:
            return found
        with self._lock:
            found = self._schemas.get(source)
            if found is None:
                found = self._schemas[source] = self.provider(source).schema()
            return found

    def resource(self, source: str, mode: str, type: str) -> ResourceSchema | None:
        """The schema of a resource type, None when the provider has none of that name. Raises Failure."""
        return self.schema(source).resource(mode, type)

    # ---------------------------------------------------------------- of declarations

    def of(self, module: ModuleConfig, decl: ResourceDecl) -> ResourceSchema:
        """The schema of a declared resource. Raises Failure when there is none."""
        source = module.provider_source(decl.provider_name)
        found = self.resource(source, decl.mode, decl.type)
        if found is None:
            kind = {"managed": "resource", "data": "data source", "ephemeral": "ephemeral resource"}[decl.mode]
            detail = f"The provider {source} has no {kind} of the type {decl.type}."
            raise Failure(error("plan.invalid_resource_type", "Invalid resource type", detail, decl.span))
        return found

    def find_object_type(self, module: ModuleConfig, decl: ResourceDecl) -> ObjectType | None:
        """The type of the resource's objects, None when the provider does not know it. Raises Failure."""
        found = self.resource(module.provider_source(decl.provider_name), decl.mode, decl.type)
        return implied_type(found.block) if found is not None else None

    def object_type(self, module: ModuleConfig, decl: ResourceDecl) -> ObjectType:
        """The type of the resource's objects. Raises Failure."""
        return implied_type(self.of(module, decl).block)

    def unknown_object(self, module: ModuleConfig, decl: ResourceDecl) -> Value:
        """An object of which only the type and what is sensitive are known. Raises Failure."""
        block = self.of(module, decl).block
        t = implied_type(block)
        if not contains_sensitive(block):
            return Unknown(t)
        return marked_by_schema({name: Unknown(of) for name, of in t.attributes.items()}, block)

    def function(self, module: ModuleConfig, name: str, is_late: bool = False) -> Function | None:
        """A function `provider::local_name::function` (with `::alias` before the function) of a provider that is not
        configured. `is_late`: what the schema does not have may be registered later; nothing is known of it."""
        parts = name.split("::")
        if len(parts) not in (3, 4):
            return None
        source = module.provider_source(parts[1])
        schema = self.schema(source)
        found: Function | None = schema.functions.get(parts[-1])
        if found is not None or schema.functions_are_all:
            return found
        if is_late:
            from planner.language.functions.protocol import unknown_function

            return unknown_function(name)
        late: Function | None = self.provider(source).function(parts[-1])
        return late
