"""`-since=REF`: read by the commands that name causes, and checked before anything is planned."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from git.test_git_tree import committed

Run = Callable[..., Any]
COMMANDS = ("plan", "plan -json", "why", "explore -out=page.html", "what-if -destroy", "batch plan", "stacks plan")


@pytest.mark.parametrize("command", COMMANDS)
@pytest.mark.parametrize("ref", ["mian", "", "--all"])
def test_an_unknown_revision_is_an_error_before_anything_is_planned(
    command: str, ref: str, tmp_path: Path, planner: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    committed(tmp_path, {"main.tf": 'resource "terraform_data" "a" {}', "a.tfcomponent.hcl": ""}, {})
    monkeypatch.chdir(tmp_path)
    before = sorted(tmp_path.rglob("*"))
    ran = planner(*command.split(), f"-since={ref}")
    assert ran.code == 1
    assert "Cannot read the revision" in ran.out + ran.err
    assert "terraform_data" not in ran.out
    assert ('Did you mean "main"?' in (ran.out + ran.err).replace("\\", "")) == (ref == "mian")
    assert sorted(tmp_path.rglob("*")) == before


@pytest.mark.parametrize("command", ["plan", "plan -summary", "why", "what-if -destroy", "explore -out=page.html"])
def test_a_known_revision_is_accepted(
    command: str, tmp_path: Path, planner: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    committed(tmp_path, {"main.tf": 'resource "terraform_data" "a" {}'}, {})
    monkeypatch.chdir(tmp_path)
    ran = planner(*command.split(), "-since=main")
    assert ran.code == 0, ran.out + ran.err
