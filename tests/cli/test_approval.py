"""Questions on a terminal of their own: where it will be done, and what is typed for secrets is not shown."""

from __future__ import annotations

import os
import pty
import select
import subprocess
import sys
import time
from pathlib import Path

import pytest

MAIN = """
variable "open" {}
variable "secret" { sensitive = true }
resource "terraform_data" "a" { input = [var.open, var.secret] }
"""


def answered(directory: Path, words: list[str], answers: list[str]) -> tuple[int, str]:
    """Exit code and what the terminal shows when these are typed, each after its question."""
    ours, theirs = pty.openpty()
    environment = {**os.environ, "TERM": "dumb", "NO_COLOR": "1"}
    process = subprocess.Popen(
        [sys.executable, "-m", "planner", *words],
        cwd=directory, env=environment, stdin=theirs, stdout=theirs, stderr=theirs, close_fds=True,
    )  # fmt: skip
    os.close(theirs)
    shown, seen, waiting, deadline = "", 0, list(answers), time.monotonic() + 60
    while time.monotonic() < deadline:
        if not select.select([ours], [], [], 0.2)[0]:
            continue
        try:
            data = os.read(ours, 4096)
        except OSError:  # the other end is closed
            break
        shown += data.decode()
        if waiting and shown[seen:].endswith("Enter a value: "):
            seen = len(shown)
            os.write(ours, f"{waiting.pop(0)}\n".encode())
    code = process.wait(10)
    os.close(ours)
    return code, shown.replace("\r", "")


def test_secrets_are_not_shown_and_the_place_is_named(tmp_path: Path) -> None:
    (tmp_path / "main.tf").write_text(MAIN)
    code, shown = answered(tmp_path, ["apply"], ["seen", "hush-hush", "yes"])
    assert code == 0
    assert "Enter a value: seen\n" in shown
    assert "hush-hush" not in shown
    assert "Enter a value: yes\n" in shown  # shown again
    assert "Workspace: default. State: terraform.tfstate (backend local)." in shown
    assert "hush-hush" in (tmp_path / "terraform.tfstate").read_text()


@pytest.mark.parametrize(
    ("words", "question"),
    [
        (["apply"], 'Do you want to perform these actions in workspace "stage"?'),
        (["destroy"], 'Do you really want to destroy all resources in workspace "stage"?'),
    ],
)
def test_the_workspace_is_in_the_question(
    tmp_path: Path, planner, monkeypatch, words: list[str], question: str
) -> None:
    (tmp_path / "main.tf").write_text('resource "terraform_data" "a" {}')
    monkeypatch.chdir(tmp_path)
    assert planner("workspace", "new", "stage").code == 0
    if words == ["destroy"]:
        assert planner("apply", "-auto-approve").code == 0
    ran = planner(*words, stdin="no\n")
    assert ran.code == 1
    assert question in ran.out
    assert "Workspace: stage. State: terraform.tfstate.d/stage/terraform.tfstate (backend local)." in ran.out
