"""Plugins that die, babble or dawdle: one clear error with the provider's name and its last words, nothing left
behind, and nothing lost in the state."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from conformance import forked
from provider.plugins import ROOT, SOURCE, is_alive, override, pids
from thinned import thinned

REQUIRED = f"""
terraform {{
  required_providers {{
    test = {{ source = "{SOURCE}" }}
  }}
}}
"""
EVERYTHING = (
    REQUIRED
    + """
provider "test" {
  prefix = "p"
}
resource "test_thing" "a" {
  name = "a"
}
resource "test_named" "n" {
  name = test_thing.a.name
}
resource "terraform_data" "d" {
  input = test_thing.a.id
}
resource "terraform_data" "apart" {}
data "test_thing" "r" {
  id = test_thing.a.id
}
ephemeral "test_token" "t" {
  name = "renewed"
}
resource "terraform_data" "waits" {
  depends_on = [ephemeral.test_token.t]
  provisioner "local-exec" {
    command = "sleep 0.3"
  }
}
output "f" {
  value = provider::test::double(2)
}
"""
)
IMPORT = EVERYTHING + 'import {\n  to = test_named.n\n  id = "x"\n}\n'
SEVERAL = EVERYTHING.replace('name = "a"', 'name = "b"')
IN_A_FIRST_RUN = (
    "GetProviderSchema",
    "ValidateProviderConfig",
    "ConfigureProvider",
    "ValidateResourceConfig",
    "ValidateDataResourceConfig",
    "ValidateEphemeralResourceConfig",
    "PlanResourceChange",
    "ApplyResourceChange",
    "ReadDataSource",
    "OpenEphemeralResource",
    "RenewEphemeralResource",
    "CloseEphemeralResource",
    "CallFunction",
)
IN_A_SECOND_RUN = (
    "UpgradeResourceState",
    "ReadResource",
    "PlanResourceChange",
    "ApplyResourceChange",
    "ReadDataSource",
)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    override(monkeypatch, tmp_path, is_alone=True)
    found = tmp_path / "project"
    found.mkdir()
    (found / "main.tf").write_text(EVERYTHING)
    return found


def run(folder: Path, *words: str, **environment: str) -> subprocess.CompletedProcess[str]:
    """Run planner; whatever happens, no plugin may be left."""
    done = forked.run(words, folder, {**os.environ, "PYTHONPATH": str(ROOT), **environment})
    world = folder.parent / "world"
    assert not any(map(is_alive, pids(world) if (world / "started").exists() else []))
    assert "Traceback" not in done.stdout + done.stderr
    return done


def recorded(folder: Path) -> set[str]:
    path = folder / "terraform.tfstate"
    state = json.loads(path.read_text()) if path.exists() else {"resources": []}
    return {f"{r['type']}.{r['name']}" for r in state["resources"] if r["mode"] == "managed"}


def check_words(text: str) -> None:
    assert SOURCE in text and "killed by SIGKILL" in text
    assert "out of memory, or so it seems" in text


@pytest.mark.parametrize("call", thinned(IN_A_FIRST_RUN, 3))
def test_killed_in_a_first_run(folder: Path, call: str) -> None:
    done = run(folder, "apply", "-auto-approve", "-no-color", TEST_PROVIDER_KILL=call)
    assert done.returncode == 1
    check_words(" ".join(done.stderr.split()))
    assert f"during the call {call}" in " ".join(done.stderr.split())
    assert "terraform_data.d" not in recorded(folder) or call not in ("ApplyResourceChange", "PlanResourceChange")
    if call == "ApplyResourceChange":
        assert recorded(folder) >= {"terraform_data.apart"}


@pytest.mark.slow
@pytest.mark.parametrize("call", IN_A_SECOND_RUN)
def test_killed_in_a_second_run(folder: Path, call: str) -> None:
    assert run(folder, "apply", "-auto-approve").returncode == 0
    before = recorded(folder)
    (folder / "main.tf").write_text(EVERYTHING.replace('name = "a"', 'name = "a"\n  size = 5'))
    done = run(folder, "apply", "-auto-approve", "-no-color", TEST_PROVIDER_KILL=call)
    assert done.returncode == 1
    check_words(" ".join(done.stderr.split()))
    assert recorded(folder) == before
    assert run(folder, "apply", "-auto-approve").returncode == 0


@pytest.mark.parametrize(("call", "expected"), [("ImportResourceState", 1), ("GetResourceIdentitySchemas", 1)])
def test_killed_while_importing(folder: Path, call: str, expected: int) -> None:
    (folder / "main.tf").write_text(IMPORT)
    done = run(folder, "plan", "-no-color", TEST_PROVIDER_KILL=call)
    assert done.returncode == expected
    check_words(" ".join(done.stderr.split()))


def test_killed_while_upgrading_an_identity(folder: Path) -> None:
    (folder / "main.tf").write_text(REQUIRED + 'resource "test_named" "n" {\n  name = "n"\n}\n')
    assert run(folder, "apply", "-auto-approve").returncode == 0
    path = folder / "terraform.tfstate"
    state = json.loads(path.read_text())
    state["resources"][0]["instances"][0].update(identity_schema_version=0, identity={"title": "n"})
    path.write_text(json.dumps(state))
    done = run(folder, "apply", "-auto-approve", "-no-color", TEST_PROVIDER_KILL="UpgradeResourceIdentity")
    assert done.returncode == 1
    check_words(" ".join(done.stderr.split()))
    assert json.loads(path.read_text()) == state
    assert run(folder, "apply", "-auto-approve").returncode == 0


def test_killed_while_moving(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    override(monkeypatch, folder.parent, names=("test", "other"), is_alone=True)  # the state's, too
    source = {"type": "other_thing", "name": "o", "provider": 'provider["example.com/test/other"]', "mode": "managed"}
    instance = {"schema_version": 0, "attributes": {"title": "n"}}
    state = {"version": 4, "lineage": "l", "serial": 1, "terraform_version": "1.12.6", "outputs": {}}
    path = folder / "terraform.tfstate"
    path.write_text(json.dumps({**state, "resources": [{**source, "instances": [instance]}]}))
    before = path.read_text()
    moved = "moved {\n  from = other_thing.o\n  to   = test_named.n\n}\n"
    (folder / "main.tf").write_text(REQUIRED + moved + 'resource "test_named" "n" {\n  name = "n"\n}\n')
    done = run(folder, "apply", "-auto-approve", "-no-color", TEST_PROVIDER_KILL="MoveResourceState")
    assert done.returncode == 1
    check_words(" ".join(done.stderr.split()))
    assert path.read_text() == before
    assert run(folder, "apply", "-auto-approve").returncode == 0


def test_killed_while_asked_to_stop(folder: Path) -> None:
    (folder / "main.tf").write_text(
        REQUIRED
        + 'resource "test_thing" "a" {\n  name = "a"\n  fail = "slow-apply"\n}\nresource "terraform_data" "d" {}\n'
        + 'resource "terraform_data" "later" {\n  input = test_thing.a.id\n}\n'
    )
    running = subprocess.Popen(
        [sys.executable, "-m", "planner", "apply", "-auto-approve", "-no-color"],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(ROOT), "TEST_PROVIDER_KILL": "StopProvider"},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    world = folder.parent / "world"
    limit = time.monotonic() + 20
    while not (world / "slow").exists():
        assert time.monotonic() < limit and running.poll() is None
        time.sleep(0.02)
    running.send_signal(signal.SIGINT)
    _, said = running.communicate(timeout=20)
    assert running.returncode == 1 and "Traceback" not in said
    check_words(" ".join(said.split()))
    assert "during the call ApplyResourceChange" in " ".join(said.split())
    assert recorded(folder) == {"terraform_data.d"}
    assert not any(map(is_alive, pids(world)))


@pytest.mark.parametrize(
    ("start", "words"),
    [
        ("babble", "Its first line of output is not a handshake: 'hello, world'"),
        ("old", "It uses the plugin protocol 4; 5 or 6 is required"),
        ("crash", "cannot start today"),
        pytest.param("hang", "waiting for something", marks=pytest.mark.slow),
    ],
)
def test_bad_starts(folder: Path, start: str, words: str) -> None:
    done = run(folder, "plan", "-no-color", TEST_PROVIDER_START=start, PLANNER_PROVIDER_TIMEOUT="3")
    assert done.returncode == 1
    said = " ".join(done.stderr.split())
    assert SOURCE in said and words in said


@pytest.mark.slow
def test_a_slow_start_is_waited_for(folder: Path) -> None:
    assert run(folder, "validate", TEST_PROVIDER_START="slow").returncode == 0


def test_a_message_that_is_too_long(folder: Path) -> None:
    done = run(folder, "plan", "-no-color", TEST_PROVIDER_BIG="400", PLANNER_PROVIDER_MESSAGE_LIMIT="100000")
    said = " ".join(done.stderr.split())
    assert done.returncode == 1 and SOURCE in said
    assert "GetProviderSchema" in said and "100000" in said
