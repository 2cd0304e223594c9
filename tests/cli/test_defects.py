"""A mistake in planner itself, in the middle of an apply: one error that names the object, and nothing is lost."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from planner.world.provider.builtin import BuiltinProvider

MAIN = """
resource "terraform_data" "a" { input = "a" }
resource "terraform_data" "bad" { input = "bad" }
resource "terraform_data" "waits" { input = terraform_data.bad.output }
resource "terraform_data" "z" { input = terraform_data.a.output }
"""


@pytest.mark.parametrize("problem", [KeyError("x"), RecursionError(), UnicodeDecodeError("utf-8", b"", 0, 1, "no")])
def test_what_was_done_is_in_the_state(
    tmp_path: Path, planner: Any, monkeypatch: pytest.MonkeyPatch, problem: Exception
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "main.tf").write_text(MAIN)
    apply = BuiltinProvider.apply

    def broken(self: BuiltinProvider, request: Any) -> Any:
        if request.planned["input"] == "bad":
            raise problem
        return apply(self, request)

    monkeypatch.setattr(BuiltinProvider, "apply", broken)
    ran = planner("apply", "-auto-approve")
    assert ran.code == 1
    assert "terraform_data.bad" in ran.err
    state = json.loads((tmp_path / "terraform.tfstate").read_text())
    assert [resource["name"] for resource in state["resources"] if resource["instances"]] == ["a", "z"]
    assert not (tmp_path / "terraform.tfstate.journal").exists()
    monkeypatch.undo()
    monkeypatch.chdir(tmp_path)
    assert planner("apply", "-auto-approve").code == 0
