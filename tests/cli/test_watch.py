"""`watch`: plans as files are saved, until an interrupt."""

from __future__ import annotations

import json
import os
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
    assert "main.tf changed." in said and "terraform_data.y: create instead of no change" in said
    assert "terraform_data.x" not in said and "Plan: 2 to add" in said
    (folder / "said.txt").write_text("bye")
    said = watching.until("Waiting")
    assert "said.txt changed." in said and "terraform_data.x: create to other values" in said
    (folder / "main.tf").write_text('resource "half')
    # what cannot be planned is told, on the other stream, and compared with nothing
    assert "Plan:" not in watching.until("Waiting")
    (folder / "main.tf").write_text(MAIN)
    assert "terraform_data.y: no change instead of create" in watching.until("Waiting")
    assert watching.end() == 0
    assert not (folder / "terraform.tfstate").exists()


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
