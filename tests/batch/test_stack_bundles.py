"""Deployments that run where the files of the fleet are not."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest
from batch.fleets import batch, write
from batch.stack_fleets import NET, SHOP
from state.backends.servers import SERVERS

from planner.batch.bundles import host

WORKER = f"command:{sys.executable} -m planner batch work"


@pytest.fixture
def fleet(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A network and a shop that reads it, whose states are in a service."""
    server = SERVERS["gcs"]()
    for name, value in server.environment.items():
        monkeypatch.setenv(name, value)
    root = tmp_path / "fleet"
    write(root, {**NET, **SHOP})
    for name in ("net", "shop"):
        settings = {**server.settings(), "prefix": f"states/{name}"}
        lines = "".join(f"  {key} = {json.dumps(value)}\n" for key, value in settings.items())
        write(root, {f"{name}/planner.stack.hcl": f'backend "gcs" {{\n{lines}}}\n'})
    (tmp_path / "there").mkdir()
    monkeypatch.setenv(host.FOLDER, str(tmp_path / "there"))
    return root


def test_deployments_are_planned_and_applied_elsewhere(fleet: Path, tmp_path: Path) -> None:
    here = batch(fleet, "plan", "-json", "-no-cache")
    assert here.outcomes["shop/live"] == "incomplete", here.out
    there = batch(fleet, "plan", "-json", "-no-cache", f"-executor={WORKER}")
    assert there.outcomes == here.outcomes, there.out
    applied = batch(fleet, "apply", "-auto-approve", "-json", f"-executor={WORKER}")
    assert set(applied.outcomes.values()) == {"applied"}, applied.out
    assert set(batch(fleet, "plan", "-json", "-no-cache").outcomes.values()) == {"unchanged"}
    again = batch(fleet, "plan", "-json", "-no-cache", f"-executor={WORKER}")
    assert set(again.outcomes.values()) == {"unchanged"}, again.out
    assert not list((tmp_path / "there").iterdir())


def test_what_is_approved_here_is_applied_there(fleet: Path) -> None:
    ran = batch(fleet, "apply", f"-executor={WORKER}", answers="yes\n" * 3)
    assert ran.code == 0 and "4 applied" in ran.out, ran.errors


def test_local_states_do_not_travel(tmp_path: Path) -> None:
    write(tmp_path, NET)
    ran = batch(tmp_path, "plan", f"-executor={WORKER}")
    assert ran.code == 1 and "is a file of the machine that the bundle comes from" in " ".join(ran.errors.split())
