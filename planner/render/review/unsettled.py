"""Edits whose values are unknown because of another cause: that cause is linked to them, and does not share their
changes."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from planner.render.review.attributes import UNKNOWN


def with_unsettled(
    cause: dict[str, Any], causes: Sequence[Mapping[str, Any]], changes: Iterable[Mapping[str, Any]]
) -> dict[str, Any]:
    """A cause with the numbers of the edits whose values are unknown because of it: of an object that it changes, too,
    an argument was edited to an expression of another object."""
    edits = {one["what"]: one["number"] for one in causes if one["after"].endswith(UNKNOWN)}
    numbers = [
        edits[what]
        for change in changes
        if cause["number"] in change["causes"]
        for item in change["attributes"]
        if (what := f"{change['address']}.{item['path']}") in edits and edits[what] != cause["number"]
    ]
    return {**cause, "unsettles": numbers} if numbers else cause


def without_repeats(causes: list[dict[str, Any]], changes: Iterable[dict[str, Any]]) -> list[dict[str, Any]]:
    """The causes, each change with its edits alone where nothing else changes it: a cause that makes their values
    unknown does not change the object by itself."""
    edits = {one["what"]: one["number"] for one in causes if one["after"].endswith(UNKNOWN)}
    for change in changes:
        items = {f"{change['address']}.{item['path']}": item for item in change["attributes"]}
        own = [edits[path] for path in items if path in edits]
        computed = all(
            item["after"] == UNKNOWN and "expression" not in item for p, item in items.items() if p not in edits
        )
        if not own or not computed or change["attributes_left_out"]:
            continue
        others = {n for n in change["causes"] if n not in own and len(causes[n - 1]["changes"]) > 1}
        for number in others:
            causes[number - 1] = _without(causes[number - 1], change)
        change["causes"] = [number for number in change["causes"] if number not in others]
    return causes


def _without(cause: dict[str, Any], change: Mapping[str, Any]) -> dict[str, Any]:
    """A cause without one of its changes."""
    verb = change["verb"]
    fewer = {
        name: {word: n - (word == verb) for word, n in cause[name].items() if n > (word == verb)}
        for name in ("sets_off", *["stateful"] * change["stateful"])
    }
    return {**cause, **fewer, "changes": [one for one in cause["changes"] if one["address"] != change["address"]]}
