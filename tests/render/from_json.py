"""Plans and states made by hand from their JSON forms, as `show -json` prints them."""

from __future__ import annotations

from typing import Any

from planner.foundation.values.types import type_from_json
from planner.foundation.values.value import SENSITIVE, Marked, Null, Unknown
from planner.logic.model.plan import Importing, OutputChange, Plan, ResourceChange
from planner.logic.programs.actions import actions, words
from planner.world.state.model import OutputState, State

ACTIONS = {tuple(words(action)): action for action in actions()}


def value(data: Any, unknown: Any = False, sensitive: Any = False) -> Any:
    """A language value: objects become dicts, arrays tuples; `unknown` and `sensitive` are the trees of plan JSON."""
    if sensitive is True:
        return Marked(value(data, unknown), frozenset((SENSITIVE,)))
    if unknown is True:
        return Unknown()
    if isinstance(data, dict) or isinstance(unknown, dict):
        data, u = data or {}, unknown if isinstance(unknown, dict) else {}
        s = sensitive if isinstance(sensitive, dict) else {}
        return {
            k: value(data.get(k), u.get(k, False), s.get(k, False)) for k in [*data, *(k for k in u if k not in data)]
        }
    if isinstance(data, list):
        u = unknown if isinstance(unknown, list) else [False] * len(data)
        s = sensitive if isinstance(sensitive, list) else [False] * len(data)
        return tuple(value(d, *x) for d, *x in zip(data, u, s, strict=False))
    if data is None:
        return Null()
    if isinstance(data, float):
        from planner.foundation.values.value import number_from_text

        return number_from_text(repr(data))
    return data


def change(data: dict[str, Any]) -> ResourceChange:
    c = data["change"]
    importing = c.get("importing")
    return ResourceChange(
        address=data["address"],
        previous_address=data.get("previous_address", data["address"]),
        module=data.get("module_address", ""),
        mode=data["mode"],
        type=data["type"],
        name=data["name"],
        key=data.get("index"),
        deposed=data.get("deposed", ""),
        provider=f'provider["{data["provider_name"]}"]',
        action=ACTIONS[tuple(c["actions"])],  # type: ignore[arg-type]
        reason=data.get("action_reason", ""),
        before=value(c.get("before"), False, c.get("before_sensitive")),
        after=value(c.get("after"), c.get("after_unknown"), c.get("after_sensitive")),
        replace_paths=tuple(map(tuple, c.get("replace_paths", ()))),
        importing=Importing(importing.get("id")) if importing is not None else None,
        generated_config=c.get("generated_config"),
    )


def output(name: str, data: dict[str, Any]) -> OutputChange:
    sensitive = data.get("before_sensitive") is True or data.get("after_sensitive") is True
    return OutputChange(
        name,
        ACTIONS[tuple(data["actions"])],  # type: ignore[arg-type]
        value(data.get("before"), False, data.get("before_sensitive")),
        value(data.get("after"), data.get("after_unknown"), data.get("after_sensitive")),
        sensitive,
    )


def plan(data: dict[str, Any], mode: Any = "normal") -> Plan:
    return Plan(
        mode=mode,
        changes=tuple(change(c) for c in data.get("resource_changes", ())),
        drift=tuple(change(c) for c in data.get("resource_drift", ())),
        outputs=tuple(output(n, o) for n, o in data.get("output_changes", {}).items()),
        prior_state=State(),
        previous_state=State(),
        planned_state=None,
        variables={},
        relevant_attributes=tuple((r["resource"], tuple(r["attribute"])) for r in data.get("relevant_attributes", ())),
        errored=data.get("errored", False),
    )


def outputs(data: dict[str, Any]) -> dict[str, OutputState]:
    """Output values from `output -json` or the values of state JSON."""
    return {
        name: OutputState(value(o["value"]), type_from_json(o["type"]), o.get("sensitive", False))
        for name, o in data.items()
    }
