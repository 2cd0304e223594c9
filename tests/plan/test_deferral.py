"""`-allow-deferral`: what has instances that nobody knows yet is left for a later plan, with all that depends on it."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from cli.conftest import Ran

Planner = Callable[..., Ran]

CONFIG = """
resource "terraform_data" "a" { input = "x" }
resource "terraform_data" "b" {
  count = length(terraform_data.a.id) > 0 ? 2 : 0
  input = count.index
}
resource "terraform_data" "c" { input = terraform_data.b[*].id }
resource "terraform_data" "d" { input = 1 }
module "m" {
  source   = "./m"
  for_each = toset([for id in terraform_data.b[*].id : "k-${length(id)}"])
}
output "o" { value = terraform_data.c.input }
output "p" { value = terraform_data.d.input }
"""


@pytest.fixture
def folder(tmp_path: Path, planner: Planner, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "m").mkdir()
    (tmp_path / "m" / "main.tf").write_text('resource "terraform_data" "x" {}\n')
    (tmp_path / "main.tf").write_text(CONFIG)
    monkeypatch.chdir(tmp_path)
    assert planner("init").code == 0
    return tmp_path


def planned(planner: Planner, *words: str) -> dict[str, Any]:
    assert planner("plan", "-allow-deferral", "-out=p", *words).code == 0
    document: dict[str, Any] = json.loads(planner("show", "-json", "p").out)
    return document


def changes(document: dict[str, Any]) -> list[str]:
    found = document.get("resource_changes", [])
    return [c["address"] for c in found if c["change"]["actions"] != ["no-op"]]


def test_imports_that_are_not_known(folder: Path, planner: Planner) -> None:
    text = 'resource "terraform_data" "a" {}\nresource "terraform_data" "b" {}\n'
    text += 'resource "terraform_data" "c" {\n count = 1\n}\n'
    text += "import {\n to = terraform_data.b\n id = terraform_data.a.id\n}\n"
    text += "import {\n to = terraform_data.c[0]\n for_each = toset([terraform_data.a.id])\n id = each.key\n}\n"
    (folder / "main.tf").write_text(text)
    assert "Invalid import id argument" in planner("plan").err
    document = planned(planner)
    assert changes(document) == ["terraform_data.a"]
    assert [(d["address"], d["argument"]) for d in document["deferred"]] == [
        ("terraform_data.b", "import.id"),
        ("terraform_data.c", "import.for_each"),
    ]
    (first, _) = document["deferred_changes"]
    assert first["reason"] == "resource_config_unknown"
    assert first["resource_change"]["change"]["importing"] == {"unknown": True}
    why = planner("why", "deferred", "terraform_data.b").out
    assert (
        "the object to import into terraform_data.b is not known yet: import.id refers to terraform_data.a: main.tf:8"
        in why
    )
    assert planner("apply", "p").code == 0
    assert "deferred" not in planned(planner)


def test_round_by_round(folder: Path, planner: Planner) -> None:
    assert planner("plan").err.count("Invalid count argument") == 1
    document = planned(planner)
    assert changes(document) == ["terraform_data.a", "terraform_data.d"]
    assert document["complete"] is False
    assert document["deferred"] == [
        {"address": "terraform_data.b", "argument": "count", "place": "main.tf:4,11-50"},
    ]
    assert list(document["planned_values"]["outputs"]) == ["p"]
    ran = planner("apply", "p")
    assert ran.code == 0 and "were deferred to a later plan, so plan again: terraform_data.b." in " ".join(
        ran.out.split()
    )
    assert "not suitable for routine use" not in ran.err + ran.out
    document = planned(planner)
    assert changes(document) == ["terraform_data.b[0]", "terraform_data.b[1]", "terraform_data.c"]
    assert [d["address"] for d in document["deferred"]] == ["module.m"]
    assert planner("apply", "p").code == 0
    document = planned(planner)
    assert changes(document) == ['module.m["k-36"].terraform_data.x']
    assert "deferred" not in document and "complete" not in document
    assert planner("apply", "p").code == 0
    assert planner("plan", "-detailed-exitcode").code == 0


def test_a_partial_plan_says_so(folder: Path, planner: Planner) -> None:
    ran = planner("plan", "-allow-deferral", "-detailed-exitcode")
    assert ran.code == 2
    assert "  - terraform_data.b: count at main.tf:4,11-50\n" in ran.out
    assert "Resource targeting is in effect" not in ran.err
    (folder / "main.tf").write_text(CONFIG.replace("input = count.index", "input = nothing.here.at_all"))
    assert "Reference to undeclared resource" in planner("plan", "-allow-deferral").err


def test_what_is_wrong_besides_is_an_error(folder: Path, planner: Planner) -> None:
    (folder / "main.tf").write_text(CONFIG + 'resource "terraform_data" "e" { count = tonumber("x") }\n')
    ran = planner("plan", "-allow-deferral")
    assert ran.code == 1
    ran = planner("plan", "-allow-deferral", "-target=terraform_data.a")
    assert ran.code == 1 and "remove -target" in ran.err


def test_it_goes_together_with_exclude(folder: Path, planner: Planner) -> None:
    document = planned(planner, "-exclude=terraform_data.d")
    assert changes(document) == ["terraform_data.a"]
    assert [d["address"] for d in document["deferred"]] == ["terraform_data.b"]


DECIDES = "count refers to terraform_data.a: main.tf:4: count = length(terraform_data.a.id) > 0 ? 2 : 0"
WHY = {
    "terraform_data.b": ["left with it, because they depend on it: module.m.terraform_data.x, terraform_data.c"],
    "terraform_data.b[1]": [],
    "terraform_data.c": ["terraform_data.c depends on terraform_data.b: main.tf:7:"],
    "module.m.terraform_data.x": ["module.m depends on terraform_data.b: main.tf:11:"],
    "output.o": ["output.o needs terraform_data.b: main.tf:13:"],
}


def test_why(folder: Path, planner: Planner) -> None:
    planned(planner)
    for address, steps in WHY.items():
        for of in ((), ("-plan=p",)):
            text = " ".join(planner("why", "deferred", address, *of).out.split())
            assert text.startswith(f"{address} is left for a later plan: ") and DECIDES in text
            assert all(step in text for step in steps)
    listed = planner("why", "deferred").out.split()
    assert listed[6:] == ["module.m.terraform_data.x", "output.o", "terraform_data.b", "terraform_data.c"]
    fixes = " ".join(planner("why", "-fix", "deferred", "terraform_data.c").out.split())
    assert "1. main.tf:4: count" in fixes and "2. main.tf:7: resource" in fixes and fixes.count("[checked]") == 2
    assert planner("query", "-plan=p", "-type=plan", "deferral(B, W)").out.split()[-2:] == ["terraform_data.b", "count"]
    assert "does not hold" in planner("why", "deferred", "terraform_data.d").err


RULES = """
deny("input", A, "has an input") :- change(A, "terraform_data", _, _, _, _), planned(A, "input", "no").
deny("gone", A, "goes") :- acts(A, "delete").
deny("bucket", A, "is a bucket") :- change(A, "aws_s3_bucket", _, _, _, _).
deny("many", "", "too many") :- N = count : { change(_, _, _, _, _, _) }, N > 10.
deny("why", A, "is replaced by request") :- reason(A, "replace_by_request").
deny("place", A, "is replaced for its input") :- replace_path(A, "input").
deny("late", "", "too late") :- plan_time("2000-01-01T00:00:00Z").
"""


def test_policies_that_might_meet_what_is_left_are_undecided(folder: Path, planner: Planner) -> None:
    (folder / "own.dl").write_text(RULES)
    planned(planner)
    (folder / "plan.json").write_text(planner("show", "-json", "p").out)
    late = ("module.m.terraform_data.x", "terraform_data.b", "terraform_data.c")
    for name in ("p", "plan.json"):
        verdict = json.loads(planner("policy", "check", "-policy=own.dl", f"-plan={name}", "-json").out)
        found = sorted((f["verdict"], f["code"], f["address"]) for f in verdict["findings"])
        assert found == [
            *(("undecided", "gone", address) for address in late),
            *(("undecided", "input", address) for address in late),
            ("undecided", "many", "terraform_data.b"),
            *(("undecided", "place", address) for address in late),
            *(("undecided", "why", address) for address in late),
        ], name
        messages = {f["message"] for f in verdict["findings"]}
        assert messages == {"is decided by a later plan, when count of terraform_data.b is known"}
