"""Questions on a terminal of their own: where it will be done, and what is typed for secrets is not shown."""

from __future__ import annotations

from pathlib import Path

import pytest

from .terminals import conversation

MAIN = """
variable "open" {}
variable "secret" { sensitive = true }
resource "terraform_data" "a" { input = [var.open, var.secret] }
"""


def test_secrets_are_not_shown_and_the_place_is_named(tmp_path: Path) -> None:
    (tmp_path / "main.tf").write_text(MAIN)
    code, shown = conversation(tmp_path, ["apply"], ["seen\n", "hush-hush\n", "yes\n"], ("Enter a value: ",))
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
