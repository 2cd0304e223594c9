"""Every change of every recorded case has a cause; and where what the causes were before is known, taking them back
takes back the change."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from explain.explaining import explain, explain_recorded
from explain.turning_back import Former, unexplained
from plan.test_recorded_plans import CASES, META, PLANNED, work_copy

from planner.logic.model.plan import change_name

Run = Callable[..., Any]


@pytest.mark.parametrize("name", PLANNED)
def test_every_change_has_a_cause(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    explained = explain_recorded(name, tmp_path, monkeypatch)
    if explained is None:
        return
    causes = explained.causes()
    names = [change_name(c) for c in explained.plan.changes if c.action != "no-op"]
    names += [f"output.{o.name}" for o in explained.plan.outputs if o.action != "no-op"]
    for change in names:
        assert causes[change].roots, change
        assert all(root.kind for root in causes[change].roots), causes[change].roots


TWICE = [name for name in PLANNED if (CASES / name / "prior").is_dir()]


@pytest.mark.slow
def test_taking_back_the_causes_takes_back_the_change(
    tmp_path: Path, planner: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    checked, wrong = 0, []
    for name in TWICE:
        with monkeypatch.context() as patch:
            (tmp_path / name).mkdir()
            number, stay = taken_back(name, tmp_path / name, planner, patch)
        checked += number
        wrong += [f"{name}: {change}" for change in stay]
    assert wrong == []
    assert checked >= 43


def taken_back(name: str, folder: Path, planner: Run, patch: pytest.MonkeyPatch) -> tuple[int, list[str]]:
    """The configuration that the prior state is from is applied here, so that its values are on record."""
    applied, work = folder / "applied", work_copy(name, folder)
    shutil.copytree(CASES / name / "prior", applied)
    for variable, value in META[name].get("env", {}).items():
        patch.setenv(variable, value)
    patch.chdir(applied)
    first, _ = explain([])
    if first is None or planner("apply", "-auto-approve").code != 0:
        return 0, []
    former = Former.of(first, applied)
    for path in (*applied.glob("terraform.tfstate"), *applied.glob(".terraform.tfstate.applied.json")):
        shutil.copy(path, work / path.name)
    patch.chdir(work)
    options = META[name].get("plan_args", [])
    explained, _ = explain(options)
    return unexplained(explained, former, options, work) if explained is not None else (0, [])
