"""Policies that compute something that has no value: told in every format, and the plan is refused."""

from __future__ import annotations

import json
import xml.etree.ElementTree as ElementTree
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

MAIN = """
resource "terraform_data" "first" { input = "large" }
resource "terraform_data" "second" { input = terraform_data.first.output }
"""
SIZE = '@reason("{A}")\ndeny("size", A, "is large") :- change(A, _, "%s", _, _, _), planned(A, "input", V), V > 10.\n'


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "main.tf").write_text(MAIN)
    (tmp_path / "first.dl").write_text(SIZE % "first")
    (tmp_path / "second.dl").write_text(SIZE % "second")
    return tmp_path


Run = Callable[..., Any]


def test_every_format_tells(folder: Path, planner: Run) -> None:
    ran = planner("policy", "check", "-policy=first.dl")
    assert ran.code == 1 and "Policies: 1 broken." in ran.out
    assert "broken     size    terraform_data.first  cannot be decided: V > 10 has no value where V is large" in ran.out
    document = json.loads(planner("policy", "check", "-policy=first.dl", "-json").out)
    assert (document["verdict"], document["counts"]["broken"]) == ("broken", 1)
    (finding,) = document["findings"]
    leaves = [step["tuple"] for step in finding["proof"]["proofs"].values() if step.get("input")]
    assert ["planned", "terraform_data.first", "input", "large"] in leaves
    (finding,) = json.loads(planner("policy", "check", "-policy=first.dl", "-format=sarif").out)["runs"][0]["results"]
    assert (finding["level"], finding["kind"], finding["properties"]["verdict"]) == ("error", "fail", "broken")
    suites = ElementTree.fromstring(planner("policy", "check", "-policy=first.dl", "-format=junit").out)
    assert (suites.get("errors"), suites.get("failures")) == ("1", "0")
    assert suites.find(".//error") is not None


def test_a_plan_with_it_is_refused(folder: Path, planner: Run) -> None:
    ran = planner("plan", "-policy=first.dl", "-out=p.plan")
    assert ran.code == 1 and "Policy size cannot be decided" in ran.err and not (folder / "p.plan").exists()
    assert planner("apply", "-auto-approve", "-policy=first.dl").code == 1
    assert not (folder / "terraform.tfstate").exists()
    lines = [json.loads(line) for line in planner("plan", "-json", "-policy=first.dl").out.splitlines()]
    assert [line["policy"]["verdict"] for line in lines if line["type"] == "policy_result"] == ["broken"]
    words = ("-policy=first.dl", "-policy-override=size", "-reason=it is")
    assert planner("apply", "-auto-approve", *words).code == 0


def test_it_is_found_while_applying(folder: Path, planner: Run) -> None:
    ran = planner("apply", "-auto-approve", "-policy=second.dl")
    assert ran.code == 1 and "Policy size cannot be decided" in ran.err
    state = json.loads((folder / "terraform.tfstate").read_text())
    assert [r["name"] for r in state["resources"] if r["instances"]] == ["first"]
