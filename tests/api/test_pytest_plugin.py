"""Modules are tested in Python: the fixtures, in a pytest of their own."""

from __future__ import annotations

from pathlib import Path

import pytest

pytest_plugins = ["pytester"]

MODULE = """
variable "name" {}

resource "terraform_data" "a" {
  input = var.name
}

output "name" {
  value = terraform_data.a.output
}

terraform {
  backend "s3" {
    bucket = "never-opened"
    key    = "state"
  }
}
"""
TESTS = """
import pytest
import planner

def test_plan(planner_plan):
    plan = planner_plan("module", {"name": "a"})
    assert [c.address for c in plan.changes] == ["terraform_data.a"]

def test_apply_then_plan(planner_apply, planner_plan):
    assert planner_apply("module", {"name": "b"}).outputs == {"name": "b"}
    assert planner_plan("module", {"name": "b"}).is_empty
    (change,) = planner_plan("module", {"name": "c"}).changes
    assert change.action == "update" and change.causes[0].what == "var.name"

def test_mistakes(planner_plan):
    with pytest.raises(planner.Failure, match="undeclared"):
        planner_plan("module", {"name": "a", "size": 1})

def test_snapshot(planner_plan, planner_snapshot):
    planner_snapshot(planner_plan("module", {"name": NAME}))
"""


@pytest.fixture
def project(pytester: pytest.Pytester) -> pytest.Pytester:
    (pytester.path / "module").mkdir()
    (pytester.path / "module" / "main.tf").write_text(MODULE)
    return pytester


def write_tests(project: pytest.Pytester, name: str) -> None:
    (project.path / "test_module.py").write_text(f"NAME = {name!r}\n{TESTS}")


def test_fixtures(project: pytest.Pytester) -> None:
    write_tests(project, "web")
    result = project.runpytest_subprocess("-p", "no:cacheprovider")
    result.assert_outcomes(passed=3, failed=1)
    result.stdout.fnmatch_lines(["*There is no snapshot test_module.test_snapshot.txt yet*"])
    project.runpytest_subprocess("--planner-update").assert_outcomes(passed=4)
    project.runpytest_subprocess().assert_outcomes(passed=4)
    assert not list(Path(project.path, "module").glob("*.tfstate*"))
    write_tests(project, "db")
    result = project.runpytest_subprocess("-k", "snapshot")
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(['-*input*= "web"*', '+*input*= "db"*'])


def test_snapshots_have_no_secrets(project: pytest.Pytester) -> None:
    """terraform_data copies a sensitive input into an output that is not sensitive."""
    text = MODULE.replace('variable "name" {}', 'variable "name" {\n  sensitive = true\n}')
    (project.path / "module" / "main.tf").write_text(
        text.replace('output "name" {', 'output "name" {\n  sensitive = true')
    )
    project.makepyfile(
        """
        def test_update(planner_apply, planner_plan, planner_snapshot):
            planner_apply("module", {"name": "hunter2"})
            planner_snapshot(planner_plan("module", {"name": "other-secret"}))
        """
    )
    project.runpytest_subprocess("--planner-update").assert_outcomes(passed=1)
    (snapshot,) = (project.path / "__snapshots__").iterdir()
    kept = snapshot.read_text()
    assert "output" in kept and "hunter2" not in kept and "other-secret" not in kept
    project.runpytest_subprocess("-k", "update").assert_outcomes(passed=1)  # with another id of terraform_data
