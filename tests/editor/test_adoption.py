"""`refactor adopt`: configuration for objects of the state and of import blocks, which plans then leave as they are."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from cli.conftest import Ran

from editor.test_refactoring import files
from planner.workflows.editor import adoption

Run = Callable[..., Ran]

MAIN = """resource "terraform_data" "network" {
  input = "production"
}
resource "terraform_data" "subnet" {
  for_each         = { a = 1, b = 2 }
  input            = { network = terraform_data.network.id, name = "subnet-${each.key}", number = each.value }
  triggers_replace = "production"
}
resource "terraform_data" "zone" {
  for_each = toset(["eu", "us"])
  input    = each.key
}
resource "terraform_data" "server" {
  count            = 3
  input            = ["server ${count.index}", terraform_data.subnet["a"].id, "line\\nand $${more}"]
  triggers_replace = "production"
}
resource "terraform_data" "plain" {
  count            = 2
  triggers_replace = "production"
}
resource "terraform_data" "secret" {
  input = sensitive("s3cret")
}
resource "terraform_data" "json" {
  input            = jsonencode({ a = [1], b = null, c = "of ${terraform_data.network.id}!" })
  triggers_replace = "{ \\"b\\": 1 }"
}
resource "terraform_data" "kept" {
  input = "production"
}
"""
KEPT = MAIN[MAIN.index('resource "terraform_data" "kept"') :]
TEXTS = """
variable "triggers_replace" {
  type    = string
  default = "production"
}
---
resource "terraform_data" "plain" {
  count            = 2
  triggers_replace = var.triggers_replace
}
---
  for_each = {
    a = {
---
    network = terraform_data.network.id
---
    ["server 0", terraform_data.subnet["a"].id, "line\\nand $${more}"],
---
  input = var.secret_input
---
  input = "production"
}
---
  input = jsonencode({
    a = [1]
    b = null
    c = "of ${terraform_data.network.id}!"
  })
  triggers_replace = "{ \\"b\\": 1 }"
---
resource "terraform_data" "zone" {
  for_each = toset(["eu", "us"])
  input    = each.key
}
"""


@pytest.fixture
def state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, planner: Run) -> Path:
    (tmp_path / "main.tf").write_text(MAIN)
    monkeypatch.chdir(tmp_path)
    assert planner("init").code == 0
    assert planner("apply", "-auto-approve").code == 0
    return tmp_path


def test_objects_of_the_state_get_their_configuration_back(
    state: Path, planner: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TF_VAR_secret_input", "s3cret")
    for kept in (KEPT, ""):
        (state / "main.tf").write_text(kept)
        before = files(state)
        done = planner("refactor", "adopt")
        assert done.code == 0, done.err
        text = (state / "adopted.tf").read_text()
        for wanted in TEXTS.strip().split("\n---\n"):
            assert wanted in text, text
        assert "var.secret_input is sensitive: set TF_VAR_secret_input" in done.out
        assert planner("fmt", "-check").code == 0
        for _ in range(2):
            assert planner("init").code == 0
            assert "No changes" in planner("plan").out
        assert planner("refactor", "undo").code == 0 and files(state) == before


def test_single_objects_are_adopted_and_others_stay_planned(state: Path, planner: Run) -> None:
    (state / "main.tf").write_text(KEPT)
    done = planner("refactor", "adopt", "terraform_data.zone", "terraform_data.server", "-to=zones.tf")
    assert done.code == 0, done.err
    text = (state / "zones.tf").read_text()
    assert text.count("resource ") == 2 and "terraform_data.subnet" not in text
    assert "Plan: 0 to add, 0 to change, 7 to destroy" in planner("plan").out


IMPORTS = """import {
  to = terraform_data.a
  id = "one"
}
import {
  to = terraform_data.b
  id = "two"
}
"""


def test_targets_of_import_blocks_get_configuration(state: Path, planner: Run) -> None:
    (state / "main.tf").write_text(MAIN + IMPORTS)
    assert planner("plan").code == 1
    done = planner("refactor", "adopt", "-to=imported.tf")
    assert done.code == 0, done.err
    assert (state / "imported.tf").read_text().count("resource ") == 2
    assert "Plan: 2 to import, 0 to add, 0 to change, 0 to destroy." in planner("plan").out
    assert planner("apply", "-auto-approve").code == 0 and "No changes" in planner("plan").out


def test_what_cannot_be_adopted_is_refused(state: Path, planner: Run) -> None:
    (state / "net").mkdir()
    (state / "net" / "main.tf").write_text('resource "terraform_data" "inner" {}\n')
    (state / "main.tf").write_text(MAIN + 'module "net" {\n  source = "./net"\n}\n')
    assert planner("init").code == 0 and planner("apply", "-auto-approve").code == 0
    (state / "main.tf").write_text(MAIN)
    before = files(state)
    for words, text in (
        ([], "There are no objects without configuration"),
        ([], "module.net.terraform_data.inner is left out: only objects of the root module are adopted"),
        (["terraform_data.network"], "no object without configuration has this address"),
        (["-to=main.tf"], "exists already"),
        (["-to=sub/new.tf"], "sub/new.tf would not be read"),
        (["-to=adopted.txt"], "does not end with .tf"),
    ):
        done = planner("refactor", "adopt", *words)
        assert done.code == 1 and text in " ".join(done.err.split()), (words, done.err)
    (state / "main.tf").write_text(KEPT)
    done = planner("refactor", "adopt", "terraform_data.server[0]")
    assert "terraform_data.server has other instances without configuration, too" in " ".join(done.err.split())
    assert planner("state", "rm", "terraform_data.server[1]").code == 0
    assert "are not 0, 1, 2, ... without gaps" in " ".join(
        planner("refactor", "adopt", "terraform_data.server").err.split()
    )
    assert planner("refactor", "adopt", "terraform_data.zone", "-dry-run").code == 0
    (state / "main.tf").write_text(MAIN)
    assert files(state) == before


def test_blocks_that_differ_become_dynamic() -> None:
    texts = (
        'range {\n  name = "a"\n}\nsame {\n}\n',
        'range {\n  name = "b"\n  size = 2\n}\nsame {\n}\n',
        "same {\n}\n",
    )
    contents = [adoption._body(text).blocks for text in texts]
    kept, lists = adoption._Adoption._nested(adoption._NewResource.__new__(adoption._NewResource), contents)
    assert kept == "  same {\n}\n"
    assert lists == {"range": ['[{ name = "a", size = null }]', '[{ name = "b", size = 2 }]', "[]"]}


KEYED_IMPORTS = """locals {
  ids = { web = "1", db = "2" }
}
import {
  for_each = local.ids
  to       = terraform_data.app[each.key]
  id       = each.value
}
import {
  to = terraform_data.one[0]
  id = "3"
}
import {
  for_each = toset(["4"])
  to       = terraform_data.kept[each.key]
  id       = each.value
}
resource "terraform_data" "kept" {
  for_each = toset(["4"])
}
# a remark
resource "terraform_data" "adopted_0" {}
"""


def test_import_blocks_with_keys_are_adopted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, planner: Run) -> None:
    (tmp_path / "main.tf").write_text(KEYED_IMPORTS)
    monkeypatch.chdir(tmp_path)
    assert planner("init").code == 0
    done = planner("refactor", "adopt")
    assert done.code == 0, done.err
    assert (tmp_path / "adopted.tf").read_text() == (
        'resource "terraform_data" "app" {\n  for_each = toset(["db", "web"])\n}\n\n'
        'resource "terraform_data" "one" {\n  count = 1\n}\n'
    )
    applied = planner("apply", "-auto-approve")
    assert "4 imported, 1 added, 0 changed, 0 destroyed" in applied.out
    assert "No changes." in planner("plan").out
    assert planner("refactor", "undo").code == 0 and (tmp_path / "main.tf").read_text() == KEYED_IMPORTS


@pytest.mark.parametrize(
    ("block", "problem"),
    [
        ("for_each = 5\n  to = terraform_data.x[each.key]", "Invalid for_each argument"),
        ("to = terraform_data.x[missing]", "Invalid reference"),
        ('for_each = toset(["a", "b"])\n  to = terraform_data.x["a"]', "Duplicate import configuration"),
    ],
)
def test_wrong_import_blocks_are_reported(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, planner: Run, block: str, problem: str
) -> None:
    (tmp_path / "main.tf").write_text(f'resource "terraform_data" "kept" {{}}\nimport {{\n  {block}\n  id = "1"\n}}\n')
    monkeypatch.chdir(tmp_path)
    assert planner("init").code == 0
    done = planner("refactor", "adopt")
    assert done.code == 1 and problem in done.err, done.err
    assert not (tmp_path / "adopted.tf").exists()
