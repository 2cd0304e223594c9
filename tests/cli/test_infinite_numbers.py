"""Numbers that no state and no plan can store are errors where they are computed, never of planner itself."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

Run = Callable[..., Any]
ZERO = 'resource "terraform_data" "zero" {\n  input = 0\n}\n'
KEPT: dict[str, tuple[str, str]] = {
    "an argument": ('resource "terraform_data" "a" {\n  input = { x = [1 / 0] }\n}\n', "input.x[0] is infinite"),
    "an output": ('output "a" {\n  value = pow(10, 400)\n}\n', "output.a is infinite"),
    "a part of an output": ('output "a" {\n  value = [-1 / 0]\n}\n', "A number in output.a is infinite"),
    "a data source": (
        'data "terraform_remote_state" "a" {\n  backend  = "local"\n  defaults = { x = 1 / 0 }\n}\n',
        "defaults.x is infinite",
    ),
}
LATE: dict[str, tuple[str, str]] = {
    "an argument": (
        'resource "terraform_data" "a" {\n  input = 1 / terraform_data.zero.output\n}\n',
        "input is infinite",
    ),
    "an output": ('output "a" {\n  value = 1 / terraform_data.zero.output\n}\n', "output.a is infinite"),
}


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.parametrize("name", KEPT)
def test_an_infinite_number_is_not_planned(name: str, folder: Path, planner: Run) -> None:
    text, message = KEPT[name]
    (folder / "main.tf").write_text(text)
    ran = planner("plan")
    assert ran.code == 1
    assert message in ran.err.replace("\n", " ")


@pytest.mark.parametrize("name", LATE)
def test_one_that_is_computed_late_ends_an_apply(name: str, folder: Path, planner: Run) -> None:
    text, message = LATE[name]
    (folder / "main.tf").write_text(ZERO + text)
    ran = planner("apply", "-auto-approve")
    assert ran.code == 1
    assert message in ran.err.replace("\n", " ")
    assert "Internal error" not in ran.err
    state = json.loads((folder / "terraform.tfstate").read_text())
    assert [r["name"] for r in state["resources"] if r["instances"]] == ["zero"]


def test_variables_and_local_values_may_be_infinite(folder: Path, planner: Run) -> None:
    text = 'variable "v" {\n  default = -1 / 0\n}\nlocals {\n  l = [1 / 0]\n}\n'
    text += 'resource "terraform_data" "a" {\n  input = [var.v < 3, local.l[0] < 3]\n}\n'
    (folder / "main.tf").write_text(text)
    for words in (["plan", "-out=plan"], ["show", "plan"], ["apply", "plan"]):
        ran = planner(*words)
        assert ran.code == 0, ran.err
    state = json.loads((folder / "terraform.tfstate").read_text())
    assert state["resources"][0]["instances"][0]["attributes"]["input"]["value"] == [True, False]
