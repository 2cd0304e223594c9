"""Fleets whose states are in services: the example on PostgreSQL."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from batch.fleets import batch, inside
from state.backends.servers import SERVERS

from planner.cli.main import dispatch
from planner.render.terminal import Terminal

EXAMPLE = Path(__file__).parents[2] / "examples/10_fleet_on_postgres"
UNITS = ("network", "database", "service")


@pytest.fixture
def fleet(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The example with a database of its own."""
    settings = SERVERS["pg"]().settings()
    name = settings["schema_name"]
    monkeypatch.setenv("PG_CONN_STR", settings["conn_str"])
    root = tmp_path / "fleet"
    shutil.copytree(EXAMPLE, root)
    for file in root.glob("live/*/main.tf"):
        text = file.read_text().replace('schema_name = "', f'schema_name = "{name}_')
        file.write_text(text)
    for unit in UNITS:
        with inside(root / "live" / unit):
            assert dispatch(["init"], Terminal()) == 0
    return root


def test_the_example_on_postgres(fleet: Path) -> None:
    edges = {(edge[0], edge[1]) for edge in batch(fleet, "graph", "-json").json["edges"]}
    assert edges == {("database", "network"), ("service", "database")}
    ran = batch(fleet, "apply", "-auto-approve", "-json")
    assert ran.outcomes == dict.fromkeys(UNITS, "applied")
    assert batch(fleet, "plan", "-json").outcomes == dict.fromkeys(UNITS, "unchanged")


def test_what_a_service_says_is_call_is_repeated(fleet: Path) -> None:
    """A state there may change without any file of ours that does."""
    batch(fleet, "apply", "-auto-approve")
    assert batch(fleet, "plan", "-json").outcomes == dict.fromkeys(UNITS, "unchanged")
    with inside(fleet / "live/service"):
        assert dispatch(["state", "rm", "terraform_data.service"], Terminal()) == 0
    outcomes = batch(fleet, "plan", "-json").outcomes
    assert outcomes["service"] == "changes"
