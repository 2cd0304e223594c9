"""The interface of providers: the built-in one and plugins. Values are language values of the resource's implied type.
Every call returns diagnostics with its result (see AttributeDiagnostic)."""

from __future__ import annotations

from collections.abc import Callable, Generator, Mapping
from typing import Any, Protocol, TypeAlias

from planner.foundation.values.schema import BlockSchema
from planner.foundation.values.value import Value
from planner.foundation.vocabulary.records import evolve, field, frozen


@frozen
class AttributeDiagnostic:
    """A problem that a provider reports. `severity` is "error" or "warning". `path` has steps ("attr", name) and
    ("index", key) into the configuration body: () for the whole body, None for a problem without a place in the
    configuration."""

    severity: str
    summary: str
    detail: str = ""
    path: tuple[Any, ...] | None = ()
    ending: str = ""  # the exit status of a failed command, as a description without the command's output
    deferred: str = ""  # why the provider defers the object, such as "provider_config_unknown"; "" if it does not


@frozen(eq=False)
class ResourceSchema:
    block: BlockSchema
    version: int = 0
    identity: BlockSchema | None = None  # the schema of identities; None if objects have only an id
    identity_version: int = 0


@frozen(eq=False)
class ProviderSchema:
    provider: BlockSchema
    resources: Mapping[str, ResourceSchema]
    data_sources: Mapping[str, ResourceSchema]
    ephemeral: Mapping[str, ResourceSchema] = field(factory=dict)
    functions: Mapping[str, Any] = field(factory=dict)
    meta: BlockSchema | None = None  # schema of provider_meta blocks in modules
    version: int = 0
    is_configurable: bool = True  # whether there is a schema for provider blocks
    functions_are_all: bool = False  # whether `functions` is complete; a configured plugin may have more
    actions: Mapping[str, ResourceSchema] = field(factory=dict)  # schemas of action configurations by type
    list_resources: Mapping[str, ResourceSchema] = field(factory=dict)
    """schemas of search configurations by managed type"""
    generates_config: bool = False  # whether it can generate configuration for existing objects

    def resource(self, mode: str, type: str) -> ResourceSchema | None:
        """The schema of a type; None if there is no such type. Its version is 0 unless `mode` is managed."""
        if mode == "managed":
            return self.resources.get(type)
        table = {
            "data": self.data_sources,
            "ephemeral": self.ephemeral,
            "action": self.actions,
            "list": self.list_resources,
        }[mode]
        schema = table.get(type)
        return evolve(schema, version=0) if schema is not None and schema.version else schema


@frozen(eq=False)
class PlanRequest:
    """A request to plan the change of an object. `prior` is Null for a create. `proposed`: the configuration, completed
    with computed values of `prior`. `meta`: the module's provider_meta value, or None. `prior_identity`: None if the
    object has no identity."""

    type: str
    prior: Value
    proposed: Value
    config: Value
    prior_private: str | None = None
    prior_identity: Value = None
    meta: Value = None


@frozen(eq=False)
class PlanAnswer:
    planned: Value
    requires_replace: tuple[Any, ...] = ()
    private: str | None = None
    legacy_type_system: bool = False
    diagnostics: tuple[AttributeDiagnostic, ...] = ()
    identity: Value = None
    renews: tuple[str, ...] = ()  # attributes that are unknown only because of a replacement; plugins never set it


@frozen(eq=False)
class ApplyRequest:
    """A request to apply the change of an object. `prior` is Null for a create; `planned` and `config` are Null for a
    delete."""

    type: str
    prior: Value
    planned: Value
    config: Value
    private: str | None = None
    identity: Value = None
    meta: Value = None


@frozen(eq=False)
class ApplyAnswer:
    """The result of applying a change. `value` is Null after a delete. After a failure, it is everything that is known
    about the object."""

    value: Value
    private: str | None = None
    legacy_type_system: bool = False
    diagnostics: tuple[AttributeDiagnostic, ...] = ()
    identity: Value = None


@frozen(eq=False)
class ReadAnswer:
    """The result of reading an object. `value` is Null if the object no longer exists."""

    value: Value
    private: str | None = None
    diagnostics: tuple[AttributeDiagnostic, ...] = ()
    identity: Value = None


@frozen(eq=False)
class ImportedObject:
    type: str
    value: Value
    private: str | None = None
    identity: Value = None


@frozen(eq=False)
class MoveRequest:
    """An object of another type, possibly of another provider, to be converted to the type `target`. `identity`: the
    recorded identity, or None."""

    source_provider: str
    source_type: str
    source_version: int
    attributes: dict[str, Any]
    flat: bool
    private: str | None
    target: str
    identity: dict[str, Any] | None = None
    identity_version: int = 0


@frozen(eq=False)
class MoveAnswer:
    value: Value
    private: str | None = None
    diagnostics: tuple[AttributeDiagnostic, ...] = ()
    identity: Value = None


@frozen(eq=False)
class OpenedEphemeral:
    """An ephemeral resource that was opened or renewed. `value`: its values (only when opened). `private`: data to
    return to the provider. `renew_at`: when to renew it next, in seconds since 1970 (None: never)."""

    value: Value
    private: bytes | None = None
    renew_at: float | None = None
    diagnostics: tuple[AttributeDiagnostic, ...] = ()


