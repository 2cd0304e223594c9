"""State files of versions 1 to 3, which Terraform wrote before 0.12, as version 4 documents.

Old files have one entry for each instance, with attributes as strings in one flat map. Only the provider can convert
the map to values, so version 4 keeps it as `attributes_flat`. Each step is the same as in OpenTofu."""

from __future__ import annotations

import base64
import re
from decimal import Decimal
from typing import Any

from planner.foundation.support.exact_json import dumps
from planner.foundation.values.types import (
    BOOL,
    DYNAMIC,
    NUMBER,
    STRING,
    ListType,
    MapType,
    ObjectType,
    TupleType,
    Type,
    type_to_json,
)
from planner.foundation.vocabulary.address import AddressError, TraversalStep, scan_traversal, valid_identifier
from planner.world.state.reader import MalformedError, as_list, as_object, as_text, as_whole

_WHOLE = re.compile(r"([+-]?)(0[xX][0-9a-fA-F_]+|0[bB][01_]+|0[oO]?[0-7_]+|[1-9][0-9_]*|0)")


def upgrade(root: dict[str, Any]) -> dict[str, Any]:
    """A document of version 1, 2 or 3 as version 4. Raises MalformedError."""
    version = root["version"]
    serial = as_whole(root, "serial", "the state")
    resources: list[dict[str, Any]] = []
    outputs: dict[str, Any] = {}
    for i, raw in enumerate(as_list(root, "modules", "the state")):
        place = f"modules[{i}]"
        module = as_object(raw, place)
        path = _module_calls(module, place, version)
        for resource in _resources(module, path, place, version):
            resource["module"] = ".".join(f"module.{name}" for name in path)
            resources.append(resource)
        if not path:
            outputs |= _outputs(module, place, version)
    return {
        "version": 4,
        "terraform_version": (version > 1 and as_text(root, "terraform_version", "the state")) or "0.0.0",
        "serial": serial,
        "lineage": "" if version == 1 else as_text(root, "lineage", "the state"),
        "outputs": outputs,
        "resources": resources,
    }


def _module_calls(module: dict[str, Any], place: str, version: int) -> list[str]:
    path = as_list(module, "path", place)
    if not path and version == 1:
        return []
    if not path or path[0] != "root" or not all(name.__class__ is str and valid_identifier(name) for name in path[1:]):
        raise MalformedError(
            f"{place}.path is not a valid module path: expected root, followed by the names of module calls"
        )
    return path[1:]


# ---------------------------------------------------------------- resources


def _resources(module: dict[str, Any], path: list[str], place: str, version: int) -> list[dict[str, Any]]:
    """The resources of an old module as entries of version 4. All instances of a resource receive the provider of the
    first instance in the order of the old addresses. Raises MalformedError."""
    resources: dict[tuple[str, ...], dict[str, Any]] = {}
    for address, raw in sorted(_map(module, "resources", place).items()):
        where = f'{place}.resources["{address}"]'
        old = as_object(raw, where)
        mode, type_, name, key = _address(address)
        resource = resources.get((mode, type_, name))
        if resource is None:
            provider = _provider(as_text(old, "provider", where), type_, path, where)
            resource = {"mode": mode, "type": type_, "name": name, "provider": provider, "instances": []}
            resources[mode, type_, name] = resource
        objects = [] if old.get("primary") is None else [("", old["primary"])]
        objects += [(f"{i + 1:08x}", deposed) for i, deposed in enumerate(as_list(old, "deposed", where))]
        for deposed, instance in objects:
            resource["instances"].append(_instance(as_object(instance, where), key, deposed, where, version))
    return list(resources.values())


def _address(text: str) -> tuple[str, str, str, int | None]:
    """Mode, type, name and key of `TYPE.NAME`, `TYPE.NAME.3`, `data.TYPE.NAME` or `data.TYPE.NAME.3`. Raises
    MalformedError."""
    parts = text.split(".")
    mode = "data" if len(parts) > 2 and parts[0] == "data" else "managed"
    names = parts[1:] if mode == "data" else parts
    if not 2 <= len(names) <= 3 or names[0] == "data":
        raise MalformedError(f'"{text}" is not a valid address of a resource')
    if len(names) == 2:
        return mode, names[0], names[1], None
    match = _WHOLE.fullmatch(names[2])
    if match is None:
        raise MalformedError(f'"{text}" is not a valid address of a resource: "{names[2]}" is not a whole number')
    digits = match[2].replace("_", "")
    octal = len(digits) > 1 and digits[0] == "0" and digits[1].isdigit()
    return mode, names[0], names[1], int(match[1] + digits, 8 if octal else 0)


