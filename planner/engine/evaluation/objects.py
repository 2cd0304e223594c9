"""Converts objects between the state and values, with the provider's schema.

A `RemoteObject` is the value of an object, with marks, and its record in the state. For an unchanged object, the
existing record is written, so the record is not encoded again and does not change."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, TypeAlias

from planner.engine.evaluation.provider_diagnostics import in_body
from planner.engine.evaluation.schemas import Schemas, marked_by_schema, without_write_only
from planner.engine.walk.hooks import ObjectId
from planner.foundation.values.convert import ConversionError, convert
from planner.foundation.values.json_codec import CodecError, from_json, to_json
from planner.foundation.values.paths import apply_marks, marked_paths
from planner.foundation.values.schema import implied_type
from planner.foundation.values.sets import make_set, unknown_as_null
from planner.foundation.values.types import (
    DYNAMIC,
    ListType,
    MapType,
    ObjectType,
    Primitive,
    SetType,
    TupleType,
    Type,
    friendly_name,
)
from planner.foundation.values.value import (
    SENSITIVE,
    UNKNOWN,
    List,
    Map,
    Null,
    Unknown,
    Value,
    type_of,
    unmark,
    unmark_deep,
)
from planner.foundation.vocabulary.address import format_resource
from planner.foundation.vocabulary.diagnostic import Diagnostic, Failure, error, has_errors
from planner.foundation.vocabulary.records import evolve, frozen
from planner.language.config.model import ResourceDecl
from planner.language.syntax.body import Body
from planner.world.provider.interface import AttributeDiagnostic, MoveRequest, Provider, ResourceSchema
from planner.world.provider.terraform_data import STORING
from planner.world.state.model import InstanceKey, ObjectState, State

if TYPE_CHECKING:
    from planner.engine.evaluation.context import ModuleInstance

_SENSITIVE = frozenset((SENSITIVE,))
UnknownAttributes: TypeAlias = Mapping[str, Mapping[InstanceKey, Collection[str]]]
"""{address of a resource: {key of an instance: names of its unknown attributes}}; the name "" denotes all attributes"""


@frozen(eq=False)
class RemoteObject:
    """The value of an object, with marks (never null), its record in the state, and the identity by which the provider
    finds it (None if there is none)."""

    value: Value
    record: ObjectState
    identity: Value = None


def read_object(
    provider: Provider,
    type: str,
    schema: ResourceSchema,
    record: ObjectState,
    address: str,
    mode: str = "managed",
    moved_from: tuple[str, str] | None = None,
    body: Body | None = None,
) -> tuple[RemoteObject | None, list[Diagnostic]]:
    """The object of a record, upgraded to the current schema; None if it cannot be read. Objects of data sources are
    never upgraded; they must match the schema. `moved_from`: the former provider and type of the object, if `provider`
    must convert it to its own type. `body`: the configuration of the object, in which problems are located; if it is
    None, problems have no place. The returned record has the current schema version."""
    if moved_from is not None:
        return _moved_object(provider, type, schema, record, address, moved_from, body)
    if record.schema_version > schema.version:
        detail = (
            f"The state has {address} in schema version {record.schema_version}, but this provider only supports "
            f"version {schema.version}. Use a newer version of the provider."
        )
        return None, [error("plan.newer_object", "Resource instance managed by newer provider version", detail)]
    attributes = record.attributes if record.attributes_flat is None else dict(record.attributes_flat)
    known = implied_type(schema.block)
    if record.attributes_flat is not None and provider.is_inline:
        detail = f"The state has {address} in an old format, which its provider cannot read."
        return None, [error("plan.flat_object", "Invalid object in state", detail)]
    if record.attributes_flat is None and record.schema_version == schema.version:
        attributes = _drop_removed_attributes(attributes, known)
    if mode == "managed":
        value, problems = provider.upgrade(type, record.schema_version, attributes, record.attributes_flat is not None)
    else:
        value, problems = _recorded_value(evolve(record, attributes=attributes), schema)
    identity, more = _read_identity(provider, type, schema, record)
    result = in_body([*problems, *more], body, address)
    if has_errors(result):
        return None, result
    if record.sensitive_paths:
        value = apply_marks(value, [(path, _SENSITIVE) for path in record.sensitive_paths])
    if (
        record.schema_version != schema.version
        or record.attributes_flat is not None
        or (mode == "managed" and attributes.keys() != known.attributes.keys())
        or attributes is not record.attributes
    ):
        record = write_object(value, schema, record)
    if record.identity is not None and record.identity_schema_version != schema.identity_version:
        record = evolve(record, **recorded_identity(identity, schema))
    return RemoteObject(value, record, identity), result


def _moved_object(
    provider: Provider,
    type: str,
    schema: ResourceSchema,
    record: ObjectState,
    address: str,
    moved_from: tuple[str, str],
    body: Body | None,
) -> tuple[RemoteObject | None, list[Diagnostic]]:
    flat = record.attributes_flat is not None
    attributes: dict[str, Any] = dict(record.attributes_flat or {}) if flat else record.attributes
    identity = record.identity, record.identity_schema_version
    request = MoveRequest(*moved_from, record.schema_version, attributes, flat, record.private, type, *identity)
    answer = provider.move(request)
    result = in_body(answer.diagnostics, body, address)
    if has_errors(result):
        return None, result
    value = answer.value
    if record.sensitive_paths:
        value = apply_marks(value, [(path, _SENSITIVE) for path in record.sensitive_paths])
    changes = {"private": answer.private, **recorded_identity(answer.identity, schema)}
    return RemoteObject(value, write_object(value, schema, record, **changes), answer.identity), result


def _read_identity(
    provider: Provider, type: str, schema: ResourceSchema, record: ObjectState
) -> tuple[Value, list[AttributeDiagnostic]]:
    """The identity of a recorded object, upgraded to the current schema, and problems. The identity is None if the
    object has none, or if it cannot be read."""
    if record.identity is None or schema.identity is None:
        return None, []
    if record.identity_schema_version > schema.identity_version:
        detail = (
            f"The state has the identity in schema version {record.identity_schema_version}, but this provider only "
            "supports "
            f"version {schema.identity_version}. Use a newer version of the provider."
        )
        summary = "Resource identity managed by newer provider version"
        return None, [AttributeDiagnostic("error", summary, detail, None)]
    if record.identity_schema_version < schema.identity_version:
        return provider.upgrade_identity(type, record.identity_schema_version, record.identity)
    try:
        return from_json(record.identity, implied_type(schema.identity)), []
    except CodecError as problem:
        detail = f"The recorded identity cannot be read: {problem}."
        return None, [AttributeDiagnostic("error", "Invalid identity in state", detail, None)]


def recorded_identity(identity: Value, schema: ResourceSchema) -> dict[str, Any]:
    """The fields of a record that describe the identity of its object. Without an identity, the fields are None and the
    schema version 0. Unknown parts become null."""
    if identity is None or identity.__class__ is Null or schema.identity is None:
        return {"identity": None, "identity_schema_version": 0}
    wanted = implied_type(schema.identity)
    return {
        "identity": to_json(unknown_as_null(identity), wanted),
        "identity_schema_version": schema.identity_version,
    }


def _drop_removed_attributes(data: Any, wanted: Type) -> Any:
    """The recorded data without attributes that the type no longer has; `data` itself if there are no such
    attributes."""
    if isinstance(wanted, ObjectType) and data.__class__ is dict:
        types = wanted.attributes
        kept = {name: _drop_removed_attributes(part, types[name]) for name, part in data.items() if name in types}
        same = len(kept) == len(data) and all(part is data[name] for name, part in kept.items())
        return data if same else kept
    if isinstance(wanted, MapType) and data.__class__ is dict:
        parts = {key: _drop_removed_attributes(part, wanted.element) for key, part in data.items()}
        return data if all(part is data[key] for key, part in parts.items()) else parts
    if isinstance(wanted, ListType | SetType) and data.__class__ is list:
        items = [_drop_removed_attributes(part, wanted.element) for part in data]
        return data if all(new is old for new, old in zip(items, data, strict=True)) else items
    return data


def _recorded_value(record: ObjectState, schema: ResourceSchema) -> tuple[Value, list[AttributeDiagnostic]]:
    try:
        return recorded_value(record, schema), []
    except ValueError as problem:
        detail = f"The recorded object cannot be read: {problem}."
        return Null(implied_type(schema.block)), [AttributeDiagnostic("error", "Invalid object in state", detail)]


def recorded_value(record: ObjectState, schema: ResourceSchema) -> Value:
    """The object of a record, without marks. Raises ValueError."""
    wanted = implied_type(schema.block)
    if record.attributes_flat is None:
        return from_json(record.attributes, wanted)
    return from_flat(record.attributes_flat, wanted)


def write_object(
    value: Value, schema: ResourceSchema, record: ObjectState | None = None, **changes: Any
) -> ObjectState:
    """The record of an object, which must be wholly known. Fields that do not depend on the value come from `changes`
    or, if they are not there, from `record`. Raises Failure for values that a state cannot contain."""
    value = without_write_only(value, schema.block)
    plain, marks = unmark_deep(value)
    sensitive = tuple(path for path, here in marked_paths(value) if SENSITIVE in here) if marks else ()
    base = record or ObjectState({})
    try:
        attributes = to_json(plain, implied_type(schema.block))
    except CodecError as problem:
        detail = f"A state cannot contain this object: {problem}."
        raise Failure(error("state.not_recordable", "Value cannot be recorded", detail)) from problem
    if schema is STORING and attributes["store"] is None:
        del attributes["store"]  # without the empty block, OpenTofu can read the object
    return evolve(
        base,
        attributes=attributes,
        attributes_flat=None,
        schema_version=schema.version,
        sensitive_paths=sensitive,
        **changes,
    )


class StateObjects:
    """The objects of a state, as an ObjectSource (planner.engine.evaluation.context). `unknown`: attributes with
    unknown values."""

    def __init__(self, state: State, schemas: Schemas, unknown: UnknownAttributes = MappingProxyType({})) -> None:
        self.state = state
        self.schemas = schemas
        self.unknown = unknown

    def keys(self, module: ModuleInstance, resource: ResourceDecl) -> Collection[InstanceKey] | None:
        entry = self.state.resources.get(resource_text(module, resource))
        return None if entry is None else [k for k, i in entry.instances.items() if i.current is not None]

    def between(self, module: ModuleInstance, resource: ResourceDecl) -> Collection[InstanceKey]:
        entry = self.state.resources.get(resource_text(module, resource))
        return () if entry is None else [k for k, i in entry.instances.items() if i.current is None]

    def object(self, module: ModuleInstance, resource: ResourceDecl, key: InstanceKey) -> Value:
        address = resource_text(module, resource)
        unknown = self.unknown.get(address, {}).get(key, ())
        if "" in unknown:
            return UNKNOWN
        record = self.state.resources[address].instances[key].current
        assert record is not None
        schema = self.schemas.of(module.config, resource)
        provider = self.schemas.provider(module.config.provider_source(resource.provider_name))
        item, problems = read_object(provider, resource.type, schema, record, address, resource.mode)
        if item is None:
            raise Failure(problems)
        value = marked_by_schema(item.value, schema.block)
        return (
            {**value, **{name: Unknown(type_of(value[name])) for name in unknown if name in value}}
            if unknown
            else value
        )


def resource_text(module: ModuleInstance, resource: ResourceDecl) -> str:
    return format_resource(module.text, resource.mode, resource.type, resource.name)


def object_id(value: Value, key: str = "id") -> ObjectId | None:
    """The attribute that identifies an object in messages: the attribute `key`, or `name` if the object has no
    attribute `id`. None if the attribute is not a known string, or is sensitive."""
    plain = unmark(value)[0]
    if key == "id" and plain.__class__ is dict and "id" not in plain:
        key = "name"
    result = plain.get(key) if plain.__class__ is dict else None
    return ObjectId(key, result) if result.__class__ is str else None


# Decodes objects of states before version 4, whose attributes are strings in one flat map: `tags.%`, `tags.Name`,
# `rules.#`, `rules.0.port`.
#
# The type determines the meaning of a string. As in OpenTofu's hcl2shim (flatmap.go).


UNKNOWN_TEXT = "74D93920-ED26-11E3-AC10-0800200C9A66"  # the placeholder of an unknown value


def from_flat(flat: dict[str, str], wanted: ObjectType) -> Value:
    """The value in a flat map. Raises ValueError."""
    return _FlatReader(flat).object("", wanted)


class _FlatReader:
    def __init__(self, flat: dict[str, str]) -> None:
        self.flat = flat

    def value(self, key: str, wanted: Type) -> Value:
        """The value at a key of the flat map. (The keys of collections that are elements of a set end with a dot.)
        Raises ValueError."""
        if isinstance(wanted, Primitive) and wanted is not DYNAMIC:
            return self.primitive(key, wanted)
        prefix = f"{key.rstrip('.')}."
        if isinstance(wanted, ObjectType):
            return self.object(prefix, wanted)
        if not isinstance(wanted, ListType | SetType | MapType | TupleType):
            raise ValueError(f"{key} can be of any type, which a flat map cannot represent")
        count = self.flat.get(prefix + ("%" if isinstance(wanted, MapType) else "#"))
        if UNKNOWN_TEXT in (count, self.flat.get(key)):
            return Unknown(wanted)
        if count is None:
            return Null(wanted)
        if isinstance(wanted, MapType):
            return Map(wanted.element, {name: self.value(prefix + name, wanted.element) for name in self.names(prefix)})
        if isinstance(wanted, SetType):
            return self.set(prefix, wanted, count)
        types = wanted.elements if isinstance(wanted, TupleType) else (wanted.element,) * _number(prefix, count)
        if len(types) != _number(prefix, count):
            raise ValueError(f"{key} has {count} elements, but {len(types)} are needed")
        items = tuple(self.value(f"{prefix}{i}", type_) for i, type_ in enumerate(types))
        return List(wanted.element, items) if isinstance(wanted, ListType) else items

    def primitive(self, key: str, wanted: Type) -> Value:
        text = self.flat.get(key)
        if text is None:
            return Null(wanted)
        if text == UNKNOWN_TEXT:
            return Unknown(wanted)
        try:
            return convert(text, wanted)
        except ConversionError as bad:
            raise ValueError(f'{key} is "{text}", but a {friendly_name(wanted)} is needed') from bad

    def object(self, prefix: str, wanted: ObjectType) -> Value:
        return {name: self.value(prefix + name, type_) for name, type_ in wanted.attributes.items()}

    def set(self, prefix: str, wanted: SetType, count: str) -> Value:
        """The set below a prefix. In the flat map, hashes are the keys of the elements. An empty element has no key;
        only the count includes it."""
        keys = {name.partition(".")[0] for name in self.names(prefix)}
        items = [self.value(prefix + key, wanted.element) for key in sorted(keys)]
        if not items and count == "1":
            items = [_empty(wanted.element)]
        return make_set(wanted.element, items)

    def names(self, prefix: str) -> list[str]:
        """The parts of keys after a prefix, sorted, without the keys of counts."""
        items = (key[len(prefix) :] for key in self.flat if key.startswith(prefix))
        return sorted(name for name in items if name not in ("%", "#"))


def _number(prefix: str, count: str) -> int:
    try:
        return int(count)
    except ValueError:
        raise ValueError(f'{prefix}# is "{count}", which is not a number') from None


def _empty(wanted: Type) -> Value:
    if isinstance(wanted, MapType):
        return Map(wanted.element, {})
    if isinstance(wanted, ListType):
        return List(wanted.element, ())
    if isinstance(wanted, SetType):
        return make_set(wanted.element, [])
    if isinstance(wanted, ObjectType):
        return {name: Null(type_) for name, type_ in wanted.attributes.items()}
    return Null(wanted)
