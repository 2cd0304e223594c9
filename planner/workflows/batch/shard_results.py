"""The results of one command's jobs (-shard), read with care: they come from other machines.

A shard's result is the file of `-report=FILE`, or the directory of `-out=DIR`, which has that file and, if nothing
failed, plans. Its content is rebuilt from the known members of a report; the rest is dropped.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

from planner.foundation.support.fast_json import orjson
from planner.foundation.vocabulary.diagnostic import Failure, error
from planner.foundation.vocabulary.records import frozen
from planner.workflows.batch import saved_plan
from planner.workflows.batch.model import OUTCOMES
from planner.workflows.batch.saved_plan import MOST_SHARDS, SavedManifest


@frozen(eq=False)
class PartRead:
    """A part by the name that it was given: its report (reports/document.py), and the manifest of its plans, if it has
    any."""

    name: str
    report: dict[str, Any]
    manifest: SavedManifest | None

    @property
    def shard(self) -> dict[str, Any]:
        result: dict[str, Any] = self.report["shard"]
        return result


def read_part(name: str) -> PartRead:
    """Read the result of a shard. Raises Failure."""
    is_folder = os.path.isdir(name)
    path = os.path.join(name, saved_plan.REPORT) if is_folder else name
    try:
        data = saved_plan.read_bounded(path)
    except OSError as problem:
        raise _unusable(name, f"{path}: {problem.strerror or problem}") from None
    try:
        document = orjson.loads(data)
    except orjson.JSONDecodeError as bad:
        raise _unusable(name, f"{path} is not JSON ({bad})") from None
    if document.__class__ is not dict or document.get("format_version") != "1.0" or "shard" not in document:
        raise _unusable(name, f"{path} is not a report of a batch")
    if document["shard"] is None and not _has_errors(document):
        raise _unusable(name, "it was made without -shard, so it is complete already")
    try:
        report = _check(document, _REPORT, "the report")
        _check_names(report)
    except ValueError as bad:
        raise _unusable(name, f"{path} is damaged: {bad}") from None
    manifest = saved_plan.read(name) if is_folder and saved_plan.is_saved_plan(name) else None
    part = PartRead(name, report, manifest)
    _agree(part)
    return part


def _check_names(report: Mapping[str, Any]) -> None:
    """Raises ValueError for a report with a unit twice, or with edges that are none."""
    names = [unit["unit"] for unit in report["units"]]
    if len(set(names)) < len(names):
        raise ValueError("it has a unit twice")
    if any(len(edge) != 2 for edge in report["edges"]):
        raise ValueError("an edge does not have two ends")


def _has_errors(document: Mapping[str, Any]) -> bool:
    said = document.get("diagnostics")
    return said.__class__ is list and any(d.__class__ is dict and d.get("severity") == "error" for d in said or ())


def _agree(part: PartRead) -> None:
    """Raises Failure for a directory whose report and manifest are not of one shard."""
    if part.manifest is None or part.report["shard"] is None:
        return
    shard, units = part.manifest.shard, {unit["unit"] for unit in part.report["units"]}
    said = (part.shard["number"], part.shard["of"], part.shard["fleet"])
    if shard is None or (shard.number, shard.count, shard.fleet) != said or set(part.manifest.units) != units:
        raise _unusable(part.name, f"{saved_plan.NAME} and {saved_plan.REPORT} in it are not of one run")


def _unusable(name: str, why: str) -> Failure:
    return Failure(error("batch.part", "Not a shard of a batch", f"{name} cannot be joined: {why}."))


# ---------------------------------------------------------------- shapes


@frozen
class _Maybe:
    """A key that need not be there, or may be null."""

    shape: Any


_PLACE = {"line": int, "column": int, "byte": int}
_SNIPPET = {
    "context": _Maybe(str),
    "code": str,
    "start_line": int,
    "highlight_start_offset": int,
    "highlight_end_offset": int,
    "values": [{"traversal": str, "statement": str}],
}
_DIAGNOSTIC = {
    "severity": ("error", "warning"),
    "summary": str,
    "detail": str,
    "address": _Maybe(str),
    "range": _Maybe({"filename": str, "start": _PLACE, "end": _PLACE}),
    "snippet": _Maybe(_SNIPPET),
    "code": str,
}
_UNIT = {
    "unit": str,
    "folder": str,
    "tags": [str],
    "groups": [str],
    "wave": int,
    "outcome": OUTCOMES,
    "because": str,
    "because_all": [str],
    "reused": bool,
    "age": _Maybe(float),
    "state_age": _Maybe(float),
    "attempts": int,
    "selected_by": [{"selector": str, "way": str}],
    "waits_for": [str],
    "counts": {"add": int, "change": int, "remove": int, "import": int, "forget": int},
    "changes": [{"address": str, "action": str, "reason": str}],
    "outputs": [{"name": str, "action": str}],
    "changed_outputs": [str],
    "unknown_outputs": [{"name": str, "path": str}],
    "awaits": [{"used_by": str, "unit": str, "output": str, "path": str}],
    "diagnostics": [_DIAGNOSTIC],
    "seconds": float,
    "plan_file": str,
}
_BESIDE = {"unit": str, "outcome": OUTCOMES, "made_as": str, "diagnostics": [_DIAGNOSTIC]}
_SHARD = {
    "number": range(1, MOST_SHARDS + 1),
    "of": range(1, MOST_SHARDS + 1),
    "units": int,
    "fleet": str,
    "before": {str: [str]},
    "made_as": {str: str},
    "beside": [_BESIDE],
}
_REPORT = {
    "format_version": ("1.0",),
    "command": ("plan", "apply", "validate"),
    "mode": ("normal", "destroy", "refresh-only"),
    "run": str,
    "seconds": float,
    "workers": int,
    "peak_memory": int,
    "in_flight": [str],
    "units": [_UNIT],
    "orphaned": [{"unit": str, "state": str}],
    "edges": [[str]],
    "diagnostics": [_DIAGNOSTIC],
    "shard": _Maybe(_SHARD),
}


def _check(value: Any, shape: Any, what: str) -> Any:
    """The value with nothing but what the shape has. Raises ValueError."""
    if shape.__class__ is tuple or shape.__class__ is range:
        if value.__class__ in (str, int) and value in shape:
            return value
    elif shape.__class__ is list:
        if value.__class__ is list:
            return [_check(item, shape[0], what) for item in value]
    elif shape.__class__ is dict:
        if value.__class__ is dict:
            return _checked_object(value, shape, what)
    elif shape is float:
        if value.__class__ in (int, float):
            return value
    elif value.__class__ is shape:
        return value
    raise ValueError(f"{what} is not what it should be")


def _checked_object(value: dict[str, Any], shape: dict[Any, Any], what: str) -> dict[str, Any]:
    if str in shape:
        return {name: _check(item, shape[str], name) for name, item in value.items()}
    result = {}
    for name, inner in shape.items():
        if inner.__class__ is not _Maybe:
            if name not in value:
                raise ValueError(f"{what} has no {name}")
            result[name] = _check(value[name], inner, name)
        elif name in value:
            result[name] = _check(value[name], inner.shape, name) if value[name] is not None else None
    return result
