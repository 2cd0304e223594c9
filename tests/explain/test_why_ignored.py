"""Differences that ignore_changes ignores: `why` names the attributes, and the lines that ignore them."""

from __future__ import annotations

from pathlib import Path

import pytest

CONFIGURATION = """
variable "v" { default = 1 }
resource "terraform_data" "one" {
  input            = var.v
  triggers_replace = "same"
  lifecycle {
    ignore_changes = [input, triggers_replace]
  }
}
resource "terraform_data" "all" {
  input            = var.v
  triggers_replace = [var.v]
  lifecycle {
    ignore_changes = all
  }
}
resource "terraform_data" "nested" {
  input = { a = var.v, b = 1 }
  lifecycle {
    ignore_changes = [input.a]
  }
}
resource "terraform_data" "both" {
  input            = var.v
  triggers_replace = var.v
  lifecycle {
    ignore_changes = [triggers_replace]
  }
}
"""


@pytest.fixture(autouse=True)
def applied(tmp_path: Path, planner, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("main.tf").write_text(CONFIGURATION)
    assert planner("apply", "-auto-approve").code == 0


@pytest.mark.parametrize(
    ("name", "lines"),
    [
        (
            "one",
            [
                "input (main.tf:7)",
                '  input is 1 in the state and "2" in the configuration (main.tf:4)',
            ],
        ),
        (
            "all",
            [
                "input, triggers_replace (main.tf:13)",
                "  input differs from its configuration",
                "  triggers_replace differs from its configuration",
            ],
        ),
        (
            "nested",
            [
                "input.a (main.tf:20)",
                '  input.a is 1 in the state and "2" in the configuration (main.tf:18)',
            ],
        ),
    ],
)
def test_why_names_what_is_ignored_and_where(name, lines, planner):
    out = planner("why", f"terraform_data.{name}", "-var=v=2").out
    ignored, *rest = lines
    assert out.splitlines() == [f"terraform_data.{name} does not change: ignore_changes has {ignored}", *rest]


def test_what_does_not_differ_is_as_declared(planner):
    out = planner("why", "terraform_data.one").out
    assert out == "terraform_data.one does not change: it matches its declaration (main.tf:3)\n"
    assert "triggers_replace" not in planner("why", "terraform_data.one", "-var=v=2").out


def test_why_there_is_no_update(planner):
    out = planner("why", "-not", "update", "terraform_data.one", "-var=v=2").out
    assert "only input differs from its configuration, and ignore_changes ignores that" in out


def test_a_change_of_the_rest_is_a_change(planner):
    out = planner("why", "terraform_data.both", "-var=v=2").out
    assert out.startswith("terraform_data.both is updated in place: input differs")
