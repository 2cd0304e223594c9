"""Failing checks on the command line, and their results when a plan is limited (as OpenTofu 1.12.6 records them)."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from .conftest import Ran

Planner = Callable[..., Ran]
MAIN = """
variable "v" { default = "a" }
resource "terraform_data" "a" {
  count = 2
  input = var.v
  lifecycle {
    postcondition {
      condition     = self.input != "zz"
      error_message = "no zz"
    }
  }
}
module "m" {
  source = "./m"
  count  = 2
}
check "one" {
  assert {
    condition     = var.v == "x"
    error_message = "the first"
  }
  assert {
    condition     = var.v == "y"
    error_message = "the second"
  }
}
check "two" {
  assert {
    condition     = terraform_data.a[0].output == "y"
    error_message = "the third"
  }
}
"""
MODULE = """
resource "terraform_data" "c" {
  count = 2
  lifecycle {
    precondition {
      condition     = path.module != ""
      error_message = "m"
    }
  }
}
"""


@pytest.fixture
def here(tmp_path: Path, planner: Planner, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "main.tf").write_text(MAIN)
    (tmp_path / "m").mkdir()
    (tmp_path / "m" / "main.tf").write_text(MODULE)
    assert planner("get").code == 0
    return tmp_path


@pytest.mark.parametrize("words", [("apply", "-auto-approve"), ("plan",)])
def test_every_failing_check_is_told_once(here: Path, planner: Planner, words: tuple[str, ...]) -> None:
    assert planner("apply", "-auto-approve").code == 0
    ran = planner(*words)
    assert ran.code == 0
    assert [ran.out.count(f"\nthe {which}\n") for which in ("first", "second", "third")] == [1, 1, 1]
    assert "more similar" not in ran.out


@pytest.mark.parametrize("words", [("apply", "-auto-approve"), ("plan",), ("plan", "-consolidate-errors")])
def test_each_instance_has_its_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, planner: Planner, words: tuple[str, ...]
) -> None:
    """An expression that fails is told for each instance, though nothing in the message says for which."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "main.tf").write_text(
        'variable "v" {\n  default = {}\n}\nresource "terraform_data" "a" {\n  count = 2\n  input = var.v.no\n}\n'
    )
    ran = planner(*words)
    assert ran.code == 1 and "with terraform_data" not in ran.err
    together = "-consolidate-errors" in words
    assert ran.err.count("Error: ") == 2 - together
    assert ("(and one more similar error elsewhere)" in ran.err) == together


def test_who_is_asked_sees_the_checks_before(here: Path, planner: Planner) -> None:
    ran = planner("apply", stdin="yes\n")
    question = ran.out.index("Enter a value")
    assert "the first" in ran.out[:question]
    assert "the first" in ran.out[question:]


A, C = "terraform_data.a", "module.m.terraform_data.c"


@pytest.mark.parametrize(
    ("words", "group", "status", "objects"),
    [
        (("-target=terraform_data.a[0]",), A, "unknown", ["pass", "unknown"]),
        (("-target=terraform_data.a",), A, "pass", ["pass", "pass"]),
        (("-target=module.m[0]",), C, "unknown", ["pass", "pass", "unknown", "unknown"]),
        (("-exclude=module.m[1].terraform_data.c[0]",), C, "unknown", ["pass", "pass", "unknown", "pass"]),
        (("-target=module.m[0]",), A, "unknown", []),
    ],
)
def test_objects_that_are_left_out_are_unknown(
    here: Path, planner: Planner, words: tuple[str, ...], group: str, status: str, objects: list[str]
) -> None:
    assert planner("apply", "-auto-approve", "-var=v=b", *words).code == 0
    results = json.loads((here / "terraform.tfstate").read_text())["check_results"]
    (found,) = (result for result in results if result["config_addr"] == group)
    assert found["status"] == status
    assert [one["status"] for one in sorted(found["objects"] or (), key=lambda one: one["object_addr"])] == objects
