"""The words of `why` about kinds of changes: what happens, the values, the line, and what keeps the object."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

CONFIGURATION = """
variable "tag" { default = "1.4" }
locals {
  team = "payments"
}
resource "terraform_data" "release" {
  input            = "release"
  triggers_replace = [var.tag]
}
resource "terraform_data" "migration" {
  lifecycle {
    replace_triggered_by = [terraform_data.release.id]
  }
}
resource "terraform_data" "backup" {
  input = "backup of ${terraform_data.release.id}"
}
resource "terraform_data" "task" {
  input = { team = local.team, name = "task of ${local.team}", port = 80, cpu = 1 }
}
module "store" {
  source = "./store"
}
"""
STORE = """
resource "terraform_data" "disk" {
  input            = { size = 10 }
  triggers_replace = "eu"
  lifecycle {
    create_before_destroy = true
  }
}
resource "terraform_data" "index" {
  input = "index"
}
"""
TAINT = "planner taint terraform_data.release"
EDITED = "the state is edited"
BY_NEW_TAG = [
    "  <- terraform_data.release is replaced, so its id is known after apply: triggers_replace[0] "
    '"1.4" -> "1.5" (main.tf:8)',
    '  <- var.tag "1.4" -> "1.5" (-var=tag)',
]


@pytest.fixture(scope="module")
def once(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("applied")


@pytest.fixture
def work(once: Path, tmp_path: Path, planner, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A copy of what was applied."""
    if not (once / "terraform.tfstate").exists():
        monkeypatch.chdir(once)
        (once / "store").mkdir()
        (once / "main.tf").write_text(CONFIGURATION)
        (once / "store" / "main.tf").write_text(STORE)
        assert planner("init").code == 0
        assert planner("apply", "-auto-approve").code == 0
    shutil.copytree(once, tmp_path, dirs_exist_ok=True)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def edit(work: Path, edits: dict[str, str], run: Callable[..., object]) -> None:
    """Replace texts of the files; or taint, or edit the state."""
    for before, after in edits.items():
        if before == TAINT:
            run("taint", "terraform_data.release")
        elif before == EDITED:
            state = json.loads((work / "terraform.tfstate").read_text())
            for resource in state["resources"]:
                if resource["name"] == "release":
                    resource["instances"][0]["attributes"]["input"]["value"] = after
            (work / "terraform.tfstate").write_text(json.dumps(state))
        else:
            for path in (work / "main.tf", work / "store" / "main.tf"):
                path.write_text(path.read_text().replace(before, after))


