"""An apply that is killed while it runs: what every backend has of it by then, for us and for another program."""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
from state.backends.servers import SERVERS, kinds
from state.backends.test_shared_states import OURS, SHARED, Place, killed

MAIN = """
resource "terraform_data" "made" {
  count = 3
  input = "made"
}
resource "terraform_data" "slow" {
  input      = "slow"
  depends_on = [terraform_data.made]
  provisioner "local-exec" { command = "trap '' INT TERM; touch begun; sleep 60" }
}
"""
QUICK = MAIN.replace("trap '' INT TERM; touch begun; sleep 60", "true")


def resources(place: Place) -> set[str]:
    """The resources in the state that the backend itself has."""
    code, text = place.run(OURS, "state", "pull")
    assert code == 0, text
    state = json.loads(text[text.index("{") : text.rindex("}") + 1]) if "{" in text else {}
    return {f"{one['type']}.{one['name']}" for one in state.get("resources", ()) if one["instances"]}


def two_machines(tmp_path: Path, kind: str) -> tuple[Place, Place]:
    server = SERVERS[kind]()
    settings = server.settings()
    places = []
    for name in ("one", "two"):
        place = Place(tmp_path / name, server)
        place.backend(settings)
        (place.folder / "main.tf").write_text(MAIN, "utf-8")
        place.good(OURS, "init", "-input=false")
        places.append(place)
    return places[0], places[1]


@pytest.fixture(params=kinds(*SHARED, quick=("http", "pg")))
def machines(request: pytest.FixtureRequest, tmp_path: Path) -> tuple[Place, Place]:
    return two_machines(tmp_path, request.param)


def unlock(place: Place) -> None:
    code, text = place.run(OURS, "plan", "-lock-timeout=0s")
    found = re.search(r"^\s*ID:\s+(\S+)", text, re.M) or re.search(r'lock ID: "(\S+)"', text)
    if code and found:
        place.good(OURS, "force-unlock", "-force", found.group(1))


def test_an_interrupted_apply_writes_what_it_made_at_once(machines: tuple[Place, Place]) -> None:
    one, two = machines
    process = one.held(OURS)
    process.send_signal(signal.SIGINT)
    deadline = time.monotonic() + 60
    while "terraform_data.made" not in resources(two):
        assert time.monotonic() < deadline
        time.sleep(0.2)
    killed(process)
    unlock(two)
    shutil.rmtree(one.folder / ".terraform" / "planner", ignore_errors=True)  # the machine is lost
    (two.folder / "main.tf").write_text(QUICK, "utf-8")
    text = two.good(OURS, "apply", "-auto-approve")
    assert "terraform_data.made[0]: Creating" not in text
    assert two.run(OURS, "plan", "-detailed-exitcode")[0] == 0


def test_when_something_else_goes_on_the_next_command_names_what_the_journal_has(tmp_path: Path) -> None:
    """The other program starts from nothing, as one that knows no journal: here it is planner on a second machine."""
    one, two = two_machines(tmp_path, "http")
    killed(one.held(OURS))
    unlock(two)
    (two.folder / "main.tf").write_text('output "o" { value = 1 }', "utf-8")
    two.good(OURS, "apply", "-auto-approve")  # another serial, and none of the objects
    (one.folder / "main.tf").write_text(QUICK, "utf-8")
    code, text = one.run(OURS, "plan")
    assert code == 0 and "Objects of an interrupted operation are missing" in text
    assert "- terraform_data.made[2]" in text and "state journal -adopt" in text
    code, text = one.run(OURS, "apply", "-auto-approve")
    assert code == 1 and "would create these objects again" in " ".join(text.split())
    text = one.good(OURS, "state", "journal", "-adopt")
    assert "terraform_data.made[0]: added to the state" in text
    assert "terraform_data.made" in resources(two)
    text = one.good(OURS, "apply", "-auto-approve")
    assert "terraform_data.made[0]: Creating" not in text
    assert "There is no journal" in one.good(OURS, "state", "journal")
    assert "already contains all objects" in one.good(OURS, "state", "journal", "-adopt")


def test_adopting_writes_a_journal_that_counts_for_other_programs(machines: tuple[Place, Place]) -> None:
    one, two = machines
    killed(one.held(OURS))
    unlock(one)
    text = one.good(OURS, "state", "journal", "-adopt")
    assert "terraform_data.made[0]: added to the state" in text
    assert "The create of terraform_data.slow began" in text
    assert "There is no journal" in one.good(OURS, "state", "journal")
    shutil.rmtree(one.folder / ".terraform" / "planner", ignore_errors=True)
    assert resources(two) == {"terraform_data.made", "terraform_data.slow"}


@pytest.mark.parametrize(
    "more",
    [
        "moved {\n  from = terraform_data.made[0]\n  to = terraform_data.first\n}",
        "moved {\n  from = terraform_data.o\n  to = terraform_data.p\n}",  # of something else
        'resource "terraform_data" "o" {\n  triggers_replace = [2]\n  lifecycle {\n    prevent_destroy = true\n  }\n}',
    ],
)
def test_objects_are_adopted_whatever_the_configuration_plans_for_them(tmp_path: Path, more: str) -> None:
    one, two = two_machines(tmp_path, "http")
    killed(one.held(OURS))
    unlock(two)
    (two.folder / "main.tf").write_text('resource "terraform_data" "o" {}', "utf-8")
    two.good(OURS, "apply", "-auto-approve")
    (one.folder / "main.tf").write_text(f"{QUICK}\n{more}", "utf-8")
    text = one.good(OURS, "state", "journal", "-adopt")
    assert "terraform_data.made[0]: added to the state" in text and "does not exist" not in text
    assert "terraform_data.made[0]" in one.good(OURS, "state", "list")


def test_an_interval_that_cannot_be_is_refused_before_anything_is_done(tmp_path: Path) -> None:
    (tmp_path / "main.tf").write_text('resource "terraform_data" "a" {}')
    environment = {**os.environ, "TF_STATE_PERSIST_INTERVAL": "5"}
    settings: dict[str, Any] = {"capture_output": True, "text": True, "check": False}
    ran = subprocess.run(
        [sys.executable, "-m", "planner", "apply", "-auto-approve"], cwd=tmp_path, env=environment, **settings
    )
    assert ran.returncode == 1 and "TF_STATE_PERSIST_INTERVAL" in ran.stderr
    assert not (tmp_path / "terraform.tfstate").exists()
