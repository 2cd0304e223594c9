"""Converts results of conditions: `checks` in plan and state JSON, `check_results` in state files."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from planner.foundation.vocabulary.address import AddressError, parse_module, parse_resource_instance
from planner.foundation.vocabulary.records import frozen
from planner.logic.model.plan import CheckResult, Plan

_FILE_KINDS = {"output_value": "output", "input_variable": "var"}
_JSON_KINDS = {"output": "output_value"}
_WORST = ("error", "fail", "unknown")


@frozen(eq=False)
class CheckGroup:
    """The results of an object of the configuration that has conditions. `kind`: resource, output, check or var, as in
    state files. `status`: "pass", "fail", "error" or "unknown". `instances`: (address, status, messages) of each of its
    instances."""

    kind: str
    address: str
    status: str
    instances: tuple[tuple[str, str, tuple[str, ...]], ...]


def plan_groups(plan: Plan) -> list[CheckGroup]:
    """The results in a plan, grouped by object of the configuration. A result without an address contains the status of
    an object without instances."""
    return groups(plan.checks, plan.check_configs)


def groups(results: Iterable[CheckResult], configs: Iterable[tuple[str, str]] = ()) -> list[CheckGroup]:
    """The results, grouped by object of the configuration and sorted. `configs`: (kind, address) of objects that are
    included even if they have no results."""
    by_object: dict[tuple[str, str], list[CheckResult]] = {(_file_kind(k), a): [] for k, a in configs}
    for result in results:
        by_object.setdefault((_file_kind(result.kind), result.config_address), []).append(result)
    return [_group(kind, address, by_object[kind, address]) for kind, address in sorted(by_object)]


def _group(kind: str, address: str, results: list[CheckResult]) -> CheckGroup:
    instances = sorted((r.address, r.status, r.messages) for r in results if r.address)
    statuses = {status for _, status, _ in instances} or {r.status for r in results} or {"unknown"}
    status = next((s for s in _WORST if s in statuses), "pass")
    return CheckGroup(kind, address, status, tuple(instances))


def _file_kind(kind: str) -> str:
    return _FILE_KINDS.get(kind, kind)


def state_groups(results: list[dict[str, Any]] | None) -> list[CheckGroup]:
    return [
        CheckGroup(
            raw["object_kind"],
            raw["config_addr"],
            raw["status"],
            tuple(
                (o["object_addr"], o["status"], tuple(o.get("failure_messages") or ())) for o in raw["objects"] or ()
            ),
        )
        for raw in results or ()
    ]


def check_results(checks: Iterable[CheckGroup]) -> list[dict[str, Any]] | None:
    """The results in the form of a state file; None if there are none."""
    out = []
    for group in checks:
        objects = []
        for address, status, messages in group.instances:
            raw: dict[str, Any] = {"object_addr": address, "status": status}
            if messages:
                raw["failure_messages"] = list(messages)
            objects.append(raw)
        out.append(
            {
                "object_kind": group.kind,
                "config_addr": group.address,
                "status": group.status,
                "objects": objects or None,
            }
        )
    return out or None


def checks_json(checks: Iterable[CheckGroup]) -> list[dict[str, Any]]:
    """The results in the form of `show -json`, sorted by address."""
    out = []
    for group in sorted(checks, key=lambda g: g.address):
        raw: dict[str, Any] = {"address": _static_address(group), "status": group.status}
        instances = [
            {
                "address": _instance_address(group.kind, address),
                **({"problems": [{"message": m} for m in sorted(messages)]} if messages else {}),
                "status": status,
            }
            for address, status, messages in sorted(group.instances)
        ]
        if instances:
            raw["instances"] = instances
        out.append(raw)
    return out


def _static_address(group: CheckGroup) -> dict[str, Any]:
    out: dict[str, Any] = {"kind": _JSON_KINDS.get(group.kind, group.kind), "to_display": group.address}
    try:
        if group.kind == "resource":
            resource = parse_resource_instance(group.address)
            out.update(mode=resource.mode, type=resource.type, name=resource.name)
            module = str(resource.module)
        else:
            module, out["name"] = _split(group.address)
    except AddressError:
        return dict(sorted(out.items()))
    if module:
        out["module"] = module
    return dict(sorted(out.items()))


def _instance_address(kind: str, address: str) -> dict[str, Any]:
    out: dict[str, Any] = {"to_display": address}
    try:
        if kind == "resource":
            resource = parse_resource_instance(address)
            module = str(resource.module)
            if resource.key is not None:
                out["instance_key"] = resource.key
        else:
            module, _ = _split(address)
    except AddressError:
        return out
    if module:
        out["module"] = module
    return dict(sorted(out.items()))


def _split(address: str) -> tuple[str, str]:
    """(module, name) of an address such as `module.m[0].output.name`. Raises AddressError."""
    rest, _, name = address.rpartition(".")
    module = rest.rpartition(".")[0]
    return str(parse_module(module)), name
