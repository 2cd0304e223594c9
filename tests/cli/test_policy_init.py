"""`policy init` where nothing is yet: a first policy that works at once."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from cli.conftest import Ran

Planner = Callable[..., Ran]


def test_a_first_policy(tmp_path: Path, planner: Planner, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    ran = planner("policy", "init")
    assert ran.code == 0 and ".planner/policies/no_destroy.dl" in ran.out
    ran = planner("policy", "test", "-mutants", "-json")
    found = json.loads(ran.out)
    assert ran.code == 0 and not [mutant for mutant in found.get("mutants", ()) if not mutant.get("noticed", True)]
    (tmp_path / "main.tf").write_text('resource "terraform_data" "a" {}\n')
    assert planner("apply", "-auto-approve").code == 0
    assert planner("policy", "check", "-strict").code == 0
    (tmp_path / "main.tf").write_text("")
    ran = planner("plan")
    assert ran.code == 1 and "terraform_data.a would be destroyed" in ran.err
    before = (tmp_path / ".planner/policies/no_destroy.dl").read_text()
    ran = planner("policy", "init")
    assert ran.code == 0 and "There is no pack with an external source" in ran.out
    assert (tmp_path / ".planner/policies/no_destroy.dl").read_text() == before


@pytest.mark.parametrize(
    "name", ["builtin:no_forgetting", pytest.param("builtin:changes", marks=pytest.mark.slow), "own.dl", "."]
)
def test_cases_of_policies_that_are_named(
    tmp_path: Path, planner: Planner, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "own.dl").write_text('deny("own", A, "no") :- acts(A, "delete").\n')
    case = '.case "gone"\naction("a", "delete").\n.want deny("own", "a", "no").\n.case "none"\n.want none deny.\n'
    (tmp_path / "own.case").write_text(case)
    ran = planner("policy", "test", f"-policy={name}")
    assert ran.code == 0 and " 0 failed" in ran.out, ran.err


def test_cases_of_a_policy_that_there_is_not(tmp_path: Path, planner: Planner, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    ran = planner("policy", "test", "-policy=builtin:no_forgeting")
    assert ran.code == 1 and 'Did you mean "no_forgetting"?' in ran.err
