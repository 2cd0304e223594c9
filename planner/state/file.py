"""State files of version 4: bytes to State and back, with every problem of a file as a diagnostic.

Written in OpenTofu's order: resources by module, mode, type and name; instances by key, the current object before the
deposed ones; outputs by name. Reading and writing a file that OpenTofu wrote gives the same bytes.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from attrs import evolve

from planner.language.types import type_from_json, type_to_json
from planner.state.model import InstanceKey, InstanceState, ObjectState, OutputState, ResourceState, State
from planner.vocabulary.address import AddressError, format_key, key_order, parse_module, parse_resource_instance
from planner.vocabulary.collector import collector_paused
from planner.vocabulary.diagnostic import Diagnostic, error, has_errors
from planner.vocabulary.exact_json import JsonError, dumps, loads
from planner.vocabulary.provider_address import parse_provider_configuration
from planner.vocabulary.version import COMPATIBLE_VERSION

_STATUSES = ("pass", "fail", "error")
_CHECK_KINDS = ("resource", "output", "check", "var")


class _MalformedError(Exception):
    """Something in the file has the wrong shape; the text says where and what."""


# ---------------------------------------------------------------- reading


def read_state(data: bytes, name: str = "") -> tuple[State | None, list[Diagnostic]]:
    """The state in a file's bytes and the problems found. None for an empty file, and whenever there are errors.

    `name` is the file's name for the messages."""
    if not data:
        return None, []
    where = f"The state file {name}" if name else "The state"
    with collector_paused():
        return _read(data, where)


def _read(data: bytes, where: str) -> tuple[State | None, list[Diagnostic]]:
    try:
        root = loads(data)
    except JsonError as e:
        return None, [_unsupported(f"{where} is not valid JSON: {e.reason}, at byte offset {e.offset}.")]
    problem = _version_problem(root, where)
    if problem:
        return None, [_unsupported(problem)]
    reader = _Reader(where)
    try:
        state = reader.state(root)
    except _MalformedError as e:
        reader.problem("state.malformed", "Invalid state file", f"{where} is damaged: {e}.")
        return None, reader.diagnostics
    return (None if has_errors(reader.diagnostics) else state), reader.diagnostics


def _unsupported(detail: str) -> Diagnostic:
    return error("state.unsupported_format", "Unsupported state file format", detail)


def _version_problem(root: Any, where: str) -> str | None:
    if not isinstance(root, dict):
        return f"{where} holds no JSON object."
    version = root.get("version")
    if version is None:
        if "encrypted_data" in root:
            return f"{where} is encrypted, and no encryption is configured to read it."
        return f'{where} has no "version", which says how to read the rest.'
    if not isinstance(version, int) or isinstance(version, bool) or version < 0:
        return f"The version of {where[0].lower()}{where[1:]} is not a whole number."
    if version == 4:
        return None
    if version < 4:
        return (
            f"{where} has format version {version}, which is too old to read. Let OpenTofu or Terraform 1.x upgrade it "
            "once (any command that writes the state does), then try again."
        )
    writer = root.get("terraform_version")
    by = f" It was written by version {writer}." if isinstance(writer, str) and writer else ""
    return f"{where} has format version {version}; the newest that can be read is 4.{by}"


