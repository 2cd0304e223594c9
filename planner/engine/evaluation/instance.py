"""A resource instance in a walk: its address, declaration, provider and schema."""

from __future__ import annotations

from planner.engine.evaluation.context import ModuleInstance, ResourceObjects
from planner.engine.evaluation.repetition import NO_REPETITION, Repetition, unknown_repetition
from planner.engine.evaluation.scope import ModuleScope
from planner.foundation.values.schema import implied_type
from planner.foundation.values.types import ObjectType
from planner.foundation.vocabulary.address import InstanceKey, format_key, format_resource
from planner.language.config.model import ResourceDecl
from planner.language.syntax.body import Body
from planner.world.provider.interface import Provider, ResourceSchema
from planner.world.provider.registry import OfflineProvider
from planner.world.state.build import StateBuilder
from planner.world.state.model import ObjectState


class Instance:
    """A resource instance during a walk. `node`: the vertex of the graph. `module`: the module instance (None if it is
    no longer declared). `decl`: the resource block (None if there is no such block). `configuration`: the address of
    the provider configuration. `is_orphan`: whether the walk treats the instance as not declared, even if its resource
    block exists."""

    __slots__ = (
        "_scope",
        "address",
        "config_address",
        "configuration",
        "created_first",
        "decl",
        "deposed",
        "is_orphan",
        "key",
        "mode",
        "module",
        "module_text",
        "name",
        "node",
        "object_type",
        "objects",
        "provider",
        "provider_key",
        "repetition",
        "resource_address",
        "schema",
        "type",
    )

    def __init__(
        self,
        node: str,
        module_text: str,
        mode: str,
        type: str,
        name: str,
        key: InstanceKey,
        configuration: str,
        provider_key: InstanceKey,
        provider: Provider,
        schema: ResourceSchema,
        config_address: str,
        module: ModuleInstance | None = None,
        decl: ResourceDecl | None = None,
        deposed: str = "",
        repetition: Repetition = NO_REPETITION,
        created_first: bool = False,
        is_orphan: bool = False,
    ) -> None:
        self.node = node
        self.module_text = module_text
        self.mode, self.type, self.name, self.key = mode, type, name, key
        self.resource_address = format_resource(module_text, mode, type, name)
        self.address = self.resource_address + format_key(key)
        self.config_address = config_address
        self.configuration, self.provider_key = configuration, provider_key
        self.provider, self.schema = provider, schema
        self.object_type: ObjectType = implied_type(schema.block)
        self.module, self.decl, self.deposed = module, decl, deposed
        self.repetition = repetition
        self.created_first = created_first
        self.is_orphan = is_orphan
        self.objects: ResourceObjects | None = module.resource(decl.key) if module is not None and decl else None
        self._scope: ModuleScope | None = None

    @property
    def is_offline(self) -> bool:
        """Whether the provider is not called, so that only its schema is available."""
        return isinstance(self.provider, OfflineProvider)

    @property
    def body(self) -> Body | None:
        """The body of the resource block, in which problems that the provider reports are located; None if there is no
        block."""
        return self.decl.body if self.decl is not None else None

    @property
    def scope(self) -> ModuleScope:
        if self._scope is None:
            assert self.module is not None
            self._scope = self.module.with_repetition(self.repetition)
        return self._scope

    def store(self, state: StateBuilder, record: ObjectState, deposed: str) -> None:
        """Write the record of an object of this instance to a state. `deposed`: the key of the deposed object; "" for
        the current object."""
        state.set_object(
            self.module_text,
            self.mode,
            self.type,
            self.name,
            self.key,
            record,
            self.configuration,
            self.provider_key,
            deposed,
        )

    @property
    def unknown_scope(self) -> ModuleScope:
        assert self.module is not None
        assert self.decl is not None
        return self.module.with_repetition(unknown_repetition(self.decl))
