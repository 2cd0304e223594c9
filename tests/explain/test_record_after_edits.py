"""The record of what was applied, after changes of the state by other commands and by other programs."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

Run = Callable[..., Any]
MAIN = """
variable "a" { default = "a1" }
variable "b" { default = "b1" }
resource "terraform_data" "a" { input = var.a }
resource "terraform_data" "b" { input = [var.b, terraform_data.a.input] }
module "m" { source = "./m" }
"""
INNER = 'resource "terraform_data" "x" { input = "one" }\n'


@pytest.fixture
def applied(tmp_path: Path, planner: Run, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "m").mkdir()
    (tmp_path / "main.tf").write_text(MAIN, "utf-8")
    (tmp_path / "m/main.tf").write_text(INNER, "utf-8")
    monkeypatch.chdir(tmp_path)
    assert planner("init").code == 0
    assert planner("apply", "-auto-approve").code == 0
    return tmp_path


def edit(root: Path, **words: str) -> None:
    """Replace words in the configuration."""
    for path in (root / "main.tf", root / "m/main.tf"):
        text = path.read_text("utf-8")
        for old, new in words.items():
            text = text.replace(old, new)
        path.write_text(text, "utf-8")


def roots(planner: Run, *options: str) -> dict[str, list[str]]:
    ran = planner("plan", "-json", "-explain=full", *options)
    assert ran.code == 0, ran.out
    lines = [json.loads(line) for line in ran.out.splitlines()]
    changes = {line["change"]["resource"]["addr"]: line["change"] for line in lines if line["type"] == "planned_change"}
    return {
        name: [
            *("" if change.get("because_is_certain") else ["?"]),
            *(
                " ".join((root["what"], root.get("before", ""), root.get("value", "")))
                for root in change["root_causes"]
            ),
        ]
        for name, change in changes.items()
        if change["action"] not in ("move", "no-op")
    }


def test_state_mv(applied: Path, planner: Run) -> None:
    edit(applied, **{'"terraform_data" "a"': '"terraform_data" "z"', "terraform_data.a": "terraform_data.z"})
    edit(applied, **{'module "m"': 'module "n"'})
    for words in ("terraform_data.a terraform_data.z", "module.m module.n"):
        assert planner("state", "mv", *words.split()).code == 0
    assert planner("init").code == 0
    assert roots(planner) == {}
    edit(applied, a1="a2", one="two")
    expected = {
        "terraform_data.z": ['var.a "a1" "a2"'],
        "terraform_data.b": ['var.a "a1" "a2"'],
        "module.n.terraform_data.x": ['the text of module.n.terraform_data.x.input "one" "two"'],
    }
    assert roots(planner) == expected
    assert planner("apply", "-auto-approve", "-target=terraform_data.z").code == 0
    del expected["terraform_data.z"]
    expected["terraform_data.b"] = ["?", "terraform_data.b.input[1]  "]  # z was applied after it
    assert roots(planner) == expected
    assert planner("state", "mv", "terraform_data.z", "terraform_data.a").code == 0
    edit(applied, **{'"terraform_data" "z"': '"terraform_data" "a"', "terraform_data.z": "terraform_data.a"})
    assert roots(planner) == expected


@pytest.mark.parametrize("key", ["", "[0]"])
def test_a_reference_to_what_was_renamed_is_no_edit(
    key: str, tmp_path: Path, planner: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    count = "count = 1\n" if key else ""
    main = (
        'variable "v" { default = 1 }\nmodule "m" {\n source = "./m"\n v = var.v\n}\n'
        f'resource "terraform_data" "a" {{\n{count} input = var.v\n}}\n'
        f'resource "terraform_data" "b" {{ input = ["x", terraform_data.a{key}.input, terraform_data.a{key}.id] }}\n'
        'resource "terraform_data" "c" { input = "y-${module.m.o}" }\n'
    )
    inner = (
        'variable "v" {}\n'
        'resource "terraform_data" "x" { input = var.v }\n'
        'output "o" { value = terraform_data.x.input }\n'
    )
    (tmp_path / "m").mkdir()
    (tmp_path / "m/main.tf").write_text(inner, "utf-8")
    (tmp_path / "main.tf").write_text(main, "utf-8")
    for words in ("init", "apply -auto-approve"):
        assert planner(*words.split()).code == 0
    main = main.replace('_data" "a"', '_data" "z"').replace("data.a", "data.z").replace('"m" {', '"n" {')
    main = main.replace("module.m.", "module.n.").replace("= 1 }", "= 2 }")
    for old, new in (("terraform_data.a", "terraform_data.z"), ("module.m", "module.n")):
        main += f"moved {{\n  from = {old}\n  to = {new}\n}}\n"
    (tmp_path / "main.tf").write_text(main, "utf-8")
    assert planner("init").code == 0
    names = (f"terraform_data.z{key}", "terraform_data.b", "terraform_data.c", "module.n.terraform_data.x")
    assert roots(planner) == {name: ["var.v 1 2"] for name in names}
    (tmp_path / "main.tf").write_text(main.replace('"x", ', '"w", ').replace("= 2 }", "= 1 }"), "utf-8")
    assert roots(planner) == {"terraform_data.b": ['the text of terraform_data.b.input[0] "x" "w"']}


@pytest.mark.parametrize(
    "how", ["apply -auto-approve -refresh-only", "refresh", "apply -auto-approve -target=terraform_data.b"]
)
def test_moved_by_an_apply_of_something_else(how: str, applied: Path, planner: Run) -> None:
    moved = "\nmoved {\n  from = module.m\n  to = module.n\n}\n"
    edit(applied, **{'module "m"': 'module "n"'})
    with open(applied / "main.tf", "a", encoding="utf-8") as file:
        file.write(moved)
    assert planner("init").code == 0
    ran = planner(*how.split())
    if ran.code and "-target" in how:  # which is refused where moves are left out
        return
    assert ran.code == 0
    edit(applied, one="two", **{moved: ""})
    assert roots(planner) == {"module.n.terraform_data.x": ['the text of module.n.terraform_data.x.input "one" "two"']}


def test_objects_that_another_program_did_not_change_keep_their_former_values(applied: Path, planner: Run) -> None:
    """It applied b with other values, under the next serial, and knows no records."""
    state = json.loads((applied / "terraform.tfstate").read_text("utf-8"))
    state["serial"] += 1
    for resource in state["resources"]:
        if resource["name"] == "b":
            for place in ("input", "output"):
                resource["instances"][0]["attributes"][place]["value"] = ["b2", "a1"]
    (applied / "terraform.tfstate").write_text(json.dumps(state), "utf-8")
    edit(applied, b1="b3", a1="a2")
    assert roots(planner)["terraform_data.a"] == ['var.a "a1" "a2"']


def test_a_record_of_another_lineage_is_not_used(applied: Path, planner: Run) -> None:
    state = json.loads((applied / "terraform.tfstate").read_text("utf-8"))
    (applied / "terraform.tfstate").write_text(json.dumps({**state, "lineage": "another"}), "utf-8")
    edit(applied, a1="a2")
    assert all(causes[0] == "?" for causes in roots(planner).values())


@pytest.mark.parametrize(
    "command", ["rm terraform_data.b", "replace-provider -auto-approve x/y/z a/b/c", "push -force copy"]
)
def test_commands_that_change_the_state_leave_the_record_of_others(command: str, applied: Path, planner: Run) -> None:
    (applied / "copy").write_bytes((applied / "terraform.tfstate").read_bytes())
    assert planner("state", *command.split()).code == 0
    edit(applied, a1="a2")
    assert roots(planner)["terraform_data.a"] == ['var.a "a1" "a2"']


def test_objects_that_changed_places(applied: Path, planner: Run) -> None:
    """Names that lead in a circle, and damaged ones."""
    for one, other in (("a", "tmp"), ("b", "a"), ("tmp", "b")):
        assert planner("state", "mv", f"terraform_data.{one}", f"terraform_data.{other}").code == 0
    edit(applied, a1="a2")
    assert planner("why").code == 0
    record = applied / ".terraform.tfstate.applied.json"
    document = json.loads(record.read_text("utf-8"))
    (run,) = document["runs"].values()
    assert run["names"] == {"terraform_data.a": "terraform_data.b", "terraform_data.b": "terraform_data.a"}
    run["names"] = {"terraform_data.a": "no address"}
    record.write_text(json.dumps(document), "utf-8")
    assert planner("why").code == 0


def test_an_apply_with_target_that_came_to_others_in_vain(
    tmp_path: Path, planner: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of what a later apply did not change, or created, it is known what it was before."""
    (tmp_path / "main.tf").write_text(
        """
variable "n" {
  type    = number
  default = 2
}
variable "v" { default = "v1" }
resource "terraform_data" "kept" {
  count = var.n
  input = "fixed"
}
resource "terraform_data" "updated" { input = var.v }
resource "terraform_data" "target" { input = [var.v, terraform_data.kept[*].id, terraform_data.updated.id] }
resource "terraform_data" "ids" { input = [terraform_data.kept[*].id, terraform_data.updated.id] }
resource "terraform_data" "count" { input = length(terraform_data.kept) }
""",
        "utf-8",
    )
    monkeypatch.chdir(tmp_path)
    assert planner("apply", "-auto-approve").code == 0
    partly = ("apply", "-auto-approve", "-target=terraform_data.target", "-target=terraform_data.kept[2]", "-var=v=v2")
    assert planner(*partly, "-var=n=3").code == 0
    assert roots(planner, "-var=v=v2", "-var=n=4") == {
        "terraform_data.kept[3]": ["var.n 3 4"],
        "terraform_data.target": ["var.n 3 4"],
        "terraform_data.ids": ["var.n 2 4"],
        "terraform_data.count": ["var.n 2 4"],
    }