class _Reader:
    def __init__(self, where: str) -> None:
        self.where = where
        self.diagnostics: list[Diagnostic] = []
        self._known: dict[tuple[Callable[[str], Any], str], str | None] = {}

    def problem(self, code: str, summary: str, detail: str) -> None:
        self.diagnostics.append(error(code, summary, detail))

    def state(self, root: dict[str, Any]) -> State:
        resources: dict[str, ResourceState] = {}
        for i, raw in enumerate(_list(root, "resources", "the state")):
            resource = self.resource(_object(raw, f"resources[{i}]"), f"resources[{i}]")
            if resource is not None:
                self.add(resources, resource)
        return State(
            resources=resources,
            outputs=self.outputs(root),
            serial=_whole(root, "serial", "the state"),
            lineage=_text(root, "lineage", "the state"),
            terraform_version=_text(root, "terraform_version", "the state"),
            check_results=self.check_results(root.get("check_results")),
        )

    def add(self, resources: dict[str, ResourceState], resource: ResourceState) -> None:
        """The same resource may stand in a file several times, as long as no object does."""
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
        self.problem("state.duplicate_instance", "Duplicate resource instance in state", f"{what} stands there twice.")

    def resource(self, raw: dict[str, Any], place: str) -> ResourceState | None:
        module = self.address(parse_module, _text(raw, "module", place))
        mode, type_, name = (_text(raw, k, place) for k in ("mode", "type", "name"))
        if mode not in ("managed", "data"):
            self.problem(
                "state.invalid_mode",
                "Invalid resource mode in state",
                f'{self.where} has {type_}.{name} with mode "{mode}"; only managed and data resources are kept.',
            )
            return None
        if module is None:
            return None
        address = f"{module}{'.' if module else ''}{'data.' if mode == 'data' else ''}{type_}.{name}"
        provider = self.address(_provider, _text(raw, "provider", place))
        current: dict[InstanceKey, ObjectState] = {}
        deposed: dict[InstanceKey, dict[str, ObjectState]] = {}
        provider_keys: dict[InstanceKey, InstanceKey] = {}
        for i, instance in enumerate(_list(raw, "instances", place)):
            place_i = f"{place}.instances[{i}]"
            instance = _object(instance, place_i)
            key = self.key(instance, address)
            if "provider" in instance:
                provider = self.instance_provider(instance, provider, key, provider_keys, address, place_i) or provider
            self.object(instance, address, key, current, deposed, place_i)
        if not provider and not self.diagnostics:
            self.problem(
                "state.provider_missing", "Provider missing in state", f"{address} does not say which provider owns it."
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
        text = _text(instance, "provider", place)
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
        if key is None or key.__class__ is str or key.__class__ is int:
            return key
        if not isinstance(key, bool) and isinstance(key, float) and key.is_integer():
            return int(key)
        raise _MalformedError(f"{address} has the instance key {key!r}, which is neither a string nor a whole number")

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
                f'{address}{format_key(key)} has the status "{status}"; only tainted is known.',
            )
            return
        flat = raw.get("attributes_flat")
        attributes = raw.get("attributes")
        obj = ObjectState(
            attributes={} if attributes is None else _object(attributes, f"{place}.attributes"),
            schema_version=_whole(raw, "schema_version", place),
            tainted=status == "tainted",
            sensitive_paths=self.paths(raw.get("sensitive_attributes"), place),
            private=_text(raw, "private", place) or None,
            dependencies=self.dependencies(raw, place),
            create_before_destroy=raw.get("create_before_destroy") is True,
            skip_destroy=raw.get("skip_destroy") is True,
            identity=raw.get("identity"),
            identity_schema_version=_whole(raw, "identity_schema_version", place),
            attributes_flat=None if attributes is not None or flat is None else _object(flat, place),
        )
        mark = _text(raw, "deposed", place)
        if not mark:
            if key in current:
                self.duplicate(f"{address}{format_key(key)}")
            current[key] = obj
            return
        if len(mark) != 8:
            self.problem(
                "state.invalid_deposed_key",
                "Invalid resource instance in state",
                f'{address}{format_key(key)} has a deposed object with the key "{mark}"; such keys have 8 characters.',
            )
        if mark in deposed.setdefault(key, {}):
            self.duplicate(f"{address}{format_key(key)} (deposed object {mark})")
        deposed[key][mark] = obj

    def dependencies(self, raw: dict[str, Any], place: str) -> tuple[str, ...]:
        texts = raw.get("dependencies")
        if not texts:
            return ()
        found = []
        for text in _list(raw, "dependencies", place):
            if not isinstance(text, str):
                raise _MalformedError(f"{place}.dependencies must hold addresses")
            known = self.address(_config_resource, text)
            if known is not None:
                found.append(known)
        return tuple(found)

    def paths(self, raw: Any, place: str) -> tuple[Any, ...]:
        if not raw:
            return ()
        if not isinstance(raw, list) or not all(isinstance(p, list) for p in raw):
            raise _MalformedError(f"{place}.sensitive_attributes must be a list of paths")
        return tuple(tuple(_path_step(step, place) for step in path) for path in raw)

    def outputs(self, root: dict[str, Any]) -> dict[str, OutputState]:
        raw = root.get("outputs")
        if not raw:
            return {}
        from planner.language.json_codec import from_json

        found = {}
        for name, output in sorted(_object(raw, "outputs").items()):
            output = _object(output, f"outputs.{name}")
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
            deprecated = _text(output, "deprecated", f"outputs.{name}") or None
            found[name] = OutputState(value, type_, output.get("sensitive") is True, deprecated)
        return found

    def check_results(self, raw: Any) -> list[dict[str, Any]] | None:
        """Kinds that this version does not know are dropped; unknown statuses count as "unknown"."""
        if raw is None:
            return None
        if not isinstance(raw, list):
            raise _MalformedError("check_results must be a list")
        found = []
        for i, item in enumerate(raw):
            item = _object(item, f"check_results[{i}]")
            if item.get("object_kind") not in _CHECK_KINDS:
                continue
            objects = [_check_object(_object(o, "check_results")) for o in _list(item, "objects", "check_results")]
            found.append(
                {
                    "object_kind": item["object_kind"],
                    "config_addr": _text(item, "config_addr", f"check_results[{i}]"),
                    "status": _check_status(item),
                    "objects": objects or None,
                }
            )
        return found

    def address(self, parse: Callable[[str], Any], text: str) -> str | None:
        """The normal text of an address, parsed once per file; None (and a diagnostic) when it is none."""
        if (parse, text) in self._known:
            return self._known[(parse, text)]
        normal: str | None = None
        try:
            normal = str(parse(text)) if text else ""
        except AddressError as e:
            self.invalid_address(text, e)
        self._known[(parse, text)] = normal
        return normal

    def invalid_address(self, text: str, e: AddressError) -> None:
        self.problem(
            "state.invalid_address",
            "Invalid address in state",
            f'{self.where} names the object "{text}", which is no address. {e.detail}',
        )


