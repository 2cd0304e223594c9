"""Advice is true: over all recorded cases and examples it remarks on nothing but what was looked at one by one."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from graph.recorded import cases

from planner.engine.walk.hooks import Hooks
from planner.foundation.vocabulary.diagnostic import has_errors
from planner.logic.graph.build import build_graph
from planner.operations.advice import advice
from planner.operations.apply import apply
from planner.operations.get import get
from planner.operations.options import OperationOptions
from planner.operations.plan import plan

EXAMPLES = Path(__file__).parents[2] / "examples"
TRUE = {
    "cbd-chain-three": {
        ("forced_create_before_destroy", "terraform_data.a"),
        ("forced_create_before_destroy", "terraform_data.b"),
    },
    "cbd-propagates": {("forced_create_before_destroy", "terraform_data.base")},
}
FAILING = {"05_cycle"}
"""examples without a plan"""


def test_the_recorded_cases(tmp_path: Path) -> None:
    found = {}
    for case in cases("apply"):
        built = build_graph(case.facts("apply", tmp_path / case.folder.name), True)
        remarks = {row[:2] for row in built.database["advice"]}
        if remarks:
            found[case.folder.name] = remarks
    assert found == TRUE


@pytest.mark.parametrize("name", sorted(p.name for p in EXAMPLES.iterdir() if (p / "main.tf").exists()))
def test_the_examples(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    shutil.copytree(EXAMPLES / name, tmp_path / name)
    monkeypatch.chdir(tmp_path / name)
    get(OperationOptions())
    result = advice(OperationOptions())
    assert result.remarks == () and has_errors(result.diagnostics) == (name in FAILING)


LETS_GO = """
variable "keys" {
  type    = list(string)
  default = ["x", "y"]
}
variable "v" { default = 1 }
variable "old" { default = true }
resource "terraform_data" "c" {
  for_each = toset(var.keys)
  input    = each.key
}
resource "terraform_data" "b" { input = terraform_data.c["x"].id }
resource "terraform_data" "a" { input = [terraform_data.b.id, var.v] }
resource "terraform_data" "direct" { input = [terraform_data.c["x"].id, var.v] }
resource "terraform_data" "through" { input = [local.x, var.v] }
locals { x = { for k, v in terraform_data.c : k => v.id }["x"] }
%s
"""
USER = """
resource "terraform_data" "gone" {}
resource "terraform_data" "user" { input = terraform_data.gone.id }
resource "terraform_data" "its_user" { input = [terraform_data.user.output, var.v] }
"""
LATER = """
resource "terraform_data" "user" { input = "nothing" }
resource "terraform_data" "its_user" { input = [terraform_data.user.id, var.v] }
"""


def test_what_lets_go_and_what_does_not(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    main = tmp_path / "main.tf"
    main.write_text(LETS_GO % USER)
    planned = plan(OperationOptions(), Hooks())
    assert not has_errors(apply(OperationOptions(), planned, Hooks()).diagnostics)
    main.write_text((LETS_GO % LATER).replace('["x", "y"]', '["x"]').replace("default = 1", "default = 2"))
    result = advice(OperationOptions())
    assert not result.diagnostics
    assert [(r.code, r.address) for r in result.remarks] == [("destroy_before_update", "terraform_data.user")]