KEYS = """
variable "v" {
  type    = map(string)
  default = { a = "1", b = "2", c = "3" }
}
resource "terraform_data" "r" {
  for_each         = var.v
  input            = each.value
  triggers_replace = "old"
}
resource "terraform_data" "reader" { input = EXPRESSION }
"""


@pytest.mark.parametrize(
    "expression",
    [
        "length(terraform_data.r)",
        "keys(terraform_data.r)",
        'contains(keys(terraform_data.r), "c")',
        "[for k, r in terraform_data.r : k]",
        "values(terraform_data.r)[*].input",
        "{ for k, r in terraform_data.r : k => r.input }",
    ],
)
def test_an_instance_that_an_apply_with_target_destroyed(
    expression: str, tmp_path: Path, planner: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An expression that reads keys, or what a replacement leaves as it is, changes with the keys alone."""
    (tmp_path / "main.tf").write_text(KEYS.replace("EXPRESSION", expression), "utf-8")
    monkeypatch.chdir(tmp_path)
    assert planner("apply", "-auto-approve").code == 0
    values = '-var=v={ a = "1", b = "2" }'
    assert planner("apply", "-auto-approve", '-target=terraform_data.r["c"]', values).code == 0
    Path("main.tf").write_text(Path("main.tf").read_text("utf-8").replace('"old"', '"new"'), "utf-8")
    found = roots(planner, values)
    assert found.pop("terraform_data.reader") == ['var.v["c"] "3" nothing']
    assert found.keys() == {'terraform_data.r["a"]', 'terraform_data.r["b"]'}