def _provider(text: str) -> Any:
    return parse_provider_configuration(text)


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
    raise _MalformedError(f"{place}.sensitive_attributes has a step of an unknown kind")


def _check_status(raw: dict[str, Any]) -> str:
    status = raw.get("status")
    return status if status in _STATUSES else "unknown"


def _check_object(raw: dict[str, Any]) -> dict[str, Any]:
    found: dict[str, Any] = {
        "object_addr": _text(raw, "object_addr", "check_results"),
        "status": _check_status(raw),
    }
    messages = _list(raw, "failure_messages", "check_results")
    if messages:
        found["failure_messages"] = [str(m) for m in messages]
    return found


def _in_order(instances: dict[InstanceKey, InstanceState]) -> dict[InstanceKey, InstanceState]:
    if len(instances) < 2:
        return instances
    return {key: instances[key] for key in sorted(instances, key=key_order)}


def _object(raw: Any, place: str) -> dict[str, Any]:
    if raw.__class__ is dict:
        return raw
    raise _MalformedError(f"{place} must be an object")


def _list(raw: dict[str, Any], key: str, place: str) -> list[Any]:
    value = raw.get(key)
    if value is None:
        return []
    if value.__class__ is list:
        return value
    raise _MalformedError(f'"{key}" of {place} must be a list')


def _text(raw: dict[str, Any], key: str, place: str) -> str:
    value = raw.get(key)
    if value is None:
        return ""
    if value.__class__ is str:
        return value
    raise _MalformedError(f'"{key}" of {place} must be a string')


def _whole(raw: dict[str, Any], key: str, place: str) -> int:
    value = raw.get(key, 0)
    if value is None:
        return 0
    if value.__class__ is int and value >= 0:
        return value
    raise _MalformedError(f'"{key}" of {place} must be a whole number')


