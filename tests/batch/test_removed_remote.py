"""Units that are gone and whose states are in services: orphaned, destroyed, forgotten as those with state files."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest
from batch.fleets import batch, write
from batch.test_removed import removed
from state.backends.servers import SERVERS, block
from thinned import thinned

SERVICES = ("s3", "pg", "http", "gcs", "remote", "cloud")
BODY = """
variable "up" { default = "none" }
resource "terraform_data" "x" { input = var.up }
output "id" { value = terraform_data.x.id }
"""
FILE = 'unit "a" {}\n'


@pytest.fixture(scope="module", params=thinned(list(SERVICES), 3))
def service(request: pytest.FixtureRequest) -> Any:
    kind = request.param
    return kind, SERVERS["remote" if kind == "cloud" else kind]()


@pytest.fixture
def fleet(tmp_path: Path, service: Any, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Three applied units in a service; `old-db` and `old-app`, which stands on it, are gone with their folders."""
    kind, server = service
    for name, value in server.environment.items():
        monkeypatch.setenv(name, value)
    for name in ("a", "old-db", "old-app"):
        write(tmp_path, {f"{name}/main.tf": block(kind, server.settings()) + BODY})
    depends = 'unit "old-db" {}\nunit "old-app" {\n  inputs = { up = unit.old-db.id }\n}\n'
    write(tmp_path, {"planner.batch.hcl": FILE + depends})
    ran = batch(tmp_path, "apply", "-auto-approve")
    assert ran.code == 0, ran.errors
    for name in ("old-db", "old-app"):
        shutil.rmtree(tmp_path / name)
    write(tmp_path, {"planner.batch.hcl": FILE})
    return tmp_path


def manifest(root: Path) -> list[str]:
    return sorted(json.loads((root / ".planner/batch/manifest.json").read_text())["units"])


@pytest.mark.slow
def test_they_are_orphaned(fleet: Path) -> None:
    ran = batch(fleet, "plan", "-json", "-no-cache")
    assert [found["unit"] for found in ran.json["orphaned"]] == ["old-app", "old-db"]
    assert batch(fleet, "plan", "-strict").code == 1


def test_they_are_destroyed_in_order(fleet: Path) -> None:
    write(fleet, {"planner.batch.hcl": FILE + removed("old-db", "destroy") + removed("old-app", "destroy")})
    assert batch(fleet, "graph", "-json").json["edges"] == [["old-db", "old-app"]]
    ran = batch(fleet, "plan", "-json", "-strict")
    assert ran.code == 0, ran.errors
    assert {name: ran.unit(name)["counts"]["remove"] for name in ("old-db", "old-app")} == {"old-db": 1, "old-app": 1}
    ran = batch(fleet, "apply", "-auto-approve", "-json")
    assert ran.outcomes == {"a": "unchanged", "old-db": "applied", "old-app": "applied"}, ran.out
    assert manifest(fleet) == ["a"]
    ran = batch(fleet, "plan", "-strict")
    assert ran.code == 0 and "old-db has no objects left" in " ".join(ran.out.split())


@pytest.mark.slow
def test_they_are_forgotten(fleet: Path) -> None:
    write(fleet, {"planner.batch.hcl": FILE + removed("old-db", "forget") + removed("old-app", "forget")})
    ran = batch(fleet, "plan", "-strict")
    assert ran.code == 0 and "is forgotten with the next apply" in " ".join(ran.out.split())
    assert manifest(fleet) == ["a", "old-app", "old-db"]
    assert batch(fleet, "apply", "-auto-approve").code == 0
    assert manifest(fleet) == ["a"]
