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
from planner.render.review.shape import REVIEW, Maybe, require_shape
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


def read_part(name: str, is_whole: bool = False) -> PartRead:
    """Read the result of a shard, or with `is_whole` that of all units. Raises Failure."""
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
    if document["shard"] is None and not is_whole and not _has_errors(document):
        raise _unusable(name, "it was made without -shard, so it is complete already")
    try:
        report = require_shape(document, _REPORT, "the report")
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
    reviews = (report.get("reviews") or {}).values()
    read = (pair for one in reviews for outputs in one["reads"].values() for pair in outputs)
    if any(len(edge) != 2 for edge in (*report["edges"], *read)):
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
    return Failure(error("batch.part", "Unusable batch result", f"{name} cannot be used: {why}."))


# ---------------------------------------------------------------- shapes

_PLACE = {"line": int, "column": int, "byte": int}
_SNIPPET = {
    "context": Maybe(str),
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
    "address": Maybe(str),
    "range": Maybe({"filename": str, "start": _PLACE, "end": _PLACE}),
    "snippet": Maybe(_SNIPPET),
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
    "age": Maybe(float),
    "state_age": Maybe(float),
    "attempts": int,
    "selected_by": [{"selector": str, "way": str}],
    "waits_for": [str],
    "counts": {
        **dict.fromkeys(("add", "change", "remove", "import", "forget"), int),
        **dict.fromkeys(("invoke", "failed"), Maybe(int)),
    },
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
    "shard": Maybe(_SHARD),
    "reviews": Maybe({str: {"review": REVIEW, "reads": {str: [[str]]}}}),
}
