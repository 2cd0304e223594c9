"""Every recorded case: planned actions and reasons, output changes, drift and the places of diagnostics."""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path
from typing import Any

import pytest
from plan.planning import plan_folder, validate_folder

from planner.engine.plan.options import PlanOptions
from planner.foundation.vocabulary.diagnostic import Diagnostic
from planner.foundation.vocabulary.limits import Limits
from planner.logic.programs.actions import words
from planner.render.json_ui import OUR_OWN

CASES = Path(__file__).parents[1] / "conformance" / "cases"
ALL = sorted(p.parent.name for p in CASES.glob("*/case.json"))
META = {name: json.loads((CASES / name / "case.json").read_text(encoding="utf-8")) for name in ALL}
# found outside of planning alone, by commands: tests/conformance runs them
OUTSIDE = ("own-apply-cycle", "own-replace-flag-data")
PLANNED = [name for name in ALL if META[name]["expect"] != "validate_error" and name not in OUTSIDE]
MODES = {"-destroy": "destroy", "-refresh-only": "refresh-only"}


def work_copy(name: str, folder: Path) -> Path:
    work = folder / "work"
    shutil.copytree(CASES / name, work, ignore=shutil.ignore_patterns("expected", "case.json", "prior"))
    if (work / "prior.tfstate").exists():
        (work / "prior.tfstate").rename(work / "terraform.tfstate")
    return work


def places(diagnostics: list[Diagnostic]) -> set[tuple[Any, ...]]:
    return {
        (d.severity, d.subject.filename, d.subject.start_position.line, d.subject.end_position.line)
        if d.subject
        else (d.severity, None, None, None)
        for d in diagnostics
        if d.code not in OUR_OWN
    }


def recorded_places(found: list[dict[str, Any]]) -> set[tuple[Any, ...]]:
    return {(d["severity"], d["filename"], d["start_line"], d["end_line"]) for d in found}


@pytest.mark.parametrize("name", PLANNED)
def test_plan(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(work_copy(name, tmp_path))
    given = META[name].get("plan_args", [])
    mode = next((MODES[a] for a in given if a in MODES), "normal")
    named = {
        name: [a.split("=", 1)[1] for a in given if a.startswith(f"-{flag}=")]
        for name, flag in (("targets", "target"), ("excludes", "exclude"), ("replace", "replace"))
    }
    options = PlanOptions(
        mode=mode,  # type: ignore[arg-type]
        refresh="-refresh=false" not in given,
        limits=Limits.from_json(named),
    )
    arguments = [(a[1:].split("=")[0], a.split("=", 1)[1]) for a in given if a.startswith("-var")]
    outcome = plan_folder(Path("."), options, arguments, META[name].get("env", {}))
    result = json.loads((CASES / name / "expected" / "result.json").read_text(encoding="utf-8"))
    assert places(outcome.diagnostics) == recorded_places(result["plan_diagnostics"]), outcome.words
    golden = CASES / name / "expected" / "plan.json"
    if not golden.exists():
        return
    expected = json.loads(golden.read_text(encoding="utf-8"))
    assert outcome.plan is not None, outcome.words
    assert [
        (c.address, c.deposed, words(c.action), c.reason, c.previous_address)
        for c in outcome.plan.changes
        if not (c.mode == "data" and c.action == "delete")
    ] == [
        (
            c["address"],
            c.get("deposed", ""),
            c["change"]["actions"],
            c.get("action_reason", ""),
            c.get("previous_address", c["address"]),
        )
        for c in expected.get("resource_changes", [])
    ]
    assert {o.name: words(o.action) for o in outcome.plan.outputs} == {
        name: change["actions"] for name, change in expected.get("output_changes", {}).items()
    }
    drift = {c.address: words(c.action) for c in outcome.plan.drift if c.action != "no-op" or mode == "refresh-only"}
    assert drift == {c["address"]: c["change"]["actions"] for c in expected.get("resource_drift", [])}
    assert outcome.plan.errored == expected["errored"]


@pytest.mark.parametrize("name", ALL)
def test_validate(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(work_copy(name, tmp_path))
    assert os.path.isdir(".")
    expected = json.loads((CASES / name / "expected" / "validate.json").read_text(encoding="utf-8"))
    assert places(validate_folder(Path("."))) == recorded_places(expected)
