"""A policy that asks of objects what they never have: an error when it is checked, a warning when a plan is made."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from cli.conftest import make_terminal
from planner.cli import main


def run(*words: str) -> tuple[int, str, str]:
    screen: Any = make_terminal()
    code = main.dispatch(list(words), screen)
    return code, screen.stdout.getvalue(), screen.stderr.getvalue()


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "main.tf").write_text('resource "terraform_data" "a" {\n  input = { size = 1 }\n}\n')
    rule = 'deny("x", A, "no") :- change(A, "terraform_data", _, _, _, _), planned(A, "inptu.size", 1).\n'
    (tmp_path / "bad.dl").write_text(rule)
    return tmp_path


def test_misspelt_paths(folder: Path) -> None:
    code, out, problems = run("policy", "check", "-policy=bad.dl")
    assert code == 1 and out == "" and 'there is no inptu. Did you mean "input"?' in problems
    code, out, problems = run("plan", "-policy=bad.dl")
    assert code == 0 and "Warning: No such path" in out + problems


def test_those_that_are_right(folder: Path) -> None:
    (folder / "good.dl").write_text((folder / "bad.dl").read_text().replace("inptu", "input"))
    code, out, problems = run("policy", "check", "-policy=good.dl")
    assert code == 1 and "1 denied" in out and problems == ""


MET = """
deny("none", A, "no") :- stays(A, "aws_s3_bucket").
judged("none", A) :- stays(A, "aws_s3_bucket").
deny("some", A, "no") :- stays(A, "terraform_data"), planned(A, "input.size", 2).
judged("some", A) :- stays(A, "terraform_data").
deny("quiet", A, "no") :- stays(A, "terraform_data"), planned(A, "input.size", 3).
"""


def test_those_that_met_nothing(folder: Path) -> None:
    (folder / "met.dl").write_text(MET)
    assert run("policy", "check", "-policy=met.dl")[0] == 0
    code, _, problems = run("policy", "check", "-strict", "-policy=met.dl")
    assert code == 1 and problems.count("Error: ") == 2
    assert "Policy none matched no object" in problems
    assert "Policy quiet has no rule for the relation judged" in problems
    assert 'judged("quiet", A)' in problems


def test_a_type_that_the_provider_does_not_have(folder: Path) -> None:
    (folder / "type.dl").write_text('deny("x", A, "no") :- stays(A, "terraform_dat").\n')
    code, _, problems = run("policy", "check", "-policy=type.dl")
    assert code == 1 and 'has no resource terraform_dat. Did you mean "terraform_data"?' in " ".join(problems.split())
