"""Questions about a plan in a file, and about one in which nothing changes."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from .conftest import Ran

Run = Callable[..., Ran]
MAIN = """
variable "v" { default = 1 }
resource "terraform_data" "base" { triggers_replace = var.v }
resource "terraform_data" "top" {
  input      = 1
  depends_on = [terraform_data.base]
  lifecycle { create_before_destroy = true }
}
resource "terraform_data" "other" {}
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, planner: Run) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "main.tf").write_text(MAIN)
    assert planner("apply", "-auto-approve").code == 0
    return tmp_path


def test_what_a_plan_in_a_file_was_forced_to(folder: Path, planner: Run) -> None:
    assert planner("plan", "-var=v=2", "-out=p.plan").code == 0
    for words in (("-plan=p.plan",), ("-var=v=2",)):
        ran = planner("why", *words, "forced", "terraform_data.base")
        assert ran.code == 0 and "something to which create_before_destroy applies" in ran.out, ran.err
    ran = planner("why", "-plan=p.plan", "forced", "terraform_data.other")
    assert ran.code == 1 and "does not hold" in ran.err
    assert planner("plan", "-target=terraform_data.base", "-out=t.plan").code == 0
    assert planner("why", "-plan=t.plan", "targeted", "terraform_data.base").code == 0
    assert planner("why", "-plan=t.plan", "targeted", "terraform_data.top").code == 1


def test_the_actions_of_a_plan_without_changes(folder: Path, planner: Run) -> None:
    rows = json.loads(planner("query", "-json", "operation(X, Y)").out)["rows"]
    assert rows == [[f"terraform_data.{name}", "no-op"] for name in ("base", "other", "top")]
    rows = json.loads(planner("query", "-json", "-var=v=2", "operation(X, Y)").out)["rows"]
    assert ["terraform_data.other", "no-op"] in rows and ["terraform_data.base", "create"] in rows


def test_nothing_is_told_of_refreshing_when_nobody_is_asked(folder: Path, planner: Run) -> None:
    assert "Refreshing state" in planner("plan").out
    check = ("policy", "check", "-policy=builtin:changes")
    for words in (("plan", "-offline"), ("plan", "-offline", "-json"), ("suggest",), check):
        ran = planner(*words)
        assert ran.code == 0 and "efresh" not in ran.out + ran.err, words
