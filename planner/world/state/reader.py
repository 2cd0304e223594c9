"""Converts the JSON document of a version 4 state file to a State, and checks every part of it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from planner.foundation.values.json_codec import from_json
from planner.foundation.values.types import type_from_json
from planner.foundation.vocabulary.address import (
    AddressError,
    format_key,
    key_order,
    parse_module,
    parse_resource_instance,
    valid_identifier,
)
from planner.foundation.vocabulary.diagnostic import Diagnostic, error
from planner.foundation.vocabulary.provider_address import parse_provider_configuration
from planner.foundation.vocabulary.records import evolve
from planner.foundation.vocabulary.version_constraints import Version
from planner.world.state.model import InstanceKey, InstanceState, ObjectState, OutputState, ResourceState, State

_STATUSES = ("pass", "fail", "error")
_CHECK_KINDS = ("resource", "output", "check", "var")


class StateReader:
    """Reads one document; `where` names the file in messages. Collects problems. Raises MalformedError for an
    unreadable document."""

    def __init__(self, where: str) -> None:
        self.where = where
        self.diagnostics: list[Diagnostic] = []
        self._known: dict[Callable[[str], Any], dict[str, str | None]] = {}

    def problem(self, code: str, summary: str, detail: str) -> None:
        self.diagnostics.append(error(code, summary, detail))

    def state(self, root: dict[str, Any]) -> State:
        resources: dict[str, ResourceState] = {}
        for i, raw in enumerate(as_list(root, "resources", "the state")):
            resource = self.resource(as_object(raw, f"resources[{i}]"), f"resources[{i}]")
            if resource is not None:
                self.add(resources, resource)
        return State(
            resources=resources,
            outputs=self.outputs(root),
            serial=as_whole(root, "serial", "the state"),
            lineage=as_text(root, "lineage", "the state"),
            terraform_version=self.writer(as_text(root, "terraform_version", "the state")),
            check_results=self.check_results(root.get("check_results")),
        )

    def writer(self, version: str) -> str:
        """Check the version of the program that wrote the file, and return it unchanged."""
        if version and not version.replace(".", "0").isdecimal():
            try:
                Version(version)
            except ValueError:
                detail = f'{self.where} was written by version "{version}", which is not a valid version.'
                self.problem("state.invalid_version", "Invalid version in state", detail)
        return version

    def add(self, resources: dict[str, ResourceState], resource: ResourceState) -> None:
        """Add a resource. A file may list a resource several times, but each object only once."""
        address = resource.address
        before = resources.get(address)
        if before is None:
            resources[address] = resource
            return
        merged = dict(before.instances)
        for key, instance in resource.instances.items():
            old = merged.get(key)
            if old is None:
                merged[key] = instance
            elif old.current and instance.current:
                self.duplicate(f"{address}{format_key(key)}")
            else:
                deposed = {**old.deposed, **instance.deposed}
                merged[key] = evolve(old, current=old.current or instance.current, deposed=deposed)
        resources[address] = evolve(before, instances=_in_order(merged))

    def duplicate(self, what: str) -> None:
        self.problem("state.duplicate_instance", "Duplicate resource instance in state", f"{what} occurs twice.")

    def resource(self, raw: dict[str, Any], place: str) -> ResourceState | None:
        module = self.address(parse_module, as_text(raw, "module", place))
        mode, type_, name = (as_text(raw, k, place) for k in ("mode", "type", "name"))
        if mode not in ("managed", "data"):
            self.problem(
                "state.invalid_mode",
                "Invalid resource mode in state",
                f'{self.where} has {type_}.{name} with mode "{mode}"; a state can contain only managed and data '
                "resources.",
            )
            return None
        if module is None:
            return None
        if not (valid_identifier(type_) and valid_identifier(name)):
            self.problem(
                "state.invalid_name",
                "Invalid resource name in state",
                f'{place} of {self.where} has the type "{type_}" and the name "{name}"; both must be identifiers.',
            )
            return None
        address = f"{module}{'.' if module else ''}{'data.' if mode == 'data' else ''}{type_}.{name}"
        provider = self.address(parse_provider_configuration, as_text(raw, "provider", place))
        current: dict[InstanceKey, ObjectState] = {}
        deposed: dict[InstanceKey, dict[str, ObjectState]] = {}
        provider_keys: dict[InstanceKey, InstanceKey] = {}
        for i, instance in enumerate(as_list(raw, "instances", place)):
            place_i = f"{place}.instances[{i}]"
            instance = as_object(instance, place_i)
            key = self.key(instance, address)
            if "provider" in instance:
                provider = self.instance_provider(instance, provider, key, provider_keys, address, place_i) or provider
            self.object(instance, address, key, current, deposed, place_i)
        if not provider and not self.diagnostics:
            self.problem(
                "state.provider_missing", "Provider missing in state", f"{address} does not name its provider."
            )
        instances = {
            key: InstanceState(key, current.get(key), deposed.get(key, {}), provider_keys.get(key))
            for key in {**current, **deposed}
        }
        return ResourceState(module, mode, type_, name, provider or "", _in_order(instances))

    def instance_provider(
        self,
        instance: dict[str, Any],
        provider: str | None,
        key: InstanceKey,
        keys: dict[InstanceKey, InstanceKey],
        address: str,
        place: str,
    ) -> str | None:
        text = as_text(instance, "provider", place)
        try:
            parsed = parse_provider_configuration(text)
        except AddressError as e:
            self.invalid_address(text, e)
            return None
        own = str(evolve(parsed, key=None))
        keys[key] = parsed.key
        if provider and provider != own:
            self.problem(
                "state.provider_conflict",
                "Conflicting providers in state",
                f"The instances of {address} name different providers: {provider} and {own}.",
            )
        return own

    def key(self, instance: dict[str, Any], address: str) -> InstanceKey:
        key = instance.get("index_key")
        if key is None or key.__class__ is str or (key.__class__ is int and key >= 0):
            return key
        if not isinstance(key, bool) and isinstance(key, float) and key.is_integer() and key >= 0:
            return int(key)
        raise MalformedError(f"{address} has the instance key {key!r}, which is neither a string nor a whole number")

    def object(
        self,
        raw: dict[str, Any],
        address: str,
        key: InstanceKey,
        current: dict[InstanceKey, ObjectState],
        deposed: dict[InstanceKey, dict[str, ObjectState]],
        place: str,
    ) -> None:
        status = raw.get("status") or ""
        if status not in ("", "tainted"):
            self.problem(
                "state.invalid_status",
                "Invalid resource instance in state",
                f'{address}{format_key(key)} has the status "{status}"; the only valid status is tainted.',
            )
            return
        flat = raw.get("attributes_flat")
        attributes = raw.get("attributes")
        obj = ObjectState(
            attributes={} if attributes is None else as_object(attributes, f"{place}.attributes"),
            schema_version=as_whole(raw, "schema_version", place),
            tainted=status == "tainted",
            sensitive_paths=self.paths(raw.get("sensitive_attributes"), place),
            private=as_text(raw, "private", place) or None,
            dependencies=self.dependencies(raw, place),
            create_before_destroy=raw.get("create_before_destroy") is True,
            skip_destroy=raw.get("skip_destroy") is True,
            identity=raw.get("identity"),
            identity_schema_version=as_whole(raw, "identity_schema_version", place),
            attributes_flat=None if attributes is not None or flat is None else as_object(flat, place),
        )
        mark = as_text(raw, "deposed", place)
        if not mark:
            if key in current:
                self.duplicate(f"{address}{format_key(key)}")
            current[key] = obj
            return
        if len(mark) != 8:
            self.problem(
                "state.invalid_deposed_key",
                "Invalid resource instance in state",
                f'{address}{format_key(key)} has a deposed object with the key "{mark}"; deposed keys must have 8 '
                "characters.",
            )
        if mark in deposed.setdefault(key, {}):
            self.duplicate(f"{address}{format_key(key)} (deposed object {mark})")
        deposed[key][mark] = obj

    def dependencies(self, raw: dict[str, Any], place: str) -> tuple[str, ...]:
        texts = raw.get("dependencies")
        if not texts:
            return ()
        texts = as_list(raw, "dependencies", place)
        if not all(text.__class__ is str for text in texts):
            raise MalformedError(f"{place}.dependencies must contain addresses")
        known = self._known.setdefault(_config_resource, {})
        addresses = [known[text] if text in known else self.address(_config_resource, text) for text in texts]
        return tuple(address for address in addresses if address is not None)

    def paths(self, raw: Any, place: str) -> tuple[Any, ...]:
        if not raw:
            return ()
        if not isinstance(raw, list) or not all(isinstance(p, list) for p in raw):
            raise MalformedError(f"{place}.sensitive_attributes must be a list of paths")
        return tuple(tuple(_path_step(step, place) for step in path) for path in raw)

    def outputs(self, root: dict[str, Any]) -> dict[str, OutputState]:
        raw = root.get("outputs")
        if not raw:
            return {}
        return self._outputs(raw)

    def _outputs(self, raw: Any) -> dict[str, OutputState]:
        states = {}
        for name, output in sorted(as_object(raw, "outputs").items()):
            output = as_object(output, f"outputs.{name}")
            try:
                type_ = type_from_json(output.get("type"))
                value = from_json(output.get("value"), type_)
            except ValueError as e:
                self.problem(
                    "state.invalid_output",
                    "Invalid output value in state",
                    f'The value or type of the output "{name}" cannot be read: {e}.',
                )
                continue
            deprecated = as_text(output, "deprecated", f"outputs.{name}") or None
            states[name] = OutputState(value, type_, output.get("sensitive") is True, deprecated)
        return states

    def check_results(self, raw: Any) -> list[dict[str, Any]] | None:
        """The results of checks as the state contains them; None if it contains none. Unknown kinds are dropped;
        unknown statuses become "unknown". Raises MalformedError."""
        if raw is None:
            return None
        if not isinstance(raw, list):
            raise MalformedError("check_results must be a list")
        results = []
        for i, item in enumerate(raw):
            item = as_object(item, f"check_results[{i}]")
            if item.get("object_kind") not in _CHECK_KINDS:
                continue
            objects = [_check_object(as_object(o, "check_results")) for o in as_list(item, "objects", "check_results")]
            results.append(
                {
                    "object_kind": item["object_kind"],
                    "config_addr": as_text(item, "config_addr", f"check_results[{i}]"),
                    "status": _check_status(item),
                    "objects": objects or None,
                }
            )
        return results

    def address(self, parse: Callable[[str], Any], text: str) -> str | None:
        """The address in its normal form, parsed once per file. None if it is invalid (reported)."""
        known = self._known.setdefault(parse, {})
        if text in known:
            return known[text]
        normal: str | None = None
        try:
            normal = str(parse(text)) if text else ""
        except AddressError as e:
            self.invalid_address(text, e)
        known[text] = normal
        return normal

    def invalid_address(self, text: str, e: AddressError) -> None:
        self.problem(
            "state.invalid_address",
            "Invalid address in state",
            f'{self.where} names the object "{text}", which is not a valid address. {e.detail}',
        )


def _config_resource(text: str) -> Any:
    return parse_resource_instance(text).config


def _path_step(step: Any, place: str) -> tuple[str, Any]:
    if isinstance(step, dict):
        value = step.get("value")
        if step.get("type") == "get_attr" and isinstance(value, str):
            return ("attr", value)
        if step.get("type") == "index":
            key = value.get("value") if isinstance(value, dict) else value
            if isinstance(key, str | int) and not isinstance(key, bool):
                return ("index", key)
    raise MalformedError(f"{place}.sensitive_attributes has a step of an unknown kind")


def _check_status(raw: dict[str, Any]) -> str:
    status = raw.get("status")
    return status if status in _STATUSES else "unknown"


def _check_object(raw: dict[str, Any]) -> dict[str, Any]:
    document: dict[str, Any] = {
        "object_addr": as_text(raw, "object_addr", "check_results"),
        "status": _check_status(raw),
    }
    messages = as_list(raw, "failure_messages", "check_results")
    if messages:
        document["failure_messages"] = [str(m) for m in messages]
    return document


def _in_order(instances: dict[InstanceKey, InstanceState]) -> dict[InstanceKey, InstanceState]:
    if len(instances) < 2:
        return instances
    return {key: instances[key] for key in sorted(instances, key=key_order)}


# Parts of a state file, checked for the required type.


LARGEST = (1 << 63) - 1  # serials and versions must be smaller, so that each has a successor


class MalformedError(Exception):
    """A part of the file has the wrong type; the message names the part and the problem."""


def as_object(raw: Any, place: str) -> dict[str, Any]:
    """A value that must be an object. Raises MalformedError."""
    if raw.__class__ is dict:
        return raw
    raise MalformedError(f"{place} must be an object")


def as_list(raw: dict[str, Any], key: str, place: str) -> list[Any]:
    """A member that must be a list; empty if missing. Raises MalformedError."""
    value = raw.get(key)
    if value is None:
        return []
    if value.__class__ is list:
        return value
    raise MalformedError(f'"{key}" of {place} must be a list')


def as_text(raw: dict[str, Any], key: str, place: str) -> str:
    """A member that must be a string; "" if missing. Raises MalformedError."""
    value = raw.get(key)
    if value is None:
        return ""
    if value.__class__ is str:
        return value
    raise MalformedError(f'"{key}" of {place} must be a string')


def as_whole(raw: dict[str, Any], key: str, place: str) -> int:
    """A member that must be a whole number, at least 0 and less than LARGEST; 0 if missing or null. Raises
    MalformedError."""
    value = raw.get(key, 0)
    if value is None:
        return 0
    if value.__class__ is int and 0 <= value < LARGEST:
        return value
    raise MalformedError(f'"{key}" of {place} must be a whole number')
