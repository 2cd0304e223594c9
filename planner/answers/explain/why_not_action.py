"""Why an action is not planned, in a few sentences: what is planned instead, and what the nearest rules would need.

The rules of rules/plan/actions.dl say what is missing: the obstacles of the action that was asked about. Here are words
for the conditions that fail, and nothing is decided.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from typing import Any

from planner.logic.programs.actions import does

_LACKS = {
    "exists": "there is no object of it yet",
    "desired": "nothing declares it, or everything is destroyed",
    "changed": "nothing about it differs from its configuration",
    "data_source": "it is not a data source",
    "read_later": "all that it reads by is known, and nothing that it waits for changes: it is read while planning",
    "tainted": "it is not tainted",
    "replace_requested": "-replace does not name it",
    "triggered": "nothing that its replace_triggered_by names changes",
    "write_only_replace": "no write-only argument asks for replacement",
    "orphaned": "the configuration declares it",
    "destroy_requested": "this plan does not destroy everything",
    "kept_by_configuration": "lifecycle.destroy is not false",
    "kept_by_state": "lifecycle.destroy was not false when it was last applied",
    "removal": "no removed block lets its object live",
    "output_differs": "its value does not differ",
}
_NOT = {
    "exists": "there is an object of it already",
    "desired": "the configuration declares it",
    "data_source": "it is a data source, which is read and never created",
    "replaced": "it is replaced",
    "retained": "its object must not be destroyed",
    "created_first": "its replacement is created first",
}
_ALONE = ("differs", "requires_replace", *_LACKS)
"""what is told by itself, whatever is behind it"""
_EITHER = frozenset(("created_first", "retained"))
"""conditions that only tell the forms of one action apart"""
_ASKS = ("tainted", "replace_requested", "triggered", "write_only_replace")
"""what may ask for the replacement of an object that differs in nothing that needs it"""


def planned_sentence(name: str, action: str) -> str:
    """`terraform_data.a is updated in place.`"""
    words = {
        "no-op": "does not change",
        "create": "is created",
        "update": "is updated in place",
        "delete": "is destroyed",
        "forget": "is forgotten",
        "read": "is read while applying",
    }
    said = words.get(action) or ("is replaced" if does(action, "replaces") else f"has the action {action}")
    return f"{name} {said}."


def near_actions(
    name: str, action: str, rules: Collection[dict[str, Any]], relations: Mapping[str, Collection[Any]]
) -> list[dict[str, Any]]:
    """What is planned, and below it what fails, as entries of `nearest` in the document of `why -not`. `rules` are the
    obstacles of the action that was asked about."""
    failing = list(dict.fromkeys(_failing(rules)))
    if ("changed", True) in failing:  # that it is as declared is what no-op means; its other rules are far away
        failing = [("changed", True)]
    missing = {predicate for predicate, is_negated in failing if not is_negated}
    is_unmoved = not missing.isdisjoint(("differs", "requires_replace")) and missing.issuperset(_ASKS)
    lines: list[str] = []
    for predicate, is_negated in failing:
        if is_negated and predicate == "replaced":
            lines += _forced(name, relations)
        elif is_negated and predicate == "changed":
            paths = _differing(name, relations)
            lines.append(f"{_some(paths)} differ{'s' if len(paths) == 1 else ''}" if paths else "it differs")
        elif is_negated:
            lines.append(_NOT.get(predicate, ""))
        elif predicate in ("requires_replace", "differs"):
            lines.append(_in_place(name, relations))
        elif predicate == "read_later" and not _holds(relations, "data_source", name):
            lines.append(_LACKS["data_source"])
        elif predicate not in _ASKS or not is_unmoved:
            lines.append(_LACKS.get(predicate, ""))
    if is_unmoved:
        lines.append("nothing asks for its replacement: no taint, no -replace, no replace_triggered_by")
    return [
        {
            "kind": "planned-instead",
            "text": planned_sentence(name, action),
            "lines": list(dict.fromkeys(line for line in lines if line)),
            "sources": [],
        }
    ]


def _failing(rules: Collection[dict[str, Any]]) -> Iterator[tuple[str, bool]]:
    """(predicate, whether its absence was needed) of the conditions that fail, below those that only pass on."""
    for obstacle in rules:
        fails = obstacle["fails"]
        is_negated = fails.startswith("not ")
        predicate = fails.removeprefix("not ").partition("(")[0].strip()
        if predicate in _EITHER and len(rules) > 1 and any(o["fails"].partition("(")[0] != predicate for o in rules):
            continue
        inner = [o for o in obstacle.get("because", ()) if o["head_fits"]]
        if inner and not is_negated and predicate not in _ALONE:
            yield from _failing(inner)
        else:
            yield predicate, is_negated


def _holds(relations: Mapping[str, Collection[Any]], predicate: str, name: str) -> bool:
    return any(row[0] == name for row in relations.get(predicate, ()))


def _forced(name: str, relations: Mapping[str, Collection[Any]]) -> list[str]:
    """What a replacement comes from."""
    paths = sorted({row[1] for row in relations.get("requires_replace", ()) if row[0] == name})
    lines = [f"the provider cannot change {', '.join(paths)} in place"] if paths else []
    lines += ["it is tainted"] if _holds(relations, "tainted", name) else []
    lines += ["-replace names it"] if _holds(relations, "replace_requested", name) else []
    lines += [
        f"{row[1]} changes, which its replace_triggered_by names"
        for row in sorted(relations.get("triggered", ()))
        if row[0] == name
    ]
    return lines or [_NOT["replaced"]]


def _in_place(name: str, relations: Mapping[str, Collection[Any]]) -> str:
    paths = _differing(name, relations)
    return f"the provider can change {_some(paths)} in place" if paths else _LACKS["changed"]


def _differing(name: str, relations: Mapping[str, Collection[Any]]) -> list[str]:
    return sorted({row[1] for row in relations.get("differs", ()) if row[0] == name})


def _some(paths: list[str]) -> str:
    return ", ".join(paths[:4]) + (f" and {len(paths) - 4} more" if len(paths) > 4 else "")
