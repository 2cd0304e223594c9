"""`watch`: plans as files are saved, until an interrupt."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

MAIN = """
variable "a" { default = "one" }
resource "terraform_data" "x" { input = "${var.a}-${file("said.txt")}" }
"""


class Watching:
    """A `watch` that runs in a folder."""

    def __init__(self, folder: Path, *words: str) -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-m", "planner", "watch", *words],
            cwd=folder,
            stdout=subprocess.PIPE,
            text=True,
            env={**os.environ, "PYTHONUNBUFFERED": "1"},
        )

    def until(self, word: str) -> str:
        """What is printed up to a line with this word."""
        assert self.process.stdout is not None
        said = ""
        for line in self.process.stdout:
            said += line
            if word in line:
                return said
        raise AssertionError(said)

    def end(self) -> int:
        self.process.send_signal(signal.SIGINT)
        return self.process.wait(30)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "main.tf").write_text(MAIN)
    (tmp_path / "said.txt").write_text("hello")
    return tmp_path


@pytest.fixture
def watching(folder: Path) -> Iterator[Watching]:
    made = Watching(folder)
    yield made
    made.process.kill()
    made.process.communicate()


def test_each_plan_is_compared_with_the_one_before(folder: Path, watching: Watching) -> None:
    assert "Plan: 1 to add" in watching.until("Waiting")
    (folder / "main.tf").write_text(MAIN + 'resource "terraform_data" "y" {}\n')
    said = watching.until("Waiting")
    assert "main.tf changed." in said and "terraform_data.y: will be created (before: not planned)" in said
    assert "terraform_data.x" not in said and "Plan: 2 to add" in said
    (folder / "said.txt").write_text("bye")
    said = watching.until("Waiting")
    assert (
        "said.txt changed." in said and 'terraform_data.x: created with input "one-bye" instead of "one-hello"' in said
    )
    (folder / "main.tf").write_text('resource "half')
    # what cannot be planned is told, on the other stream, and compared with nothing
    said = watching.until("Waiting")
    assert "Plan:" not in said and "Failed in" in said
    (folder / "main.tf").write_text(MAIN)
    assert "terraform_data.y: no longer planned (before: created)" in watching.until("Waiting")
    assert watching.end() == 0
    assert not (folder / "terraform.tfstate").exists()


def test_every_summary_counts_outputs(folder: Path, watching: Watching) -> None:
    (folder / "main.tf").write_text(text := MAIN + 'output "o" { value = "first-${var.a}" }\n')
    assert "Plan: 1 to add, 0 to change, 0 to destroy, 1 output to change." in watching.until("Waiting")
    (folder / "main.tf").write_text(text.replace("first", "second"))
    assert "Plan: 1 to add, 0 to change, 0 to destroy, 1 output to change." in watching.until("Waiting")
    watching.end()


def test_for_programs(folder: Path) -> None:
    watching = Watching(folder, "-json")
    assert json.loads(watching.until("}\n"))["with"]["add"] == 1
    (folder / "main.tf").write_text(MAIN.replace('"x"', '"z"'))
    found = json.loads(watching.until("}\n"))["differences"]
    assert [(d["address"], d["without"], d["with"]) for d in found] == [
        ("terraform_data.x", "create", "no-op"),
        ("terraform_data.z", "no-op", "create"),
    ]
    assert watching.end() == 0


def test_it_ends_when_nobody_can_read_it(folder: Path) -> None:
    with open("/dev/full", "wb") as full:
        words = [sys.executable, "-m", "planner", "watch"]
        done = subprocess.run(words, cwd=folder, stdout=full, stderr=subprocess.PIPE, text=True, timeout=60)
    assert done.returncode == 1 and "Cannot write standard output" in done.stderr


READS = """
resource "terraform_data" "reads" {
  input = [fileset("deep", "**"), fileexists("more/there"), fileexists(".hidden") ? file(".hidden") : "none"]
}
resource "terraform_data" "other" {
  input = 1
}
"""


def test_all_that_functions_have_looked_at_is_watched(tmp_path: Path) -> None:
    (tmp_path / "main.tf").write_text(READS)
    (tmp_path / "more").mkdir()
    (tmp_path / "deep" / "in").mkdir(parents=True)
    watching = Watching(tmp_path)
    watching.until("Waiting")
    for name in ("deep/in/a", "more/there", ".hidden"):
        (tmp_path / name).write_text("one")
        said = watching.until("Waiting")
        assert f"{name} was added." in said and "terraform_data.reads: created with input" in said
    (tmp_path / "deep" / "new").mkdir()
    (tmp_path / "deep" / "new" / "b").write_text("one")
    said = watching.until("Waiting")
    said += "" if "created with" in said else watching.until("Waiting")
    assert "terraform_data.reads: created with input" in said
    (tmp_path / "main.tf").write_text(READS.replace("= 1", "= 2"))
    said = watching.until("Waiting")
    assert "terraform_data.other: created with input 2 instead of 1" in said and "reads" not in said
    assert watching.end() == 0


def test_another_state_and_another_workspace_are_watched(tmp_path: Path) -> None:
    def planner(*words: str) -> None:
        command = [sys.executable, "-m", "planner", *words]
        subprocess.run(command, cwd=tmp_path, check=True, capture_output=True)

    (tmp_path / "main.tf").write_text(READS)
    planner("workspace", "new", "w")
    watching = Watching(tmp_path)
    assert "Plan: 2 to add" in watching.until("Waiting")
    planner("apply", "-auto-approve")
    said = watching.until("Waiting")
    while "Plan: 0 to add" not in said:
        said = watching.until("Waiting")
    planner("workspace", "select", "default")
    said = watching.until("Waiting")  # of the state, where its end was noticed late
    while "Plan: 2 to add" not in said:
        said = watching.until("Waiting")
    assert watching.end() == 0


def test_rules_of_the_directory_are_watched(folder: Path, watching: Watching) -> None:
    watching.until("Waiting")
    (file := folder / ".planner" / "rules" / "own.dl").parent.mkdir(parents=True)
    file.write_text("order_before(")
    assert "own.dl was added." in watching.until("Waiting")
    file.write_text("// nothing yet\n")
    assert "The plan is unchanged." in watching.until("Waiting")
    assert watching.end() == 0


def test_policies_are_watched_and_their_verdicts_compared(folder: Path) -> None:
    watching = Watching(folder)
    assert "Policies" not in watching.until("Waiting")
    (folder / ".planner" / "policies").mkdir(parents=True)
    file = folder / ".planner" / "policies" / "names.dl"
    file.write_text('deny("named", X, "may not be made") :- action(X, "create").\n')
    text = watching.until("Waiting")
    assert "Policies: 1 denied." in text and "  + deny named terraform_data.x: may not be made" in text
    (folder / "out.txt").write_text("of no concern")
    file.write_text('warn("named", X, "may not be made") :- action(X, "create").\n')
    text = watching.until("Waiting")
    assert "out.txt" not in text and "names.dl changed." in text
    assert "  + warn named terraform_data.x" in text and "  - deny named terraform_data.x" in text
    text = file.read_text()
    file.write_text("deny(")
    assert "Policies" not in watching.until("Waiting")
    file.write_text(text + 'warn("more", X, "is new") :- action(X, "create").\n')
    text = watching.until("Waiting")
    assert "  + warn more terraform_data.x" in text and "  + warn named" not in text
    assert "The plan is unchanged." in text and "causes" not in text
    shutil.rmtree(folder / ".planner")
    text = watching.until("Waiting")
    assert "Policies: none are checked any more." in text and "  - warn more terraform_data.x" in text
    (folder / "more.tf").write_text("")
    assert "Policies" not in watching.until("Waiting")
    assert watching.end() == 0


def test_an_init_is_noticed(folder: Path) -> None:
    (folder / "net").mkdir()
    (folder / "net" / "main.tf").write_text('resource "terraform_data" "y" {}\n')
    (folder / "main.tf").write_text(MAIN + 'module "net" {\n  source = "./net"\n}\n')
    watching = Watching(folder)
    assert "Plan:" not in watching.until("Waiting")
    subprocess.run([sys.executable, "-m", "planner", "init"], cwd=folder, check=True, capture_output=True)
    assert "Plan: 2 to add" in watching.until("Waiting")
    (folder / "net" / "main.tf").write_text('resource "terraform_data" "z" {}\n')
    assert "module.net.terraform_data.z: will be created (before: not planned)" in watching.until("Waiting")
    assert watching.end() == 0


def test_differences_are_listed_by_cause_with_the_values_of_both_plans(tmp_path: Path) -> None:
    variables = tmp_path / "terraform.tfvars"
    variables.write_text('image = "1"\nnumber = 1\n')
    (tmp_path / "main.tf").write_text(
        'variable "image" {}\nvariable "number" {}\n'
        'resource "terraform_data" "web" {\n  count = var.number\n  input = var.image\n}\n'
        'resource "terraform_data" "db" {\n  triggers_replace = var.image\n}\n'
    )
    subprocess.run([sys.executable, "-m", "planner", "apply", "-auto-approve"], cwd=tmp_path, check=True)
    watching = Watching(tmp_path)
    watching.until("Waiting")
    variables.write_text('image = "2"\nnumber = 1\n')
    assert (
        'terraform.tfvars changed.\nbecause var.image "1" -> "2" (terraform.tfvars:1)\n'
        "  terraform_data.db: will be replaced (before: unchanged)\n"
        "  terraform_data.web[0]: will be updated (before: unchanged)\n\n"
    ) in watching.until("Waiting")
    variables.write_text('image = "2"\nnumber = 2\n')
    assert "(terraform.tfvars:2)\n  terraform_data.web[1]: will be created (before: not planned)" in watching.until(
        "Waiting"
    )
    variables.write_text('image = "2"\nnumber = 3\n')
    assert "because var.number 2 -> 3 (terraform.tfvars:2)\n  terraform_data.web[2]: will be" in watching.until(
        "Waiting"
    )
    variables.write_text('image = "1"\nnumber = 1\n')
    said = watching.until("Waiting")
    assert (
        'because var.image "2" -> "1" (terraform.tfvars:1)\n'
        "  terraform_data.db: will be unchanged (before: replaced)\n"
        "  terraform_data.web[0]: will be unchanged (before: updated)\n"
    ) in said
    assert "because var.number 3 -> 1 (terraform.tfvars:2)\n  terraform_data.web[1, 2]: no longer planned" in said
    assert watching.end() == 0


def test_edits_of_instances_are_one_cause_which_ends_when_it_is_taken_back(tmp_path: Path) -> None:
    text = 'resource "terraform_data" "web" {\n  count = 3\n  triggers_replace = ["a${count.index}"]\n}\n'
    (tmp_path / "main.tf").write_text(text)
    subprocess.run([sys.executable, "-m", "planner", "apply", "-auto-approve"], cwd=tmp_path, check=True)
    watching = Watching(tmp_path)
    watching.until("Waiting")
    (tmp_path / "main.tf").write_text(text.replace('"]', '", 1]'))
    cause = "because terraform_data.web[*].triggers_replace (main.tf:3)\n  terraform_data.web[0..2]: will be "
    assert f"\n{cause}replaced (before: unchanged)\n\n" in watching.until("Waiting")
    (tmp_path / "main.tf").write_text(text)
    assert f"\nno longer {cause}unchanged (before: replaced)\n\n" in watching.until("Waiting")
    (tmp_path / "more.tf").write_text("")
    assert "\nmore.tf was added.\n" in watching.until("Waiting")
    (tmp_path / "more.tf").unlink()
    assert "\nmore.tf was deleted.\n" in watching.until("Waiting")
    assert watching.end() == 0


def test_many_objects_of_one_cause_are_counted(tmp_path: Path) -> None:
    objects = "".join(f'resource "terraform_data" "web{n}" {{ input = var.image }}\n' for n in range(30))
    (tmp_path / "main.tf").write_text(f'variable "image" {{ default = "1" }}\n{objects}')
    watching = Watching(tmp_path)
    watching.until("Waiting")
    (tmp_path / "terraform.tfvars").write_text('image = "2"\n')
    said = watching.until("Waiting")
    assert said.count('created with input "2" instead of "1"') == 20 and "\n  ... 10 more\n" in said
    assert watching.end() == 0
