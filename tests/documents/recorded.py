"""Plans rebuilt from recorded plan JSON, and configurations of recorded cases."""

from __future__ import annotations

import json
import posixpath
from pathlib import Path
from typing import Any

from planner.foundation.values.json_codec import from_json, implied_value, to_json
from planner.foundation.values.paths import marked_paths
from planner.foundation.values.schema import implied_type
from planner.foundation.values.types import DYNAMIC, EMPTY_OBJECT, TupleType, type_from_json, type_to_json
from planner.foundation.values.value import SENSITIVE, Unknown, Value, mark, unmark_deep
from planner.foundation.vocabulary.diagnostic import has_errors
from planner.language.config.load import load_tree
from planner.language.config.model import Config
from planner.logic.model.plan import CheckResult, Importing, OutputChange, Plan, ResourceChange
from planner.logic.programs.actions import actions, words
from planner.world.provider.builtin import SCHEMA
from planner.world.state.model import InstanceState, ObjectState, OutputState, ResourceState, State

CASES = Path(__file__).parent.parent / "conformance" / "cases"
WITH_PLAN = sorted(p.parent.parent.name for p in CASES.glob("*/expected/plan.json"))
PROVIDER = 'provider["terraform.io/builtin/terraform"]'
_SENSITIVE = frozenset({SENSITIVE})


def recorded_plan(case: str) -> dict[str, Any]:
    return json.loads((CASES / case / "expected" / "plan.json").read_text())  # type: ignore[no-any-return]


def configuration(case: str) -> Config:
    config, diagnostics = load_tree(
        str(CASES / case),
        variables=None,
        workspace="default",
        locate=lambda path, call, caller, problems: posixpath.normpath(posixpath.join(caller, call.source)),
    )
    assert not has_errors(diagnostics)
    return config


def value(data: Any, unknown: Any = False, sensitive: Any = False) -> Value:
    """A value from its JSON and the structures that say what is unknown and sensitive."""
    if unknown is True:
        found: Value = Unknown(TupleType(()) if sensitive == [] else EMPTY_OBJECT if sensitive == {} else DYNAMIC)
    elif isinstance(data, dict) or isinstance(unknown, dict):
        data, unknown = data or {}, unknown or {}
        inner = sensitive if isinstance(sensitive, dict) else {}
        found = {
            k: value(data.get(k), unknown.get(k, False), inner.get(k, False)) for k in data.keys() | unknown.keys()
        }
    elif isinstance(data, list):
        unknowns = unknown or [False] * len(data)
        marks = sensitive if isinstance(sensitive, list) else [False] * len(data)
        found = tuple(map(value, data, unknowns, marks))
    else:
        found = implied_value(data)
    return mark(found, _SENSITIVE) if sensitive is True else found


def plan(recorded: dict[str, Any]) -> Plan:
    prior = state(recorded.get("prior_state", {}))
    outputs = recorded["planned_values"].get("outputs", {})
    return Plan(
        mode="normal",
        changes=tuple(map(_change, recorded.get("resource_changes", ()))),
        drift=tuple(map(_change, recorded.get("resource_drift", ()))),
        outputs=tuple(
            _output(name, raw, outputs.get(name, {})) for name, raw in recorded.get("output_changes", {}).items()
        ),
        prior_state=prior,
        previous_state=prior,
        planned_state=None,
        variables={name: implied_value(raw["value"]) for name, raw in recorded.get("variables", {}).items()},
        checks=tuple(check for raw in recorded.get("checks", ()) for check in _checks(raw)),
        check_configs=tuple(
            (raw["address"]["kind"], raw["address"]["to_display"]) for raw in recorded.get("checks", ())
        ),
        relevant_attributes=tuple(
            (raw["resource"], tuple(("attr" if isinstance(s, str) else "index", s) for s in raw["attribute"]))
            for raw in recorded.get("relevant_attributes", ())
        ),
        errored=recorded["errored"],
    )