def _provider(text: str, type_: str, path: list[str], place: str) -> str:
    """The reference to a provider configuration, as in version 4: `provider.TYPE` or `provider.TYPE.ALIAS`, prefixed
    with the module. Before version 3, states had only the local name, or none. Raises MalformedError."""
    here = "".join(f"module.{name}." for name in path)
    if not text:
        return f"{here}provider.{type_.partition('_')[0]}"
    if "provider." in text:
        return text
    try:
        steps: list[TraversalStep] = scan_traversal(text)
    except AddressError as e:
        raise MalformedError(f'{place}.provider, "{text}", is not a valid name of a provider') from e
    if any(step.is_index for step in steps[:2]):
        raise MalformedError(f'{place}.provider, "{text}", is not a valid name of a provider')
    return f"{here}provider." + ".".join(str(step.value) for step in steps[:2])


def _instance(old: dict[str, Any], key: int | None, deposed: str, place: str, version: int) -> dict[str, Any]:
    texts = _texts(old, "attributes", place)
    attributes = None if old.get("attributes") is None else texts
    if attributes and version < 3:
        _mark_maps(attributes)
    id_ = as_text(old, "id", place)
    if id_ and not (attributes or {}).get("id"):
        attributes = {**(attributes or {}), "id": id_}
    meta = _texts(old, "meta", place) if version == 1 else {**_map(old, "meta", place)}
    upgraded: dict[str, Any] = {"schema_version": _schema_version(meta)}
    if meta:
        upgraded["private"] = base64.b64encode(dumps(_round_numbers(meta))).decode()
    if version > 1 and old.get("tainted") is True:
        upgraded["status"] = "tainted"
    if key is not None:
        upgraded["index_key"] = key
    if deposed:
        upgraded["deposed"] = deposed
    if attributes is not None:
        upgraded["attributes_flat"] = attributes
    return upgraded


def _schema_version(meta: dict[str, Any]) -> int:
    """Remove the schema version from the provider's private data, and return it; 0 if it is missing or invalid."""
    raw = meta.get("schema_version")
    if raw.__class__ is str and raw.isascii() and raw.isdigit() and int(raw) < 1 << 64:
        del meta["schema_version"]
        return int(raw)
    if raw.__class__ in (int, float, Decimal) and raw >= 0:
        del meta["schema_version"]
        return int(raw)
    return 0


def _mark_maps(attributes: dict[str, str]) -> None:
    """Replace the suffix `#` by `%` in the key of each map's count; counts of lists and sets keep `#`. Counts of empty
    collections are removed, because their kind is unknown."""
    for prefix in sorted(name[:-1] for name in attributes if name.endswith(".#")):
        below = (name[len(prefix) :] for name in attributes if name.startswith(prefix))
        keys = {rest.partition(".")[0] if rest[0:1] != "." else rest for rest in below if rest != "#"}
        if not keys:
            del attributes[f"{prefix}#"]
        elif any(re.fullmatch(r"[+-]?[0-9]+", key) is None for key in keys):
            attributes[f"{prefix}%"] = attributes.pop(f"{prefix}#")


# ---------------------------------------------------------------- outputs


def _outputs(module: dict[str, Any], place: str, version: int) -> dict[str, Any]:
    if version == 1:
        return {name: {"value": text, "type": "string"} for name, text in _texts(module, "outputs", place).items()}
    outputs = {}
    for name, raw in _map(module, "outputs", place).items():
        output = as_object(raw, f'{place}.outputs["{name}"]')
        value = _round_numbers(output.get("value"))
        type_ = type_to_json(_collection_type(_implied_type(value)))
        outputs[name] = {"value": value, "type": type_, "sensitive": output.get("sensitive") is True}
    return outputs


def _implied_type(value: Any) -> Type:
    if value is None:
        return DYNAMIC
    if value.__class__ is dict:
        return ObjectType({name: _implied_type(part) for name, part in value.items()})
    if value.__class__ is list:
        return TupleType(tuple(map(_implied_type, value)))
    return BOOL if value.__class__ is bool else STRING if value.__class__ is str else NUMBER


def _collection_type(type_: Type) -> Type:
    """A list or map type if all elements have one type: these versions had neither tuple types nor object types."""
    parts: list[Type] = []
    if isinstance(type_, ObjectType):
        parts = list(type_.attributes.values())
    elif isinstance(type_, TupleType):
        parts = list(type_.elements)
    if not parts or any(part != parts[0] for part in parts):
        return type_
    part = _collection_type(parts[0])
    return MapType(part) if isinstance(type_, ObjectType) else ListType(part)


def _round_numbers(value: Any) -> Any:
    """The value with numbers rounded to float64, and with the members of objects sorted."""
    if value.__class__ is dict:
        return {name: _round_numbers(part) for name, part in sorted(value.items())}
    if value.__class__ is list:
        return [_round_numbers(part) for part in value]
    if value.__class__ in (float, Decimal) or (value.__class__ is int and abs(value) > 1 << 53):
        return Decimal(repr(float(value)))
    return value


# ---------------------------------------------------------------- shapes


def _map(raw: dict[str, Any], key: str, place: str) -> dict[str, Any]:
    value = raw.get(key)
    return {} if value is None else as_object(value, f"{place}.{key}")


def _texts(raw: dict[str, Any], key: str, place: str) -> dict[str, str]:
    members = _map(raw, key, place)
    return {name: as_text(members, name, f"{place}.{key}") for name in members}
