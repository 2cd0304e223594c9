"""State: the last known objects, as immutable records.

Attributes of objects remain in their JSON form until a provider schema decodes them. Addresses are strings
(`module.a["k"].terraform_data.b[0]`)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, TypeAlias

from planner.foundation.values.types import Type
from planner.foundation.values.value import Value
from planner.foundation.vocabulary.records import field, fields, frozen

InstanceKey: TypeAlias = int | str | None


@frozen(eq=False)
class ObjectState:
    """One remote object. `attributes`: a JSON object with exact numbers. `sensitive_paths`: lists of steps ("attr",
    name) or ("index", key). `private`: data of the provider, Base64. `dependencies`: the configuration addresses on
    which the object depended when it was last applied."""

    attributes: dict[str, Any]
    schema_version: int = 0
    tainted: bool = False
    sensitive_paths: tuple[Any, ...] = ()
    private: str | None = None
    dependencies: Sequence[str] = ()
    create_before_destroy: bool = False
    skip_destroy: bool = False
    identity: dict[str, Any] | None = None
    identity_schema_version: int = 0
    attributes_flat: dict[str, str] | None = None


@frozen(eq=False)
class InstanceState:
    """A resource instance: its current object, and deposed objects by key (8 hex digits). `provider_key`: the key of
    the provider instance, if the provider configuration has for_each."""

    key: InstanceKey
    current: ObjectState | None
    deposed: dict[str, ObjectState] = field(factory=dict)
    provider_key: InstanceKey = None


@frozen(eq=False)
class ResourceState:
    """A resource in one module instance ("": the root module). `provider` is written as in state files:
    `provider["terraform.io/builtin/terraform"]`, `module.a.provider["..."].alias`."""

    module: str
    mode: str
    type: str
    name: str
    provider: str
    instances: dict[InstanceKey, InstanceState]

    @property
    def address(self) -> str:
        """The address of the resource, without an instance key."""
        prefix = f"{self.module}." if self.module else ""
        mode = "" if self.mode == "managed" else f"{self.mode}."
        return f"{prefix}{mode}{self.type}.{self.name}"


@frozen(eq=False)
class OutputState:
    value: Value
    type: Type
    sensitive: bool = False
    deprecated: str | None = None


@frozen(eq=False)
class State:
    """A state snapshot. `resources`: by ResourceState.address. `serial`: increases with each write that changes the
    state. `lineage`: identifies the history of the state. `check_results`: JSON as in the file."""

    resources: dict[str, ResourceState] = field(factory=dict)
    outputs: dict[str, OutputState] = field(factory=dict)
    serial: int = 0
    lineage: str = ""
    terraform_version: str = ""
    check_results: list[dict[str, Any]] | None = None

    def instances(self) -> Iterator[tuple[ResourceState, InstanceState]]:
        """(resource, instance) of all instances, sorted by the address of the resource."""
        for address in sorted(self.resources):
            resource = self.resources[address]
            for instance in resource.instances.values():
                yield resource, instance

    @property
    def is_empty(self) -> bool:
        return not self.resources and not self.outputs


def same_managed(left: State, right: State) -> bool:
    if left is right:
        return True
    mine, theirs = (
        {address: r for address, r in state.resources.items() if r.mode == "managed"} for state in (left, right)
    )
    return mine.keys() == theirs.keys() and all(_same_resource(r, theirs[address]) for address, r in mine.items())


def _same_resource(left: ResourceState, right: ResourceState) -> bool:
    if left is right:
        return True
    return (
        left.provider == right.provider
        and left.instances.keys() == right.instances.keys()
        and all(_same_instance(i, right.instances[key]) for key, i in left.instances.items())
    )


def _same_instance(left: InstanceState, right: InstanceState) -> bool:
    if left is right:
        return True
    return (
        left.provider_key == right.provider_key
        and left.deposed.keys() == right.deposed.keys()
        and _same_object(left.current, right.current)
        and all(_same_object(o, right.deposed[key]) for key, o in left.deposed.items())
    )


def _same_object(left: ObjectState | None, right: ObjectState | None) -> bool:
    if left is right or left is None or right is None:
        return left is right
    return all(getattr(left, a.name) == getattr(right, a.name) for a in fields(ObjectState))