def _change(raw: dict[str, Any]) -> ResourceChange:
    change = raw["change"]
    importing = change.get("importing")
    return ResourceChange(
        address=raw["address"],
        previous_address=raw.get("previous_address", raw["address"]),
        module=raw.get("module_address", ""),
        mode=raw["mode"],
        type=raw["type"],
        name=raw["name"],
        key=raw.get("index"),
        deposed=raw.get("deposed", ""),
        provider=PROVIDER,
        action=next(a for a in actions() if words(a) == change["actions"]),
        reason=raw.get("action_reason", ""),
        before=value(change["before"], False, change["before_sensitive"]),
        after=value(change["after"], change["after_unknown"] or False, change["after_sensitive"]),
        replace_paths=tuple(tuple(("attr", s) for s in p) for p in change.get("replace_paths", ())),
        importing=None if importing is None else Importing(importing["id"]),
    )


def _output(name: str, raw: dict[str, Any], planned: dict[str, Any]) -> OutputChange:
    after = value(raw.get("after"), raw["after_unknown"])
    if "type" in planned:
        after = from_json(planned["value"], type_from_json(planned["type"]))
    action = next(a for a in actions() if words(a) == raw["actions"])
    return OutputChange(name, action, value(raw["before"]), after, raw["after_sensitive"])


def _checks(raw: dict[str, Any]) -> list[CheckResult]:
    kind, address = raw["address"]["kind"], raw["address"]["to_display"]
    if "instances" not in raw:
        return [CheckResult(kind, address, "", raw["status"])]
    return [
        CheckResult(
            kind, address, i["address"]["to_display"], i["status"], tuple(p["message"] for p in i.get("problems", ()))
        )
        for i in raw["instances"]
    ]


def state(recorded: dict[str, Any]) -> State:
    """The state that state JSON shows."""
    values = recorded.get("values", {})
    resources: dict[str, ResourceState] = {}
    _add_module(resources, values.get("root_module", {}))
    outputs = {}
    for name, raw in values.get("outputs", {}).items():
        type_ = type_from_json(raw["type"])
        outputs[name] = OutputState(from_json(raw["value"], type_), type_, raw["sensitive"], raw.get("deprecated"))
        assert type_to_json(type_) == raw["type"]
    results = [
        {
            "object_kind": {"output_value": "output"}.get(raw["address"]["kind"], raw["address"]["kind"]),
            "config_addr": raw["address"]["to_display"],
            "status": raw["status"],
            "objects": [
                {
                    "object_addr": i["address"]["to_display"],
                    "status": i["status"],
                    "failure_messages": [p["message"] for p in i.get("problems", ())],
                }
                for i in raw.get("instances", ())
            ],
        }
        for raw in recorded.get("checks", ())
    ]
    return State(resources, outputs, 1, "l", check_results=results or None)


def _add_module(resources: dict[str, ResourceState], module: dict[str, Any]) -> None:
    address = module.get("address", "")
    for raw in module.get("resources", ()):
        entry = ResourceState(address, raw["mode"], raw["type"], raw["name"], PROVIDER, {})
        entry = resources.setdefault(entry.address, entry)
        key = raw.get("index")
        before = entry.instances.get(key, InstanceState(key, None))
        obj = _object(raw)
        deposed = raw.get("deposed_key")
        entry.instances[key] = (
            InstanceState(key, before.current, {**before.deposed, deposed: obj})
            if deposed
            else InstanceState(key, obj, before.deposed)
        )
    for child in module.get("child_modules", ()):
        _add_module(resources, child)


def _object(raw: dict[str, Any]) -> ObjectState:
    schemas = SCHEMA.resources if raw["mode"] == "managed" else SCHEMA.data_sources
    marked = value(raw["values"], False, raw["sensitive_values"])
    plain, _ = unmark_deep(marked)
    return ObjectState(
        attributes=to_json(plain, implied_type(schemas[raw["type"]].block)),
        schema_version=raw["schema_version"],
        tainted=raw.get("tainted", False),
        sensitive_paths=tuple(path for path, _ in marked_paths(marked)),
        dependencies=tuple(raw.get("depends_on", ())),
    )