@frozen
class ActionPlan:
    """The result of planning the invocation of an action. `deferred`: why the provider cannot plan it yet, such as
    "provider_config_unknown"; "" if it can."""

    deferred: str = ""
    diagnostics: tuple[AttributeDiagnostic, ...] = ()


@frozen(eq=False)
class ListRequest:
    """A search for objects of a managed type. `includes_objects`: whether to return values in addition to identities.
    `limit`: the maximum number of objects."""

    type: str
    config: Value
    includes_objects: bool = False
    limit: int = 100


@frozen(eq=False)
class FoundObject:
    """A result of a search. `value` is Null if it was not requested or not returned."""

    identity: Value
    display_name: str
    value: Value


Finding: TypeAlias = "FoundObject | AttributeDiagnostic"  # a result or a problem of a search


class Provider(Protocol):
    """The interface of providers. Several threads may call it at once."""

    is_inline: bool  # whether calls only compute, so that the walk needs no thread for them

    def schema(self) -> ProviderSchema: ...
    def validate_provider(self, config: Value) -> list[AttributeDiagnostic]: ...
    def configure(self, config: Value) -> list[AttributeDiagnostic]: ...
    def validate_resource(self, mode: str, type: str, config: Value) -> list[AttributeDiagnostic]: ...
    def upgrade(
        self, type: str, version: int, attributes: dict[str, Any], flat: bool = False
    ) -> tuple[Value, list[AttributeDiagnostic]]: ...
    def upgrade_identity(
        self, type: str, version: int, identity: dict[str, Any]
    ) -> tuple[Value, list[AttributeDiagnostic]]: ...
    def move(self, request: MoveRequest) -> MoveAnswer: ...
    def read(
        self, type: str, current: Value, private: str | None, identity: Value = None, meta: Value = None
    ) -> ReadAnswer: ...
    def plan(self, request: PlanRequest) -> PlanAnswer: ...
    def apply(self, request: ApplyRequest) -> ApplyAnswer: ...
    def import_object(
        self, type: str, id: str, identity: Value = None
    ) -> tuple[list[ImportedObject], list[AttributeDiagnostic]]: ...
    def read_data(self, type: str, config: Value, meta: Value = None, address: str = "") -> ReadAnswer: ...
    def open(self, type: str, config: Value) -> OpenedEphemeral: ...
    def renew(self, type: str, private: bytes | None) -> OpenedEphemeral: ...
    def close_ephemeral(self, type: str, private: bytes | None) -> list[AttributeDiagnostic]: ...
    def validate_action(self, type: str, config: Value) -> list[AttributeDiagnostic]: ...
    def plan_action(self, type: str, config: Value) -> ActionPlan: ...
    def invoke_action(self, type: str, config: Value, progress: Callable[[str], None]) -> list[AttributeDiagnostic]:
        """Run an action and wait for its end; returns its diagnostics. `progress` is called with its messages. The
        configuration must be known."""

    def validate_list(
        self, type: str, config: Value, includes_objects: Value, limit: Value
    ) -> list[AttributeDiagnostic]: ...
    def list_objects(self, request: ListRequest) -> Generator[Finding, None, None]:
        """The results of a search as they arrive, up to the limit or an error. Closing the iterator ends the search."""

    def generate_config(self, type: str, value: Value) -> tuple[Value, list[AttributeDiagnostic]]:
        """The configuration of an existing object. Only providers whose schema has `generates_config` support this."""

    def function(self, name: str) -> Any:
        """A function (planner.language.functions) in the schema, or registered when the provider was configured; None
        if it does not exist. Raises Failure."""

    def stop(self) -> None: ...
    def close(self) -> None: ...


class InlineProvider:
    """A provider that computes results in this process and has no configuration."""

    is_inline = True

    def validate_provider(self, config: Value) -> list[AttributeDiagnostic]:
        return []

    def configure(self, config: Value) -> list[AttributeDiagnostic]:
        return []

    def read(
        self, type: str, current: Value, private: str | None, identity: Value = None, meta: Value = None
    ) -> ReadAnswer:
        return ReadAnswer(current, private, identity=identity)

    def validate_action(self, type: str, config: Value) -> list[AttributeDiagnostic]:
        return []

    def plan_action(self, type: str, config: Value) -> ActionPlan:
        return ActionPlan()

    def invoke_action(self, type: str, config: Value, progress: Callable[[str], None]) -> list[AttributeDiagnostic]:
        return []

    def validate_list(
        self, type: str, config: Value, includes_objects: Value, limit: Value
    ) -> list[AttributeDiagnostic]:
        return []

    def list_objects(self, request: ListRequest) -> Generator[Finding, None, None]:
        yield from ()

    def generate_config(self, type: str, value: Value) -> tuple[Value, list[AttributeDiagnostic]]:
        return value, []

    def stop(self) -> None:
        """Does nothing, because calls return immediately."""

    def close(self) -> None:
        """Does nothing, because there is no process or connection to close."""


class StandIn(InlineProvider):
    """A provider that replaces another one, and uses its schema."""

    def __init__(self, of: Provider) -> None:
        self.of = of

    def schema(self) -> ProviderSchema:
        return self.of.schema()

    def renew(self, type: str, private: bytes | None) -> OpenedEphemeral:
        return OpenedEphemeral(None, private)

    def close_ephemeral(self, type: str, private: bytes | None) -> list[AttributeDiagnostic]:
        return []