@pytest.mark.parametrize(
    ("edits", "words", "lines"),
    [
        pytest.param(
            {},
            "-var=tag=1.5 terraform_data.migration",
            [
                "terraform_data.migration is replaced: its replace_triggered_by names terraform_data.release.id "
                "(main.tf:12)",
                *BY_NEW_TAG,
            ],
            id="triggered",
        ),
        pytest.param(
            {},
            "-var=tag=1.5 terraform_data.backup",
            [
                "terraform_data.backup is updated in place: input will be known after the apply (main.tf:16)",
                *BY_NEW_TAG,
            ],
            id="renewed",
        ),
        pytest.param(
            {},
            "-var=tag=1.5 unknown terraform_data.backup.input",
            [
                "terraform_data.backup.input is not known before the apply (main.tf:16):",
                "  <- terraform_data.release.id: assigned by the provider when the object is created (main.tf:6)",
                "  <- terraform_data.release is replaced: triggers_replace forces replacement",
                BY_NEW_TAG[-1],
            ],
            id="unknown",
        ),
        pytest.param(
            {'"release"\n': '"other"\n'},
            "terraform_data.migration",
            [
                "terraform_data.migration does not change: its replace_triggered_by (main.tf:12) has no effect, "
                "because the id of terraform_data.release stays the same, "
                "although terraform_data.release is updated in place",
            ],
            id="not-triggered",
        ),
        pytest.param(
            {},
            "terraform_data.migration",
            ["terraform_data.migration does not change: it matches its declaration (main.tf:10)"],
            id="unchanged",
        ),
        pytest.param(
            {TAINT: ""},
            "terraform_data.backup",
            [
                "terraform_data.backup is updated in place: input will be known after the apply (main.tf:16)",
                "  <- terraform_data.release is tainted, so it is replaced and its id is known after apply (main.tf:6)",
                "  To keep it: planner untaint terraform_data.release",
            ],
            id="tainted",
        ),
        pytest.param(
            {EDITED: "edited"},
            "terraform_data.release",
            [
                'terraform_data.release is updated in place: input is "edited" in the state and "release" in the '
                "configuration (main.tf:7): the state was changed outside planner",
                '  The apply sets it to "release" again. To keep "edited", write it at main.tf:7.',
            ],
            id="edited-state",
        ),
        pytest.param(
            {'"payments"': '"checkout"'},
            "terraform_data.task",
            [
                "terraform_data.task is updated in place: 2 parts of input differ, all for one cause",
                '  input.name "task of payments" -> "task of checkout" (main.tf:19)',
                '  input.team "payments" -> "checkout" (main.tf:19)',
                '  <- local.team "payments" -> "checkout" (main.tf:4)',
            ],
            id="parts",
        ),
        pytest.param(
            {'"eu"': '"us"'},
            "module.store.terraform_data.disk",
            [
                'module.store.terraform_data.disk is replaced: triggers_replace "eu" -> "us" forces replacement '
                "(store/main.tf:4)",
                "  new before old (create_before_destroy, store/main.tf:6)",
            ],
            id="created-first",
        ),
        pytest.param(
            {'"eu"': '"us"'},
            "-not update module.store.terraform_data.disk",
            [
                'module.store.terraform_data.disk is replaced, not updated: triggers_replace "eu" -> "us" forces '
                "replacement (store/main.tf:4)",
            ],
            id="not-updated",
        ),
        pytest.param(
            {'module "store"': 'module "database"', "size = 10": "size = 20"},
            "module.store.terraform_data.index",
            [
                "module.store.terraform_data.index is destroyed: module.store was removed",
                "module.store looks renamed to module.database (main.tf:21): planner suggest shows what a moved "
                "block would keep",
            ],
            id="renamed",
        ),
        pytest.param(
            {'module "store"': 'module "database"', "size = 10": "size = 20"},
            "-fix module.store.terraform_data.index",
            [
                "module.store.terraform_data.index will be destroyed. To keep it:",
                "  1. add to main.tf a moved block from module.store to module.database: planner suggest -write",
                "     [checked: it moves and does not change]",
            ],
            id="fix-of-renamed",
        ),
        pytest.param(
            {'module "store"': 'module "database"', "size = 10": "size = 20"},
            "-fix module.database.terraform_data.disk",
            [
                "module.database.terraform_data.disk will be created. To avoid that:",
                "  1. add to main.tf a moved block from module.store to module.database: planner suggest -write",
                "     [checked: it moves and is updated in place]",
            ],
            id="fix-of-new-name",
        ),
    ],
)
def test_words(edits, words, lines, work: Path, planner):
    edit(work, edits, planner)
    assert planner("init").code == 0 or "module" not in str(edits)
    assert planner("why", *words.split()).out.splitlines() == lines


def test_a_summary_has_the_values_of_texts_and_counts_all_objects_of_a_rename(work: Path, planner):
    edit(work, {'"payments"': '"checkout"', 'module "store"': 'module "database"', "size = 10": "size = 20"}, planner)
    assert planner("init").code == 0
    out = planner("plan", "-causes").out
    assert '] local.team "payments" -> "checkout" (main.tf:4)\n' in out
    assert "] module.store looks renamed to module.database (main.tf:21)\n" in out
    assert "    causes 4 of 5 changes: 2 destructions, 2 creations\n" in out and "objects look renamed" not in out
    assert "    To keep the objects: planner suggest -write (adds a moved block)\n" in out