# ---------------------------------------------------------------- writing


def write_state(state: State) -> bytes:
    """The bytes of a state file, indented, ending with a line break."""
    with collector_paused():
        return dumps(state_document(state), indent=True) + b"\n"


def state_document(state: State) -> dict[str, Any]:
    """The state as the JSON object of a version 4 file, keys in the file's order; the version is our own."""
    outputs = {name: _output(state.outputs[name]) for name in sorted(state.outputs)}
    kept = (r for r in state.resources.values() if r.mode != "ephemeral")
    return {
        "version": 4,
        "terraform_version": COMPATIBLE_VERSION,
        "serial": state.serial,
        "lineage": state.lineage,
        "outputs": outputs,
        "resources": [_resource(r) for r in sorted(kept, key=lambda r: (r.module, r.mode, r.type, r.name))],
        "check_results": _check_results(state.check_results),
    }


def same_content(a: State | None, b: State | None) -> bool:
    """Whether two states say the same, whatever their serial and lineage."""
    if a is None or b is None:
        return a is b
    if a is b:
        return True
    with collector_paused():
        first, second = (dumps({**state_document(s), "serial": 0, "lineage": ""}) for s in (a, b))
    return first == second


def _output(output: OutputState) -> dict[str, Any]:
    from planner.language.json_codec import to_json

    raw = {"value": to_json(output.value, output.type), "type": type_to_json(output.type)}
    if output.sensitive:
        raw["sensitive"] = True
    if output.deprecated:
        raw["deprecated"] = output.deprecated
    return raw


def _resource(resource: ResourceState) -> dict[str, Any]:
    raw: dict[str, Any] = {"module": resource.module} if resource.module else {}
    raw.update(mode=resource.mode, type=resource.type, name=resource.name)
    keyed = any(i.provider_key is not None for i in resource.instances.values())
    if not keyed:
        raw["provider"] = resource.provider
    objects = []
    for key in sorted(resource.instances, key=key_order):
        instance = resource.instances[key]
        provider = f"{resource.provider}{format_key(instance.provider_key)}" if keyed else None
        if instance.current is not None:
            objects.append(_object_json(key, "", provider, instance.current))
        for deposed in sorted(instance.deposed):
            objects.append(_object_json(key, deposed, provider, instance.deposed[deposed]))
    raw["instances"] = objects
    return raw


def _object_json(key: InstanceKey, deposed: str, provider: str | None, obj: ObjectState) -> dict[str, Any]:
    raw: dict[str, Any] = {}
    if key is not None:
        raw["index_key"] = key
    if obj.tainted:
        raw["status"] = "tainted"
    if deposed:
        raw["deposed"] = deposed
    if provider:
        raw["provider"] = provider
    raw["schema_version"] = obj.schema_version
    if obj.attributes_flat is None:
        raw["attributes"] = obj.attributes
    elif obj.attributes_flat:
        raw["attributes_flat"] = dict(sorted(obj.attributes_flat.items()))
    raw["sensitive_attributes"] = [[_step_json(step) for step in path] for path in obj.sensitive_paths]
    if obj.private:
        raw["private"] = obj.private
    if obj.dependencies:
        raw["dependencies"] = obj.dependencies
    if obj.create_before_destroy:
        raw["create_before_destroy"] = True
    if obj.skip_destroy:
        raw["skip_destroy"] = True
    if obj.identity is not None:
        raw["identity"] = obj.identity
        raw["identity_schema_version"] = obj.identity_schema_version
    return raw


def _step_json(step: tuple[str, Any]) -> dict[str, Any]:
    kind, value = step
    if kind == "attr":
        return {"type": "get_attr", "value": value}
    return {"type": "index", "value": {"value": value, "type": "string" if isinstance(value, str) else "number"}}


def _check_results(results: list[dict[str, Any]] | None) -> list[dict[str, Any]] | None:
    if not results:
        return None
    return sorted(results, key=lambda r: (r["object_kind"], r["config_addr"]))
