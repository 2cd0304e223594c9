"""`why` about several objects: all instances of a resource, the effects of a value, and what a word applies to."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

Run = Callable[..., Any]

CONFIGURATION = """variable "image" { default = "v1" }
variable "unused" { default = "x" }
locals {
  name = "app-${var.image}"
}
module "m" {
  source   = "./m"
  for_each = toset(["a", "b"])
  name     = local.name
}
resource "terraform_data" "web" {
  count            = 3
  input            = count.index == 2 ? "fixed" : local.name
  triggers_replace = count.index == 1 ? [var.image] : []
}
resource "terraform_data" "old" {
  input = file("note.txt")
}
output "name" { value = local.name }
"""
MODULE = """variable "name" {}
resource "terraform_data" "x" { input = var.name }
"""


@pytest.fixture(autouse=True)
def applied(tmp_path: Path, planner: Run, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "m").mkdir()
    (tmp_path / "m/main.tf").write_text(MODULE)
    (tmp_path / "main.tf").write_text(CONFIGURATION)
    (tmp_path / "note.txt").write_text("one")
    assert planner("init").code == 0
    assert planner("apply", "-auto-approve").code == 0
    moved = "moved {\n  from = terraform_data.old\n  to   = terraform_data.new\n}\n"
    (tmp_path / "main.tf").write_text(CONFIGURATION.replace('"old"', '"new"') + moved)
    return tmp_path


def test_all_instances_are_explained_alike_ones_together(planner: Run) -> None:
    told = planner("why", "terraform_data.web", "-var=image=v2").out
    parts = told.split("\n\n")
    assert [part.splitlines()[0] for part in parts] == [
        "terraform_data.web[0]:",
        "terraform_data.web[1]:",
        "terraform_data.web[2]:",
    ]
    document = json.loads(planner("why", "-json", "module.m.terraform_data.x", "-var=image=v2").out)
    assert document["instances"] == ['module.m["a"].terraform_data.x', 'module.m["b"].terraform_data.x']
    assert document["goal"][1] == 'module.m["a"].terraform_data.x' and "also" not in document
    one = json.loads(planner("why", "-json", "replace", "terraform_data.web", "-var=image=v2").out)
    assert one["instances"] == ["terraform_data.web[1]"]


EFFECTS = {
    "var.image": """var.image "v1" -> "v2" (-var=image)
      -> local.name (main.tf:4)
        -> module.m["a", "b"].var.name (main.tf:9)
          -> module.m["a", "b"].terraform_data.x (m/main.tf:2, 2 updated)
        -> output.name (main.tf:19, updated), terraform_data.web[0] (main.tf:13, updated)
      -> terraform_data.web[1] (main.tf:14, replaced)
    causes all 4 changes: 1 replacement, 3 updates; and 1 output
""",
    'module.m["b"].var.name': """module.m["b"].var.name (main.tf:9)
    changes because var.image "v1" -> "v2" (-var=image)
    causes 1 of 4 changes: update module.m["b"].terraform_data.x
""",
    "module.m": """var.image "v1" -> "v2" (-var=image)
      -> local.name (main.tf:4)
        -> module.m["a", "b"].var.name (main.tf:9)
          -> module.m["a", "b"].terraform_data.x (m/main.tf:2, 2 updated)
    causes all 2 changes in module.m: 2 updates (and 2 elsewhere)
""",
    "read": 'No change of this plan has the action "read".\n',
    "var.unused": "var.unused has no effect on this plan: no change follows from it.\n",
    "replace": """var.image "v1" -> "v2" (-var=image)
    causes the only change of this kind: replace terraform_data.web[1] (and 3 more)
""",
}


@pytest.mark.parametrize("source", EFFECTS)
def test_the_effects_of_a_value(planner: Run, source: str) -> None:
    assert planner("why", source, "-var=image=v2").out == EFFECTS[source]


def test_the_effects_of_a_file(planner: Run, applied: Path) -> None:
    (applied / "note.txt").write_text("two")
    told = planner("why", "file", "note.txt").out
    assert told == (
        "note.txt was edited at line 1: one -> two (read at main.tf:17)\n"
        "    causes the only change: update terraform_data.new\n"
    )
    document = json.loads(planner("why", "-json", "file", "note.txt").out)
    assert [change["address"] for change in document["causes"][0]["changes"]] == ["terraform_data.new"]


LISTS = {
    "moved": "Moved (1):\n  terraform_data.new was terraform_data.old (moved block, main.tf:20)\n",
    "drift": "Changed outside planner: none.\n",
    "unknown": "Not known before the apply (4):\n"
    "  terraform_data.web[0]: output\n"
    "  terraform_data.web[1]: id, output\n"
    '  module.m["a", "b"].terraform_data.x: output\n',
    "forced": "Created before being destroyed because of other objects: none.\n",
    "excluded": "Left out because of -exclude: none.\n",
}


@pytest.mark.parametrize("word", LISTS)
def test_everything_that_a_word_applies_to(planner: Run, word: str) -> None:
    assert planner("why", word, "-var=image=v2").out == LISTS[word]
    assert json.loads(planner("why", "-json", word).out)["goal"] == [word]


def test_misspelt_words_have_a_suggestion(planner: Run) -> None:
    for words, meant in (
        (("repalce",), "replace"),
        (("unknwon", "output.name"), "unknown"),
        (("var.imag",), "var.image"),
    ):
        told = planner("why", *words)
        assert told.code == 1 and f'Did you mean "{meant}"?' in told.err.replace("\n", " ")


def test_moves_are_in_the_summary_and_in_answers(planner: Run) -> None:
    assert (
        planner("plan", "-causes", "-no-color")
        .out.partition("Plan: ")[2]
        .startswith(
            "0 to add, 0 to change, 0 to destroy, 1 moved.\n\n"
            "Moved: 1 object\n"
            "    terraform_data.new was terraform_data.old (moved block, main.tf:20)\n"
        )
    )
    told = planner("why", "terraform_data.new").out
    assert told.endswith("terraform_data.new was terraform_data.old:\n  a moved block names it: main.tf:20: moved {\n")


def test_what_is_targeted_is_only_listed_where_something_limits_the_plan(planner: Run) -> None:
    assert planner("why", "targeted").out == "Neither -target nor -exclude is given: everything is planned.\n"
    limited = planner("why", "targeted", "-target=terraform_data.web").out.splitlines()
    assert limited[0].startswith("Within -target and -exclude") and "  var.image" in limited
    assert not [line for line in limited if "expand" in line]
