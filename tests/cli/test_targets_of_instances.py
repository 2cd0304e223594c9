"""What -target and -exclude reach in modules with instances, and what is said about them."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from .conftest import Ran

ROOT = """
module "a" {
  source = "./a"
  count  = 2
}
output "o" { value = module.a[*].x }
"""
MIDDLE = """
module "b" {
  source = "./b"
  COUNT
}
resource "terraform_data" "x" { count = 2 }
output "x" { value = module.bKEY.y }
"""
INNER = """
resource "terraform_data" "y" { REPEAT }
output "y" { value = terraform_data.yKEY.id }
"""
Y = tuple(f"module.a[{i}].module.b.terraform_data.y[1]" for i in range(2))
Y0 = tuple(f"module.a[{i}].module.b.terraform_data.y[0]" for i in range(2))
X = tuple(f"module.a[{i}].terraform_data.x[{j}]" for i in range(2) for j in range(2))
ALL = {*X, *Y, *Y0}
Planner = Callable[..., Ran]


@pytest.fixture
def applied(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, planner: Planner) -> Planner:
    monkeypatch.chdir(tmp_path)
    write("count = 2", "[1]")
    assert planner("init").code == 0
    assert planner("apply", "-auto-approve").code == 0
    return planner


def write(repeat: str, key: str) -> None:
    Path("a/b").mkdir(parents=True, exist_ok=True)
    Path("main.tf").write_text(ROOT)
    Path("a/main.tf").write_text(MIDDLE.replace("COUNT", "").replace("KEY", ""))
    Path("a/b/main.tf").write_text(INNER.replace("REPEAT", repeat).replace("KEY", key))


def changes(planner: Planner, *words: str) -> dict[str, str]:
    """The planned action of every instance that something happens to."""
    planned = planner("plan", "-json", *words)
    events = [json.loads(line) for line in planned.out.splitlines()]
    assert planned.code == 0, planned.out
    found = [event["change"] for event in events if event["type"] == "planned_change"]
    return {change["resource"]["addr"]: change["action"] for change in found}


@pytest.mark.parametrize(
    ("address", "reached"),
    [
        ("module.a", ALL),
        ("module.a[1]", {i for i in ALL if i.startswith("module.a[1]")}),
        ("module.a.module.b", set()),
        ("module.a[0].module.b", {Y[0], Y0[0]}),
        ("module.a.terraform_data.x", set()),
        ("module.a[0].terraform_data.x", {*X[:2]}),
        ("module.a[0].terraform_data.x[1]", {X[1]}),
        ("module.a.module.b.terraform_data.y", set()),
    ],
)
def test_only_the_last_step_stands_for_all_keys(address: str, reached: set[str], applied: Planner) -> None:
    assert changes(applied, "-destroy", f"-target={address}").keys() == reached
    assert changes(applied, "-destroy", f"-exclude={address}").keys() == ALL - reached


@pytest.mark.parametrize("words", [("-destroy", "-target=module.a[1]"), ("-target=module.a[1]",)])
@pytest.mark.parametrize(
    ("repeat", "key"), [("count = 2", "[1]"), ('for_each = toset(["k"])', '["k"]'), ("", "")], ids=["count", "each", ""]
)
def test_what_is_left_out_may_have_a_deposed_object_only(
    repeat: str, key: str, words: tuple[str, ...], applied: Planner
) -> None:
    write(repeat, key)
    assert applied("apply", "-auto-approve").code == 0
    state: dict[str, Any] = json.loads(Path("terraform.tfstate").read_text())
    for resource in state["resources"]:
        if resource["module"].startswith("module.a[0]") and resource["name"] == "y":
            for instance in resource["instances"]:
                instance["deposed"] = "0a1b2c3d"
    Path("terraform.tfstate").write_text(json.dumps(state))
    found = changes(applied, *words)
    assert {address.startswith("module.a[1]") for address in found} <= {True}
    assert bool(found) == ("-destroy" in words)


def test_an_apply_that_planned_nothing_has_no_summary(applied: Planner) -> None:
    rule = 'precondition {\n      condition = false\n      error_message = "no"\n    }'
    Path("main.tf").write_text(f'resource "terraform_data" "r" {{\n  lifecycle {{\n    {rule}\n  }}\n}}\n')
    Path("terraform.tfstate").unlink()
    tried = applied("apply", "-json", "-auto-approve")
    types = [json.loads(line)["type"] for line in tried.out.splitlines()]
    assert tried.code == 1 and types == ["version", "diagnostic"]


def test_suggested_options_can_be_typed(applied: Planner) -> None:
    text = 'resource "terraform_data" "r" {\n  for_each = toset(["it\'s"])\n}\n'
    Path("main.tf").write_text(text)
    said = applied("plan", "-replace=terraform_data.r").out
    assert """-replace='terraform_data.r["it'"'"'s"]'\n""" in said
    assert "\n    planner apply '$HOME.plan'\n" in applied("plan", "-out=$HOME.plan").out
    assert '\n    planner apply "my plan"\n' in applied("plan", "-out=my plan").out


UNMATCHED = [
    ("-target=terraform_data.wep", "-target=terraform_data.web"),
    ("-target=terraform_data.web[7]", "-target='terraform_data.web[0]'"),
    ("-exclude=terraform_data.wep", "-exclude=terraform_data.web"),
    ("-exclude=terraform_data.web[7]", "-exclude='terraform_data.web[0]'"),
    ("-target=module.n", "-target=module.m"),
    ('-target=module.m["b"]', "-target='module.m[\"a\"]'"),
    ("-replace=terraform_data.wep[0]", "-replace='terraform_data.web[0]'"),
    ("-replace=terraform_data.web[7]", "-replace='terraform_data.web[0]'"),
    ("-target=null_resource.other", ""),
]
MATCHED = [
    "-target=terraform_data.web",
    "-target=terraform_data.web[1]",
    "-target=module.m",
    '-exclude=module.m["a"]',
    "-replace=terraform_data.web[1]",
    "-target=terraform_data.old",
    '-target=module.m["a"].terraform_data.x',
]
NAMED = """
resource "terraform_data" "web" { count = 2 }
module "m" {
  source   = "./m"
  for_each = toset(["a"])
}
"""


@pytest.fixture
def named(tmp_path: Path, planner: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "main.tf").write_text(NAMED + 'resource "terraform_data" "old" {}')
    (tmp_path / "m").mkdir()
    (tmp_path / "m" / "main.tf").write_text('resource "terraform_data" "x" {}')
    assert planner("get").code == 0
    assert planner("apply", "-auto-approve").code == 0
    (tmp_path / "main.tf").write_text(NAMED)


@pytest.mark.parametrize(("word", "meant"), UNMATCHED)
@pytest.mark.parametrize("command", [("plan",), ("plan", "-destroy"), ("apply", "-auto-approve")])
@pytest.mark.usefixtures("named")
def test_an_address_that_names_nothing_is_told(planner: Any, command: tuple[str, ...], word: str, meant: str) -> None:
    if word.startswith("-replace") and "-destroy" in command:
        pytest.skip("what is destroyed is not replaced")
    ran = planner(*command, word)
    assert ran.code == 0
    said = " ".join(ran.out.split())
    assert said.count("Warning: Address matches nothing") == 1
    assert (f"Did you mean {meant}?" in said) if meant else ("Did you mean" not in said)


@pytest.mark.parametrize("word", MATCHED)
@pytest.mark.usefixtures("named")
def test_an_address_that_names_something_is_not(planner: Any, word: str) -> None:
    assert "matches nothing" not in planner("plan", word).out
