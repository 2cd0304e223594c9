"""Objects between state and values: read from the state through a provider's schema, and written back.

A `RemoteObject` is the value of an object with its marks beside what the state records about it. Writing keeps the
recorded form where nothing changed, so that unchanged objects cost nothing and stay byte for byte what they were.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import TYPE_CHECKING, Any

from attrs import evolve, frozen

from planner.config.model import ResourceDecl
from planner.language.json_codec import CodecError, from_json, to_json
from planner.language.paths import apply_marks, marked_paths
from planner.language.schema import implied_type
from planner.language.types import ListType, MapType, ObjectType, SetType, Type
from planner.language.values import SENSITIVE, Null, Value, unmark, unmark_deep
from planner.plan.schema_marks import marked_by_schema, without_write_only
from planner.provider.interface import AttributeDiagnostic, Provider, ResourceSchema
from planner.state.model import InstanceKey, ObjectState, State
from planner.vocabulary.address import format_resource
from planner.vocabulary.diagnostic import Diagnostic, Failure, error, has_errors
from planner.walk.hooks import ObjectId

if TYPE_CHECKING:
    from planner.plan.context import ModuleInstance
    from planner.plan.schemas import Schemas

_SENSITIVE = frozenset((SENSITIVE,))


@frozen(eq=False)
class RemoteObject:
    """An object: its value with marks (never null), and its record in the state."""

    value: Value
    record: ObjectState


def read_object(
    provider: Provider, type: str, schema: ResourceSchema, record: ObjectState, address: str, mode: str = "managed"
) -> tuple[RemoteObject | None, list[Diagnostic]]:
    """The object of a record, upgraded to the provider's present schema; None when it cannot be read. Objects of data
    sources are never upgraded: they have to fit as they are.

    The record of the answer has the present schema version, and attributes rewritten if the version changed."""
    if record.schema_version > schema.version:
        detail = (
            f"The state has {address} in version {record.schema_version} of its type, but this provider only knows "
            f"version {schema.version}. Use a newer version of the provider."
        )
        return None, [error("plan.newer_object", "Resource instance managed by newer provider version", detail)]
    attributes = record.attributes if record.attributes_flat is None else dict(record.attributes_flat)
    known = implied_type(schema.block)
    if record.attributes_flat is not None and provider.is_inline:
        detail = f"The state has {address} in a form of long ago that its provider cannot read."
        return None, [error("plan.flat_object", "Invalid object in state", detail)]
    if record.attributes_flat is None and record.schema_version == schema.version:
        attributes = _without_removed(attributes, known)
    if mode == "managed":
        value, problems = provider.upgrade(type, record.schema_version, attributes)
    else:
        value, problems = _recorded(attributes, schema)
    found = [
        Diagnostic("error" if p.severity == "error" else "warning", "provider.problem", p.summary, p.detail)
        for p in problems
    ]
    if has_errors(found):
        return None, found
    if record.sensitive_paths:
        value = apply_marks(value, [(path, _SENSITIVE) for path in record.sensitive_paths])
    if (
        record.schema_version != schema.version
        or record.attributes_flat is not None
        or (mode == "managed" and attributes.keys() != known.attributes.keys())
        or attributes is not record.attributes
    ):
        record = write_object(value, schema, record)
    return RemoteObject(value, record), found


def _without_removed(data: Any, wanted: Type) -> Any:
    """The recorded form without the attributes that the type does not have (any more); the same object if there are
    none."""
    if isinstance(wanted, ObjectType) and data.__class__ is dict:
        types = wanted.attributes
        kept = {name: _without_removed(part, types[name]) for name, part in data.items() if name in types}
        same = len(kept) == len(data) and all(part is data[name] for name, part in kept.items())
        return data if same else kept
    if isinstance(wanted, MapType) and data.__class__ is dict:
        parts = {key: _without_removed(part, wanted.element) for key, part in data.items()}
        return data if all(part is data[key] for key, part in parts.items()) else parts
    if isinstance(wanted, ListType | SetType) and data.__class__ is list:
        items = [_without_removed(part, wanted.element) for part in data]
        return data if all(new is old for new, old in zip(items, data, strict=True)) else items
    return data


def _recorded(attributes: dict[str, Any], schema: ResourceSchema) -> tuple[Value, list[AttributeDiagnostic]]:
    wanted = implied_type(schema.block)
    try:
        return from_json(attributes, wanted), []
    except CodecError as problem:
        detail = f"The recorded object cannot be read: {problem}."
        return Null(wanted), [AttributeDiagnostic("error", "Invalid object in state", detail)]


def write_object(
    value: Value, schema: ResourceSchema, record: ObjectState | None = None, **changes: Any
) -> ObjectState:
    """The record of a wholly known object; `record` is what to keep besides, `changes` what to replace in it."""
    value = without_write_only(value, schema.block)
    plain, marks = unmark_deep(value)
    sensitive = tuple(path for path, here in marked_paths(value) if SENSITIVE in here) if marks else ()
    base = record or ObjectState({})
    return evolve(
        base,
        attributes=to_json(plain, implied_type(schema.block)),
        attributes_flat=None,
        schema_version=schema.version,
        sensitive_paths=sensitive,
        **changes,
    )


class StateObjects:
    """The objects of a state, for expressions: planner.plan.context.ObjectSource."""

    def __init__(self, state: State, schemas: Schemas) -> None:
        self.state = state
        self.schemas = schemas

    def keys(self, module: ModuleInstance, resource: ResourceDecl) -> Collection[InstanceKey] | None:
        found = self.state.resources.get(_address(module, resource))
        return None if found is None else [k for k, i in found.instances.items() if i.current is not None]

    def object(self, module: ModuleInstance, resource: ResourceDecl, key: InstanceKey) -> Value:
        address = _address(module, resource)
        record = self.state.resources[address].instances[key].current
        assert record is not None
        schema = self.schemas.of(module.config, resource)
        provider = self.schemas.provider(module.config.provider_source(resource.provider_name))
        found, problems = read_object(provider, resource.type, schema, record, address, resource.mode)
        if found is None:
            raise Failure(problems)
        return marked_by_schema(found.value, schema.block)


def _address(module: ModuleInstance, resource: ResourceDecl) -> str:
    return format_resource(module.text, resource.mode, resource.type, resource.name)


def object_id(value: Value, key: str = "id") -> ObjectId | None:
    """What to recognise an object by in messages: a string attribute that is known and not sensitive."""
    plain = unmark(value)[0]
    found = plain.get(key) if plain.__class__ is dict else None
    return ObjectId(key, found) if found.__class__ is str else None
