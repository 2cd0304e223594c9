"""Judging plans from Python."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from planner import Failure, judge

RULE = 'deny("size", A, "is large") :- planned(A, "input.size", N), is_number(N), N > 10.\n'


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "main.tf").write_text('resource "terraform_data" "a" {\n  input = { size = 11 }\n}\n')
    (tmp_path / ".planner" / "policies").mkdir(parents=True)
    (tmp_path / ".planner" / "policies" / "house.dl").write_text(RULE)
    change = {"actions": ["create"], "before": None, "after": {"input": {"size": 12}}, "after_unknown": {}}
    resource = {
        "address": "terraform_data.b",
        "mode": "managed",
        "type": "terraform_data",
        "name": "b",
        "provider_name": "terraform.io/builtin/terraform",
        "change": change,
    }
    (tmp_path / "plan.json").write_text(json.dumps({"format_version": "1.2", "resource_changes": [resource]}))
    state = {"version": 4, "terraform_version": "1.9.0", "serial": 1, "lineage": "x", "outputs": {}, "resources": []}
    (tmp_path / "terraform.tfstate").write_text(json.dumps(state))
    return tmp_path


def test_a_plan_of_ones_own(folder: Path) -> None:
    verdict = judge(directory=folder)
    assert verdict.is_denied
    assert [(f.kind, f.code, f.address) for f in verdict.findings] == [("deny", "size", "terraform_data.a")]
    assert verdict.findings[0].span is not None and verdict.findings[0].proof["goal"][0] == "deny"


def test_plans_and_states_of_others(folder: Path) -> None:
    verdict = judge(folder / "plan.json", policies=["builtin:no_provisioners"], directory=folder)
    assert [(f.kind, f.code, f.address) for f in verdict.of("deny")] == [("deny", "size", "terraform_data.b")]
    assert not judge(folder / "terraform.tfstate", kind="state", directory=folder).findings


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ({"policies": ["builtin:gone"]}, "gone"),
        ({"document": "none.json"}, "none.json"),
        ({"document": "main.tf"}, "main.tf"),
    ],
)
def test_what_cannot_be_judged(folder: Path, monkeypatch: pytest.MonkeyPatch, arguments: dict, said: str) -> None:  # type: ignore[type-arg]
    monkeypatch.chdir(folder)
    with pytest.raises(Failure) as caught:
        judge(**arguments)
    assert said in " ".join(f"{d.summary} {d.detail}" for d in caught.value.diagnostics)
