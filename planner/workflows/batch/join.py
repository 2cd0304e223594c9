"""Joins the results of the shards of one command (-shard) into one report and one saved plan. rules/batch/shards.dl
derives whether the shards are complete."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from hashlib import sha256
from typing import Any

from planner.foundation.support.disk import replace_file
from planner.foundation.vocabulary.diagnostic import Diagnostic, Failure, error, has_errors, warning
from planner.foundation.vocabulary.records import evolve, field, frozen
from planner.logic.datalog.engine.evaluate import evaluate
from planner.logic.datalog.engine.fact_base import FactBuilder
from planner.logic.programs.rule_programs import batch_program
from planner.workflows.batch import saved_plan
from planner.workflows.batch.model import BAD, OUTCOMES, diagnostics_json
from planner.workflows.batch.reports.document import COUNTS
from planner.workflows.batch.reports.review import UnitReviews, reviews_from_json
from planner.workflows.batch.saved_plan import Saved, SavedManifest
from planner.workflows.batch.shard_results import PartRead, read_part
from planner.workflows.batch.unit_decisions import Earlier, decide

SHOWN = 20
"""maximum number of missing shards that a message names"""


@frozen(eq=False)
class Joined:
    """The combined report of all shards, in the format of reports/document.py. `is_saved`: whether a combined plan was
    saved."""

    document: dict[str, Any]
    diagnostics: tuple[Diagnostic, ...] = ()
    is_saved: bool = False
    reviews: UnitReviews = field(factory=UnitReviews)

    @property
    def failed(self) -> bool:
        return has_errors(self.diagnostics) or any(unit["outcome"] in BAD for unit in self.document["units"])

    @property
    def has_changes(self) -> bool:
        return any(unit["outcome"] in ("changes", "incomplete") for unit in self.document["units"])


def join(names: Sequence[str], out: str = "") -> Joined:
    """Join the results of shards and, if no unit failed, save their plans in the directory `out` ("": save nothing).
    `names`: report files or directories of saved plans. Raises Failure with the reasons why the shards cannot be
    joined."""
    parts, problems = [], []
    for name in names:
        try:
            parts.append(read_part(name))
        except Failure as failure:
            problems += failure.diagnostics
    if not problems:
        problems = _unfit(parts)
    if problems:
        raise Failure(problems)
    diagnostics = _fleet_diagnostics(parts)
    reviews = {name: one for part in parts for name, one in (part.report.get("reviews") or {}).items()}
    joined = Joined(_document(parts, diagnostics), diagnostics, reviews=reviews_from_json(reviews))
    if not out or joined.failed:
        return joined
    return evolve(joined, is_saved=_save(parts, joined.document, out))


def whole(folder: str) -> Joined:
    part = read_part(folder, is_whole=True)
    return Joined(
        {**part.report, **_totals(part.report["units"])},
        reviews=reviews_from_json(part.report.get("reviews") or {}),
    )


def _totals(units: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    outcomes = Counter(unit["outcome"] for unit in units)
    return {
        "succeeded": not any(unit["outcome"] in BAD for unit in units),
        "outcomes": {outcome: outcomes[outcome] for outcome in OUTCOMES if outcomes[outcome]},
    }


def _fleet_diagnostics(parts: Sequence[PartRead]) -> tuple[Diagnostic, ...]:
    """The diagnostics about the whole fleet. Every shard reports them; the result contains each of them once."""
    diagnostics: dict[tuple[str, str, str], Diagnostic] = {}
    for part in parts:
        for said in part.report["diagnostics"]:
            make = error if said["severity"] == "error" else warning
            key = (said["code"], said["summary"], said["detail"])
            diagnostics.setdefault(key, make(*key))
    return tuple(diagnostics.values())


# ---------------------------------------------------------------- whether the shards belong together


def _unfit(parts: Sequence[PartRead]) -> list[Diagnostic]:
    broken = [part for part in parts if part.report["shard"] is None]
    if broken:
        return [_failure(part) for part in broken]
    facts = FactBuilder()
    numbered = {f"{number:06}": part for number, part in enumerate(parts)}
    have_plans = all(part.manifest is not None for part in parts)
    for key, part in numbered.items():
        shard, report = part.shard, part.report
        kind = f"{report['command']} {report['mode']} {shard['fleet']}"
        facts.add("shard_part", key, shard["number"], shard["of"], kind)
        facts.add("shared_out", shard["units"])
        own, seen = _by_plans(part.manifest) if have_plans and part.manifest is not None else _by_report(part)
        for unit in report["units"]:
            facts.add("reports_unit", key, unit["unit"], own.get(unit["unit"], ""))
        for unit, made in seen.items():
            facts.add("saw_unit", key, unit, made)
    return list(_problems(numbered, facts))


def _by_plans(manifest: SavedManifest) -> tuple[dict[str, str], dict[str, str]]:
    """From a saved plan: {unit: digest of its plan} for the shard's own units, and the same for units of other shards
    that the shard planned for their outputs. The digests cover the values of outputs."""
    own = {name: saved_plan.seen_as(saved.result, saved.result.digests) for name, saved in manifest.units.items()}
    return own, manifest.shard.beside if manifest.shard is not None else {}


def _by_report(part: PartRead) -> tuple[dict[str, str], dict[str, str]]:
    """From a report: {unit: digest of its plan} for the shard's own units, and the same for units of other shards that
    the shard planned for their outputs. The digests do not cover the values of outputs."""
    shard, planned = part.shard, {unit["unit"] for unit in part.report["units"] if unit["outcome"] not in BAD}
    own = {unit: made for unit, made in shard["made_as"].items() if unit in planned}
    return own, {one["unit"]: one["made_as"] for one in shard["beside"] if one["outcome"] not in BAD}


def _problems(numbered: Mapping[str, PartRead], facts: FactBuilder) -> Iterable[Diagnostic]:
    result = evaluate(batch_program(), facts.build(), ("bad_join", "bad_unit", "missing_shard", "lacks_units"))

    def of(key: str) -> str:
        part = numbered[key]
        return f"{part.name} (shard {part.shard['number']} of {part.shard['of']})"

    for why, first, second in result.sorted("bad_join"):
        yield error("batch.join", "Shards of different batches", f"{of(first)} and {of(second)} {_WHY[why]}.")
    if result["bad_join"]:
        return
    missing = [number for (number,) in result.sorted("missing_shard")]
    if missing:
        names = ", ".join(map(str, missing[:SHOWN])) + (" and more" if len(missing) > SHOWN else "")
        count = next(iter(numbered.values())).shard["of"]
        detail = f"Of {count} shards, the results of {names} are missing: did the job fail, or was it not started?"
        yield error("batch.join_missing", "A shard is missing" if len(missing) == 1 else "Shards are missing", detail)
        return
    for why, first, second, unit in result.sorted("bad_unit"):
        if why == "twice":
            yield error(
                "batch.join",
                "Shards of different batches",
                f"{of(first)} and {of(second)} both contain the unit {unit}.",
            )
            continue
        detail = (
            f"{of(first)} was planned with outputs of {unit} that differ from those in {of(second)}: the state or "
            "the objects changed in between, or a value differs each time. Plan all shards again."
        )
        yield error("batch.join_seen", "Inconsistent shards", detail)
    for there, wanted in result.sorted("lacks_units"):
        detail = f"The fleet has {wanted} units, but the shards contain {there}."
        yield error("batch.join", "Incomplete shards", detail)


_WHY = {
    "shards": "were made with different numbers of shards",
    "fleet": "were made from different files, selections or options, or by different versions of planner",
    "twice": "are the same shard",
}


def _failure(part: PartRead) -> Diagnostic:
    text = "; ".join(f"{d['summary']}: {d['detail']}" for d in part.report["diagnostics"] if d["severity"] == "error")
    return error("batch.join", "A shard failed", f"{part.name}: {text}")


# ---------------------------------------------------------------- the combined report


def _document(parts: Sequence[PartRead], diagnostics: Iterable[Diagnostic]) -> dict[str, Any]:
    reports = [part.report for part in parts]
    units = sorted((unit for r in reports for unit in r["units"]), key=lambda unit: (unit["wave"], unit["unit"]))
    before = {unit: others for part in parts for unit, others in part.shard["before"].items()}
    first = reports[0]
    _skip(units, before, "destroy" if first["mode"] == "destroy" else first["command"])
    outcomes = Counter(unit["outcome"] for unit in units)
    orphaned = {(one["unit"], one["state"]) for report in reports for one in report["orphaned"]}
    problems = list(diagnostics)
    return {
        "format_version": "1.0",
        "command": first["command"],
        "mode": first["mode"],
        "run": "",
        "seconds": max(report["seconds"] for report in reports),
        "workers": sum(report["workers"] for report in reports),
        "peak_memory": max(report["peak_memory"] for report in reports),
        "succeeded": not (has_errors(problems) or any(unit["outcome"] in BAD for unit in units)),
        "outcomes": {outcome: outcomes[outcome] for outcome in OUTCOMES if outcomes[outcome]},
        "in_flight": sorted({unit for report in reports for unit in report["in_flight"]}),
        "units": units,
        "orphaned": [{"unit": unit, "state": state} for unit, state in sorted(orphaned)],
        "edges": first["edges"],
        "diagnostics": list(diagnostics_json(problems)),
        "shard": None,
    }


def _skip(units: list[dict[str, Any]], before: Mapping[str, list[str]], command: str) -> None:
    """Mark as skipped the units that wait for a failed unit of another shard. The job of a shard does not know about
    such failures."""
    named = {unit["unit"]: unit for unit in units}
    if not any(unit["outcome"] in BAD for unit in units):
        return
    left, done = dict(before), set[str]()
    while left:
        ready = [name for name, others in left.items() if all(o in done or o not in named for o in others)]
        for name in ready or list(left):
            others = {o: Earlier(named[o]["outcome"]) for o in left.pop(name) if o in named and o in done}
            done.add(name)
            decision = decide(command, others)
            if name in named and decision.skipped and named[name]["outcome"] not in BAD:
                nothing: dict[str, list[Any]] = {
                    "changes": [],
                    "outputs": [],
                    "changed_outputs": [],
                    "unknown_outputs": [],
                    "awaits": [],
                }
                named[name] |= {
                    "outcome": decision.outcome,
                    "because": decision.because,
                    "because_all": [decision.because],
                    **nothing,
                }
                named[name] |= {"counts": dict.fromkeys(COUNTS, 0), "plan_file": ""}


# ---------------------------------------------------------------- the plans


def _save(parts: Sequence[PartRead], document: Mapping[str, Any], out: str) -> bool:
    if document["command"] != "plan":
        raise _without_plans("only shards of batch plan have plans")
    lacking = [part.name for part in parts if part.manifest is None]
    if lacking:
        raise _without_plans(f"{', '.join(lacking[:SHOWN])} has no plans: name the directories of batch plan -out=DIR")
    manifests = [part.manifest for part in parts if part.manifest is not None]
    units: dict[str, Saved] = {}
    problems: list[Diagnostic] = []
    saved_plan.prepare(out)
    for part, manifest in zip(parts, manifests, strict=True):
        for name, saved in manifest.units.items():
            units[name] = saved
            if saved.plan:
                problems += _copy(part.name, out, saved)
    if problems:
        raise Failure(problems)
    first = manifests[0]
    made, by = min(m.made for m in manifests), ", ".join(sorted({m.by for m in manifests}))
    saved_plan.write(out, SavedManifest(first.mode, first.words, units, first.key, first.refresh, made, by))
    return True


def _copy(folder: str, out: str, saved: Saved) -> list[Diagnostic]:
    path = saved_plan.plan_path(folder, saved.unit)
    try:
        data = saved_plan.read_bounded(path)
        if sha256(data).hexdigest() == saved.plan and not os.path.islink(os.path.dirname(path)):
            replace_file(saved_plan.plan_path(out, saved.unit), data, 0o600)
            return []
        why = "is not the saved file: its SHA-256 differs"
    except OSError as problem:
        why = f"cannot be copied: {problem.strerror or problem}"
    return [error("batch.join", "Modified saved plan", f"{path} {why}.")]


def _without_plans(why: str) -> Failure:
    return Failure(error("batch.out", "Plans cannot be saved", f"-out needs the plans of all shards: {why}."))
