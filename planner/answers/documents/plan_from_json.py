"""Reads plans from plan JSON, so that they can be shown. The JSON comes from `show -json` of any compatible program, or
from a run on a server. If the plan comes from `show -json -planner`, it includes schemas but no sensitive values."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cache
from typing import Any

from planner.answers.documents.json_schemas import resource_schema
from planner.foundation.support.exact_json import JsonError, loads
from planner.foundation.values.convert import ConversionError
from planner.foundation.values.json_codec import CodecError, implied_value
from planner.foundation.values.schema import coerce
from planner.foundation.values.value import SENSITIVE, UNKNOWN, Value, mark
from planner.foundation.vocabulary.address import AddressError, parse_resource_instance
from planner.foundation.vocabulary.limits import Mode
from planner.foundation.vocabulary.provider_address import parse_provider_configuration
from planner.logic.model.plan import Importing, OutputChange, Plan, ResourceChange
from planner.logic.programs.actions import action_of
from planner.world.provider.interface import ResourceSchema
from planner.world.state.model import State


class JsonPlan:
    """A plan that was read from plan JSON. It has no prior states. `provider_schemas` contains the schemas in the
    document.

    Raises ValueError for bytes that are not plan JSON."""

    def __init__(self, data: bytes, mode: Mode = "normal") -> None:
        try:
            document = loads(data)
            self.provider_schemas: Mapping[str, Any] = document.get("provider_schemas") or {}
            self.variables: Mapping[str, Any] = document.get("variables") or {}
            self.schema_of = cache(self._schema)
            self.plan = Plan(
                mode,
                tuple(self._changes(document.get("resource_changes"))),
                tuple(self._changes(document.get("resource_drift"))),
                tuple(map(_output, *zip(*sorted((document.get("output_changes") or {}).items()), strict=True)))
                if document.get("output_changes")
                else (),
                State(),
                State(),
                None,
                {},
                errored=bool(document.get("errored")),
            )
        except (JsonError, AddressError, AttributeError, IndexError, KeyError, RecursionError, TypeError) as problem:
            raise ValueError(f"not plan JSON ({type(problem).__name__}: {problem})") from problem

    def _schema(self, provider: str, mode: str, type: str) -> ResourceSchema | None:
        source = parse_provider_configuration(provider).source
        group = "data_source_schemas" if mode == "data" else "resource_schemas"
        raw = ((self.provider_schemas.get(source) or {}).get(group) or {}).get(type)
        return resource_schema(raw) if raw else None

    def _changes(self, entries: Any) -> Iterator[ResourceChange]:
        for entry in entries or ():
            yield self._change(entry)

    def _change(self, entry: Mapping[str, Any]) -> ResourceChange:
        change, address, mode = entry["change"], entry["address"], entry.get("mode", "managed")
        parse_resource_instance(address)
        provider = f'provider["{entry["provider_name"]}"]'
        schema = self.schema_of(provider, mode, entry["type"])
        importing = change.get("importing")
        return ResourceChange(
            address,
            entry.get("previous_address") or address,
            entry.get("module_address", ""),
            mode,
            entry["type"],
            entry["name"],
            entry.get("index"),
            entry.get("deposed", ""),
            provider,
            action_of(change["actions"]),
            entry.get("action_reason", ""),
            _value(change, "before", schema),
            _value(change, "after", schema),
            tuple(tuple(_step(step) for step in path) for path in change.get("replace_paths") or ()),
            Importing(importing.get("id") or None, bool(importing.get("unknown"))) if importing else None,
            change.get("generated_config") or None,
        )


def _output(name: str, entry: Mapping[str, Any]) -> OutputChange:
    hidden = entry.get("after_sensitive") is True or entry.get("before_sensitive") is True
    return OutputChange(
        name, action_of(entry["actions"]), _value(entry, "before", None), _value(entry, "after", None), hidden
    )


def _step(step: Any) -> tuple[str, Any]:
    return ("attr", step) if isinstance(step, str) else ("index", step)


def _value(change: Mapping[str, Any], side: str, schema: ResourceSchema | None) -> Value:
    """The value before or after a change, with its unknown and sensitive parts. The value has the type in the schema,
    if it can be converted to it."""
    unknown = change.get("after_unknown") if side == "after" else None
    value = _with_marks(change.get(side), unknown, change.get(f"{side}_sensitive"))
    if schema is None:
        return value
    try:
        return coerce(value, schema.block)
    except (ConversionError, CodecError):
        return value


def _with_marks(value: Any, unknown: Any, sensitive: Any) -> Value:
    if sensitive is True:
        return mark(_with_marks(value, unknown, None), frozenset((SENSITIVE,)))
    if unknown is True:
        return UNKNOWN
    if isinstance(value, dict) or (isinstance(unknown, dict) and unknown):
        parts = dict.fromkeys((*(value or {}), *(unknown if isinstance(unknown, dict) else ())))
        return {
            name: _with_marks((value or {}).get(name), part_at(unknown, name), part_at(sensitive, name))
            for name in parts
        }
    if isinstance(value, list):
        return tuple(_with_marks(item, part_at(unknown, at), part_at(sensitive, at)) for at, item in enumerate(value))
    return implied_value(value)


def part_at(structure: Any, step: str | int) -> Any:
    """The part at a step (a name or index) of a structure that describes the parts of a value, such as `after_unknown`;
    None if there is no such part."""
    if isinstance(structure, dict):
        return structure.get(step)
    if isinstance(structure, list) and isinstance(step, int) and step < len(structure):
        return structure[step]
    return None
