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
    words = ("-policy=first.dl", "-policy-override=size", "-override-reason=it is")
    assert planner("apply", "-auto-approve", *words).code == 0


def test_it_is_found_while_applying(folder: Path, planner: Run) -> None:
    ran = planner("apply", "-auto-approve", "-policy=second.dl")
    assert ran.code == 1 and "Policy size cannot be decided" in ran.err
    state = json.loads((folder / "terraform.tfstate").read_text())
    assert [r["name"] for r in state["resources"] if r["instances"]] == ["first"]


SECRETS = """
variable "password" {
  default   = "hunter2"
  sensitive = true
}
variable "cost" {
  default   = 4321
  sensitive = true
}
resource "terraform_data" "db" { input = { password = var.password, ram = 1.5, cost = var.cost } }
resource "terraform_data" "web" { input = { ram = 2, cost = 1000, price = 5 } }
"""
SUMS = """
/// total(what, s): all. Example: total("ram", 3)
.decl total(what: text, s: number)
total(K, S) :- wanted(K), P = "input." ++ K, S = sum V : { planned(_, P, V) }.
/// wanted(what): a column. Example: wanted("ram")
.decl wanted(what: text)
wanted("ram"). wanted("cost").
@reason("{S} of {K}")
deny(K, "", "is " ++ S) :- total(K, S), S > 1.
@reason("{S}")
deny("twice", "", "is " ++ S) :- S = sum 2 * V : { planned(_, "input.cost", V), is_number(V) }, S > 1.
@reason("{S}")
deny("price", "", "is " ++ S) :- S = max V : { planned(A, "input.price", V), planned(A, "input.cost", _) }, S > 1.
@reason("{S}")
deny("copied", "", "is " ++ S) :- S = max W : { planned(_, "input.password", V), W = V ++ "!" }.
@reason("{A}")
deny("order", A, "is more") :- planned(A, "input.password", V), V > 10.
"""


def test_a_sum_is_sensitive_by_what_was_added(folder: Path, planner: Run) -> None:
    (folder / "main.tf").write_text(SECRETS)
    (folder / "sums.dl").write_text(SUMS)
    ran = planner("policy", "check", "-json", "-policy=sums.dl")
    messages = {f["code"]: f["message"] for f in json.loads(ran.out)["findings"]}
    assert messages == {
        "copied": "is (sensitive value)",
        "cost": "is (sensitive value)",
        "order": "cannot be decided: V > 10 has no value where V is (sensitive value)",
        "price": "is 5",
        "ram": "is 3.5",
        "twice": "is (sensitive value)",
    }
    text = ran.out + planner("policy", "check", "-proofs", "-policy=sums.dl").out
    assert "hunter2" not in text and "4321" not in text and "5321" not in text
