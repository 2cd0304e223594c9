"""Reads reviews in files from other machines. The reviews are checked against the expected shape and rebuilt from known
parts. Links are removed, because each report has its own links."""

from __future__ import annotations

from typing import Any

from planner.engine.apply.outcomes import KINDS
from planner.foundation.vocabulary.records import frozen
from planner.render.review.attributes import FATES


@frozen
class Maybe:
    """The shape of a member that may be missing or null."""

    shape: Any


_ATTRIBUTE = {
    **dict.fromkeys(("path", "action", "before", "after"), str),
    "forces_replacement": bool,
    "outcome": Maybe(tuple(FATES)),
    "expression": Maybe(str),
    "expected": Maybe(str),
}
_WHERE = {"file": Maybe(str), "line": Maybe(int)}
_CHANGED = {"address": str, "action": str}
_CAUSE = {
    **dict.fromkeys(("what", "kind", "note", "before", "after"), str),
    **_WHERE,
    "place": Maybe(str),
    "commit": Maybe(str),
    "unsettles": Maybe([int]),
    "elements": Maybe(bool),
    "label": Maybe(str),
    "number": int,
    "certain": bool,
    "sets_off": {str: int},
    "stateful": {str: int},
    "changes": [_CHANGED],
    "hops": [str],
}
_CHANGE = {
    **_CHANGED,
    **dict.fromkeys(("verb", "reason", "type", "module", "previous_address"), str),
    **dict.fromkeys(("stateful", "imported", "is_drift"), bool),
    **_WHERE,
    "causes": [int],
    "attributes": [_ATTRIBUTE],
    "attributes_left_out": int,
    "undecided": [str],
    "import_id": Maybe(str),
    "data": Maybe(("holds", "none", "unknown", "")),
    "data_by": Maybe(str),
    "result": Maybe({"outcome": KINDS, "error": str}),
    "drift": Maybe(dict.fromkeys(("planned", "outcome", "modified_at", "modified_by"), str)),
}
_OUTPUT = {**dict.fromkeys(("name", "action", "before", "after"), str), "causes": [int], "read_by": [str]}
REVIEW = {
    "decisions": [{"kind": str, "text": str, "objects": [str]}],
    "causes": [_CAUSE],
    "uncaused": [{"text": str, "changes": [_CHANGED]}],
    "changes": [_CHANGE],
    "outputs": [_OUTPUT],
    "changes_left_out": int,
}
"""the review of a unit, as short_review returns it"""
_WAIT = {**dict.fromkeys(("address", "path", "expression", "known"), str), "settled_by": Maybe([_CHANGED])}
_FINDING = {
    **dict.fromkeys(("kind", "code", "address", "message", "reason"), str),
    **_WHERE,
    "would": Maybe(str),
    "waits_for": Maybe([_WAIT]),
    "rule": Maybe(_WHERE),
}
RECORDED = {
    **{name: shape for name, shape in REVIEW.items() if name != "changes_left_out"},
    "title": str,
    "mode": str,
    "about": {"workspace": Maybe(str), "serial": Maybe(int), **dict.fromkeys(("since", "since_commit"), Maybe(str))},
    "counts": {str: int},
    "policies": {"findings": [_FINDING], "judged": [str]},
    "notes": [str],
    "deferred": [dict.fromkeys(("address", "argument", "place"), str)],
}
"""the parts of a plan's review that the plan file contains"""


def require_shape(value: Any, shape: Any, what: str) -> Any:
    """A copy of the value, without members that the shape does not have. Raises ValueError if the value does not fit
    the shape."""
    if shape.__class__ is tuple or shape.__class__ is range:
        if value.__class__ in (str, int) and value in shape:
            return value
    elif shape.__class__ is list:
        if value.__class__ is list:
            return [require_shape(item, shape[0], what) for item in value]
    elif shape.__class__ is dict:
        if value.__class__ is dict:
            return _rebuild(value, shape, what)
    elif shape is float:
        if value.__class__ in (int, float):
            return value
    elif value.__class__ is shape:
        return value
    raise ValueError(f"{what} has an unexpected value")


def _rebuild(value: dict[str, Any], shape: dict[Any, Any], what: str) -> dict[str, Any]:
    if str in shape:
        return {name: require_shape(item, shape[str], name) for name, item in value.items()}
    result = {}
    for name, inner in shape.items():
        if inner.__class__ is not Maybe:
            if name not in value:
                raise ValueError(f"{what} has no {name}")
            result[name] = require_shape(value[name], inner, name)
        elif name in value:
            result[name] = require_shape(value[name], inner.shape, name) if value[name] is not None else None
    return result
