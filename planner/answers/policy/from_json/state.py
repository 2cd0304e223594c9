"""Converts a state, from `show -json` or from a state file of version 4, to a plan without changes, which policies can
check."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from typing import Any

from planner.answers.policy.from_json.configuration import ShownConfiguration
from planner.answers.policy.from_json.document import Document, Misshapen, objects, table, text
from planner.foundation.vocabulary.address import AddressError, format_key, join
from planner.foundation.vocabulary.provider_address import parse_provider_configuration
from planner.logic.model.plan import OutputChange, Plan, ResourceChange
from planner.logic.programs.actions import NO_OP
from planner.world.state.model import State

Entry = tuple[str, ResourceChange]


def plan_of_state(document: Document, configuration: ShownConfiguration) -> Plan:
    """The plan that contains the objects and outputs of a state and changes nothing. Raises Misshapen."""
    is_file = document.kind == "state file"
    changes = list(_of_file(document) if is_file else _shown_objects(document, configuration))
    seen: set[tuple[str, str]] = set()
    for change in changes:
        if (change.address, change.deposed) in seen:
            raise Misshapen("resources", f"a second entry for {change.address[:200]}")
        seen.add((change.address, change.deposed))
    outputs = table(document.root if is_file else table(document.root, "values", ""), "outputs", "")
    shown = []
    for name in sorted(outputs):
        entry = table(outputs, name, "outputs")
        secret = entry.get("sensitive") is True
        value = (entry.get("value"), None, True if secret else None)
        shown.append(OutputChange(name, NO_OP, value, value, secret))
    return Plan("normal", tuple(changes), (), tuple(shown), State(), State(), None, {})


def _stored_object(
    address: str, module: str, mode: str, type_: str, name: str, deposed: str, provider: str, value: Any, secret: Any
) -> ResourceChange:
    now = (value, None, secret)
    return ResourceChange(address, address, module, mode, type_, name, None, deposed, provider, NO_OP, "", now, now)


# ---------------------------------------------------------------- show -json


def _shown_objects(document: Document, configuration: ShownConfiguration) -> Iterator[ResourceChange]:
    for path, module, entry in shown_resources(document.root, "state"):
        address, mode = text(entry, "address", path), text(entry, "mode", path)
        type_, name = text(entry, "type", path), text(entry, "name", path)
        provider = configuration.provider_of(module, mode, type_, name, text(entry, "provider_name", path, ""))
        deposed = text(entry, "deposed_key", path, "")
        secret = entry.get("sensitive_values")
        yield _stored_object(
            address, module, mode, type_, name, deposed, provider, table(entry, "values", path), secret
        )


def shown_resources(state: Any, path: str) -> Iterator[tuple[str, str, dict[str, Any]]]:
    """(JSON path, address of the module instance, entry) of each resource in a state from `show -json`. `path`: the
    place of the state in the document. Raises Misshapen."""
    if state is None:
        return
    if state.__class__ is not dict:
        raise Misshapen(path, "an object expected")
    waiting = [(f"{path}.values.root_module", table(table(state, "values", path), "root_module", f"{path}.values"))]
    while waiting:
        at, module = waiting.pop()
        address = text(module, "address", at, "")
        for i, entry in enumerate(objects(module, "resources", at)):
            yield f"{at}.resources[{i}]", address, entry
        inner = objects(module, "child_modules", at)
        waiting += [(f"{at}.child_modules[{i}]", child) for i, child in enumerate(inner)]


def read_values(state: Any, path: str, later: Collection[str]) -> Iterator[tuple[str, Any, Any]]:
    """(address, value, sensitive parts) of each data source in a state from `show -json`. The data sources that will be
    read again (`later`) are left out. Raises Misshapen."""
    for at, _, entry in shown_resources(state, path):
        if entry.get("mode") == "data" and entry.get("address") not in later:
            yield text(entry, "address", at), table(entry, "values", at), entry.get("sensitive_values")


# ---------------------------------------------------------------- state files


def _of_file(document: Document) -> Iterator[ResourceChange]:
    for i, entry in enumerate(objects(document.root, "resources", "")):
        path = f"resources[{i}]"
        module, mode = text(entry, "module", path, ""), text(entry, "mode", path)
        type_, name = text(entry, "type", path), text(entry, "name", path)
        resource = join(module, f"{'' if mode == 'managed' else mode + '.'}{type_}.{name}")
        provider = text(entry, "provider", path)
        try:
            parse_provider_configuration(provider)
        except AddressError:
            raise Misshapen(f"{path}.provider", f"{provider[:200]!r} is not a provider configuration") from None
        for j, instance in enumerate(objects(entry, "instances", path)):
            at = f"{path}.instances[{j}]"
            key = instance.get("index_key")
            if key.__class__ not in (str, int, type(None)):
                raise Misshapen(f"{at}.index_key", "a string or a whole number expected")
            if instance.get("attributes") is None and instance.get("attributes_flat"):
                raise Misshapen(
                    f"{at}.attributes_flat",
                    "an object in the form of Terraform before 0.12, which must be refreshed first",
                )
            values = _dynamic(table(instance, "attributes", at), type_)
            secret = _secrets(instance.get("sensitive_attributes"), f"{at}.sensitive_attributes")
            deposed = text(instance, "deposed", at, "")
            address = resource + format_key(key)
            yield _stored_object(address, module, mode, type_, name, deposed, provider, values, secret)


def _dynamic(values: dict[str, Any], type_: str) -> dict[str, Any]:
    """The attributes, in which the values of type any are converted from the form {"value": ..., "type": ...}. Only for
    terraform_data is it known which attributes have this type."""
    if type_ != "terraform_data":
        return values
    return {n: v["value"] if v.__class__ is dict and v.keys() == {"value", "type"} else v for n, v in values.items()}


def _secrets(paths: Any, path: str) -> Any:
    """{attribute: True} for each attribute with a sensitive path, in the form of `sensitive_values`. Raises
    Misshapen."""
    result: dict[str, Any] = {}
    for i, steps in enumerate(paths or () if paths.__class__ in (list, type(None)) else (None,)):
        first = steps[0] if steps.__class__ is list and steps else steps
        name = first.get("value") if first.__class__ is dict else None
        if name.__class__ is not str:
            raise Misshapen(f"{path}[{i}]", "a path that begins with the name of an attribute expected")
        result[str(name)] = True  # the whole attribute, even if the path names only a part of it
    return result
