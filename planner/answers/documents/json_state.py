"""State JSON: the output of `show -json` for a state, and `prior_state` in plan JSON."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, TypeAlias

from planner.answers.documents.json_values import plain
from planner.engine.evaluation.objects import recorded_value
from planner.engine.evaluation.schemas import marked_by_schema
from planner.foundation.support.disk import collector_paused
from planner.foundation.values.paths import apply_marks, sensitive_structure
from planner.foundation.values.types import type_to_json
from planner.foundation.values.value import SENSITIVE, Value
from planner.foundation.vocabulary.address import ModuleAddress, ResourceAddress, format_key, parse_module
from planner.foundation.vocabulary.diagnostic import Failure, error
from planner.foundation.vocabulary.provider_address import parse_provider_configuration
from planner.foundation.vocabulary.release import COMPATIBLE_VERSION
from planner.logic.model.check_results import checks_json, state_groups
from planner.world.provider.interface import ProviderSchema, ResourceSchema
from planner.world.state.model import InstanceKey, ObjectState, OutputState, ResourceState, State

FORMAT_VERSION = "1.0"
SchemaOf: TypeAlias = "Callable[[str], ProviderSchema]"
"""a function that returns the schema of a provider, which is named by its source address; raises Failure if the schema
is not available"""
SENSITIVE_MARK = frozenset({SENSITIVE})


def state_json(state: State | None, schema_of: SchemaOf) -> dict[str, Any]:
    """A state as JSON. Raises Failure if an object has no schema or does not match it."""
    if state is None or state.is_empty:
        return {"format_version": FORMAT_VERSION}
    with collector_paused():
        return _state_json(state, schema_of)


def _state_json(state: State, schema_of: SchemaOf) -> dict[str, Any]:
    out: dict[str, Any] = {"format_version": FORMAT_VERSION}
    out["terraform_version"] = state.terraform_version or COMPATIBLE_VERSION
    values: dict[str, Any] = {}
    if state.outputs:
        values["outputs"] = outputs_json(state.outputs)
    empty = sorted({resource.module for resource in state.resources.values() if not resource.instances})
    values["root_module"] = module_tree(_entries(state, schema_of), empty)
    out["values"] = values
    if state.check_results:
        out["checks"] = checks_json(state_groups(state.check_results))
    return out


def outputs_json(outputs: Mapping[str, OutputState]) -> dict[str, Any]:
    out = {}
    for name in sorted(outputs):
        output = outputs[name]
        raw: dict[str, Any] = {"sensitive": output.sensitive}
        if output.deprecated:
            raw["deprecated"] = output.deprecated
        raw["value"] = plain(output.value)
        raw["type"] = type_to_json(output.type)
        out[name] = raw
    return out


def module_tree(entries: Iterable[tuple[str, dict[str, Any]]], empty: Iterable[str] = ()) -> dict[str, Any]:
    """A tree of modules as JSON. `entries`: pairs (address of the module instance, resource as JSON). The resources of
    a module are in the order of the pairs, and child modules are sorted by address. Modules without resources are
    included if a module below them has resources, or if they are in `empty`."""
    root: dict[str, Any] = {}
    nodes: dict[str, dict[str, Any]] = {"": root}
    children: dict[str, list[str]] = {}

    def node(address: str) -> dict[str, Any]:
        result = nodes.get(address)
        if result is None:
            above = str(parse_module(address).parent)
            node(above)
            children.setdefault(above, []).append(address)
            result = nodes[address] = {}
        return result

    for module, entry in entries:
        node(module).setdefault("resources", []).append(entry)
    for module in empty:
        node(module)
    for address, result in nodes.items():
        if address:
            result["address"] = address
        if address in children:
            result["child_modules"] = [nodes[child] for child in sorted(children[address])]
    return root


# ---------------------------------------------------------------- resources


def _entries(state: State, schema_of: SchemaOf) -> Iterator[tuple[str, dict[str, Any]]]:
    modules: dict[str, ModuleAddress] = {}

    def order(resource: ResourceState) -> tuple[Any, ...]:
        module = modules.get(resource.module)
        if module is None:
            module = modules[resource.module] = parse_module(resource.module)
        return ResourceAddress(module, resource.mode, resource.type, resource.name).sort_key

    sources: dict[str, str] = {}
    for resource in sorted(state.resources.values(), key=order):
        if resource.provider not in sources:
            sources[resource.provider] = parse_provider_configuration(resource.provider).source
        source = sources[resource.provider]
        schema = resource_schema(schema_of, source, resource.mode, resource.type, resource.address)
        for key, instance in resource.instances.items():
            if instance.current is not None:
                yield resource.module, _entry(resource, key, instance.current, "", source, schema)
            for deposed in sorted(instance.deposed):
                yield resource.module, _entry(resource, key, instance.deposed[deposed], deposed, source, schema)


def _entry(
    resource: ResourceState, key: InstanceKey, obj: ObjectState, deposed: str, source: str, schema: ResourceSchema
) -> dict[str, Any]:
    address = resource.address + format_key(key)
    out = resource_head(address, resource.mode, resource.type, resource.name, key, source)
    out["schema_version"] = 0 if deposed else obj.schema_version
    value = object_value(obj, schema, address)
    values = plain(value)
    if values:
        out["values"] = values
    out["sensitive_values"] = sensitive_structure(marked_by_schema(value, schema.block))
    if obj.dependencies:
        out["depends_on"] = list(obj.dependencies)
    if obj.tainted:
        out["tainted"] = True
    if deposed:
        out["deposed_key"] = deposed
    if obj.identity is not None:
        out["identity"] = obj.identity
        out["identity_schema_version"] = obj.identity_schema_version
    return out


def resource_head(address: str, mode: str, type: str, name: str, key: InstanceKey, source: str) -> dict[str, Any]:
    """The members that identify an object in the JSON."""
    out: dict[str, Any] = {"address": address, "mode": mode, "type": type, "name": name}
    if key is not None:
        out["index"] = key
    out["provider_name"] = source
    return out


def resource_schema(schema_of: SchemaOf, source: str, mode: str, type: str, address: str) -> ResourceSchema:
    """The schema of a resource type. Raises Failure if the provider has no such type."""
    schema = schema_of(source).resource(mode, type)
    if schema is None:
        detail = f"{address} cannot be shown: {source} has no schema of {type}."
        raise Failure(error("json.schema_missing", "Schema missing", detail, address=address))
    return schema


def object_value(obj: ObjectState, schema: ResourceSchema, address: str) -> Value:
    """The recorded object with its sensitive parts marked. Raises Failure."""
    problem = ""
    if obj.schema_version != schema.version:
        problem = (
            f"it was recorded with schema version {obj.schema_version}, but the provider now uses schema version "
            f"{schema.version}; apply (or refresh) once to update the recorded object"
        )
    else:
        try:
            value = recorded_value(obj, schema)
            marks = [(path, SENSITIVE_MARK) for path in obj.sensitive_paths]
            return apply_marks(value, marks) if marks else value
        except ValueError as e:
            problem = str(e)
    detail = f"The recorded object of {address} cannot be read: {problem}."
    raise Failure(error("json.invalid_object", "Object cannot be read", detail, address=address))
