"""Reads the results of the shards of one command, and determines the units of each shard. Results come from other
machines, so all their content is checked.

A shard's result is a report file (`-report=FILE`) or a directory (`-out=DIR`) with the report file and, if no unit
failed, plans. Unknown members of a report are ignored.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from hashlib import blake2b
from typing import Any

from planner.foundation.support.exact_json import orjson
from planner.foundation.vocabulary.diagnostic import Failure, error
from planner.foundation.vocabulary.records import evolve, frozen
from planner.foundation.vocabulary.release import RELEASE
from planner.logic.datalog.engine.evaluate import evaluate
from planner.logic.datalog.engine.fact_base import FactBuilder
from planner.logic.programs.rule_programs import batch_program
from planner.render.review.shape import REVIEW, Maybe, require_shape
from planner.workflows.batch import saved_plan
from planner.workflows.batch.analyse import Analysis
from planner.workflows.batch.model import OUTCOMES, FinishedUnit, ShardSummary, Share
from planner.workflows.batch.saved_plan import MOST_SHARDS, SavedManifest, files_of


@frozen(eq=False)
class PartRead:
    """The result of a shard. `name`: the path of the file or directory. `report`: see reports/document.py. `manifest`:
    the manifest of the saved plan; None if there are no plans."""

    name: str
    report: dict[str, Any]
    manifest: SavedManifest | None

    @property
    def shard(self) -> dict[str, Any]:
        result: dict[str, Any] = self.report["shard"]
        return result


def read_part(name: str, is_whole: bool = False) -> PartRead:
    """Read the result of a shard. The result of a command without shards is accepted only if `is_whole`, or if the
    result has errors. Raises Failure."""
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
    """Raises ValueError for a report that lists a unit twice or has invalid edges."""
    names = [unit["unit"] for unit in report["units"]]
    if len(set(names)) < len(names):
        raise ValueError("it has a unit twice")
    reviews = (report.get("reviews") or {}).values()
    read = (pair for one in reviews for outputs in one["reads"].values() for pair in outputs)
    if any(len(edge) != 2 for edge in (*report["edges"], *read)):
        raise ValueError("an edge does not have two ends")


def _has_errors(document: Mapping[str, Any]) -> bool:
    diagnostics = document.get("diagnostics")
    return diagnostics.__class__ is list and any(
        d.__class__ is dict and d.get("severity") == "error" for d in diagnostics or ()
    )


def _agree(part: PartRead) -> None:
    """Raises Failure if a directory's report and manifest come from different runs."""
    if part.manifest is None or part.report["shard"] is None:
        return
    shard, units = part.manifest.shard, {unit["unit"] for unit in part.report["units"]}
    place = (part.shard["number"], part.shard["of"], part.shard["fleet"])
    if shard is None or (shard.number, shard.count, shard.fleet) != place or set(part.manifest.units) != units:
        raise _unusable(part.name, f"{saved_plan.NAME} and {saved_plan.REPORT} in it are from different runs")


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


# One command whose units are divided among jobs that share only the configuration (-shard=3/20). Each job computes all
# shards by itself: the selected units form a sequence in which connected units are adjacent, and rules/batch/shards.dl
# divides it. If another shard reads the outputs of a unit, that shard plans the unit, too, only for its values, without
# a lock or a report. Joining (join.py) checks that both plans agree.


def share(analysis: Analysis, number: int, count: int) -> Share:
    """The units of shard `number` of `count`, as derived by the rules."""
    line, groups = in_line(analysis)
    facts = FactBuilder()
    facts.add("command", analysis.command)
    facts.add("shard_count", count)
    facts.add("this_shard", number)
    for position, unit in enumerate(line):
        facts.add("in_line", unit, position)
        facts.add("connected", unit, *groups[unit])
        for other in analysis.reads_from.get(unit, ()):
            if other in groups:
                facts.add("sees_outputs", unit, other)
    result = evaluate(batch_program(), facts.build(), ("in_shard", "planned_beside"))
    own, beside = (frozenset(str(unit) for (unit,) in result[name]) for name in ("in_shard", "planned_beside"))
    return Share(number, count, own, beside)


def in_line(analysis: Analysis) -> tuple[list[str], dict[str, tuple[int, int]]]:
    """The selected units in one sequence, and {unit: (position of the first connected unit, number of connected
    units)}. Connected units are adjacent. They are listed in depth-first order of the trees in which each unit is a
    child of its dependency with the latest wave. A shard is a contiguous piece of this sequence, so units with a common
    dependency are rarely in different shards."""
    before = {unit: [o for o in analysis.before.get(unit, ()) if o in analysis.selected] for unit in analysis.selected}
    followers: dict[str, list[str]] = {unit: [] for unit in before}
    for unit, others in before.items():
        if others:
            followers[min(others, key=lambda other: (-analysis.waves.get(other, 0), other))].append(unit)
    trees = {unit: _tree(unit, followers) for unit, others in before.items() if not others}
    root_of = {unit: root for root, units in trees.items() for unit in units}
    joined: dict[str, str] = {root: root for root in trees}

    def first(root: str) -> str:
        while joined[root] != root:
            joined[root] = root = joined[joined[root]]
        return root

    for unit, others in before.items():
        for other in others:
            a, b = sorted((first(root_of[unit]), first(root_of[other])))
            joined[b] = a
    members: dict[str, list[str]] = {}
    for root in sorted(trees):
        members.setdefault(first(root), []).extend(trees[root])
    line: list[str] = []
    groups: dict[str, tuple[int, int]] = {}
    for name in sorted(members):
        groups |= dict.fromkeys(members[name], (len(line), len(members[name])))
        line += members[name]
    return line, groups


def _tree(root: str, followers: Mapping[str, list[str]]) -> list[str]:
    result, waiting = [], [root]
    while waiting:
        unit = waiting.pop()
        result.append(unit)
        waiting += sorted(followers[unit], reverse=True)
    return result


def part_of(
    analysis: Analysis,
    own: Share,
    done: Mapping[str, FinishedUnit],
    asked: object,
    surveyed: Mapping[str, Iterable[str]],
) -> ShardSummary:
    """The data about a shard for joining it with the other shards. `asked`: the other options of the command line, as
    plain data without the values of variables. `surveyed`: {unit: files of its configuration}."""
    units = analysis.fleet.units
    files = {unit: files_of(analysis.fleet.root, surveyed[unit], ()) for unit in sorted(analysis.selected)}
    parts = [
        [RELEASE, analysis.command, own.count, asked],
        [[u, units[u].folder, units[u].workspace, sorted(analysis.before.get(u, ())), files[u]] for u in files],
    ]
    digest = blake2b(orjson.dumps(parts), digest_size=16).hexdigest()
    beside = {unit: done[unit] for unit in sorted(own.beside) if unit in done}
    before = {unit: tuple(sorted(analysis.before.get(unit, ()))) for unit in sorted(own.units)}
    return ShardSummary(own.number, own.count, len(analysis.selected), digest, beside, before)


def share_analysis(analysis: Analysis, number: int, count: int) -> Analysis:
    return evolve(analysis, share=share(analysis, number, count))
