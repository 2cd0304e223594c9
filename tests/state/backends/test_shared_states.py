"""Two programs that share a state: ours with itself and, where there is one, with OpenTofu (the variable TOFU, or
`tofu` in the path): plans and applies in turn, locks of one refused by the other, removed by force, left by a killed
holder."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
from conformance import forked
from state.backends.servers import SERVERS, Server, block, kinds

TOFU = os.environ.get("TOFU") or shutil.which("tofu")
OURS = [sys.executable, "-m", "planner"]
SHARED = sorted(set(SERVERS) - {"inmem"})
NO_INFO = frozenset(("pg",))
"""where a lock says nothing of its holder"""
GOES_AWAY = frozenset(("pg",))
"""where the lock of a killed process goes away by itself, and at once"""

MAIN = """
resource "terraform_data" "a" { input = "%s" }
resource "terraform_data" "slow" {
  count = %d
  provisioner "local-exec" { command = "touch begun; sleep 60" }
}
output "o" { value = terraform_data.a.output }
"""


class Place:
    """A working directory with a backend, in which both programs run."""

    def __init__(self, folder: Path, server: Server) -> None:
        self.folder, self.server = folder, server
        folder.mkdir(exist_ok=True)
        self.settings = dict[str, Any]()
        self.environment = {**os.environ, "TF_CLI_CONFIG_FILE": "/dev/null", "NO_COLOR": "1", **server.environment}

    def write(self, value: str, slow: int = 0) -> None:
        (self.folder / "main.tf").write_text(MAIN % (value, slow), "utf-8")

    def backend(self, settings: dict[str, Any]) -> None:
        self.settings = settings
        (self.folder / "backend.tf").write_text(block(self.server.type, settings), "utf-8")

    def run(self, program: list[str], *words: str, answer: str = "") -> tuple[int, str]:
        """The exit code and the text of a command, without borders and line breaks within sentences."""
        if program is OURS:
            ran = forked.run(words, self.folder, self.environment, answer)
        else:
            settings: dict[str, Any] = {"capture_output": True, "text": True, "timeout": 120, "check": False}
            ran = subprocess.run([*program, *words], cwd=self.folder, env=self.environment, input=answer, **settings)
        return ran.returncode, re.sub(r"[│╷╵]|\x1b\[[0-9;]*m", "", ran.stdout + ran.stderr)

    def good(self, program: list[str], *words: str) -> str:
        code, text = self.run(program, *words)
        assert code == 0, text
        return text

    def held(self, program: list[str]) -> subprocess.Popen[bytes]:
        """An apply that holds the lock, in the middle of a provisioner."""
        (self.folder / "begun").unlink(missing_ok=True)
        with open(self.folder / "log", "wb") as log:
            process = subprocess.Popen(
                [*program, "apply", "-auto-approve"],
                cwd=self.folder,
                env=self.environment,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                start_new_session=True,
            )
        deadline = time.monotonic() + 60
        while not (self.folder / "begun").exists():
            assert process.poll() is None and time.monotonic() < deadline, (self.folder / "log").read_text()
            time.sleep(0.05)
        return process


def killed(process: subprocess.Popen[bytes]) -> None:
    """The program with all that it started."""
    os.killpg(process.pid, 9)
    process.wait()


@pytest.fixture(params=kinds(*SHARED))
def place(request: pytest.FixtureRequest, tmp_path: Path) -> Place:
    server = SERVERS[request.param]()
    made = Place(tmp_path / "work", server)
    made.backend(server.settings())
    made.write("0")
    return made


def peer() -> list[str]:
    if TOFU is None:
        pytest.skip("there is no OpenTofu here: name it with the variable TOFU")
    return [TOFU]


def alternating(place: Place, one: list[str], other: list[str], times: int = 5) -> None:
    place.good(one, "init", "-input=false")
    serials = []
    for number in range(times):
        program, reader = (one, other) if number % 2 == 0 else (other, one)
        place.write(f"value {number} <&> ä")
        place.good(program, "apply", "-auto-approve")
        assert place.run(reader, "plan", "-detailed-exitcode")[0] == 0
        state = json.loads(place.good(reader, "state", "pull"))
        assert state["outputs"]["o"]["value"] == f"value {number} <&> ä"
        serials.append(state["serial"])
    assert serials == list(range(serials[0], serials[0] + times))
    place.good(one, "destroy", "-auto-approve")
    assert not json.loads(place.good(other, "state", "pull"))["resources"]


def contending(place: Place, one: list[str], other: list[str]) -> None:
    """`one` holds the lock, `other` wants it."""
    place.good(one, "init", "-input=false")
    place.good(one, "apply", "-auto-approve")
    place.write("0", slow=1)
    process = place.held(one)
    try:
        code, text = place.run(other, "plan", "-lock-timeout=1s")
        assert code == 1 and "Error acquiring the state lock" in text
        kind = place.server.type
        if kind not in NO_INFO and (kind != "remote" or one == other):  # whose lock says nothing to the peer
            assert "OperationTypeApply" in text
        found = re.search(r'lock ID: "(\S+)"', text) or re.search(r"^\s*ID:\s+(\S+)", text, re.M)
        assert found is not None, text
        if not (kind == "consul" and other != OURS):  # which compares nothing there and takes the lock away
            code, text = place.run(other, "force-unlock", "-force", "12345678-1234-1234-1234-123456789012")
            assert (code == 0) == (kind in NO_INFO), text
        place.good(other, "apply", "-auto-approve", "-lock=false", "-target=terraform_data.a")
    finally:
        killed(process)
    if kind in GOES_AWAY:
        place.good(other, "plan", "-lock-timeout=30s")
    else:
        assert place.run(other, "plan")[0] == 1
        code, text = place.run(other, "force-unlock", found[1], answer="no\n")
        assert code == 1 and "force-unlock cancelled" in text
        place.good(other, "force-unlock", "-force", found[1])
        if kind == "consul" and other != OURS:  # which does not wait while Consul gives the lock to nobody
            time.sleep(6)
    place.write("1")
    place.good(other, "apply", "-auto-approve", "-lock-timeout=30s")
    if one == OURS != other:  # which knows nothing of journals: that of ours is of another state now
        code, text = place.run(one, "plan", "-lock-timeout=30s")
        assert code == 0 and "left the journal" in text
        (journal,) = (place.folder / ".terraform/planner").glob("*.journal")
        journal.unlink()
        return
    assert place.run(one, "plan", "-detailed-exitcode", "-lock-timeout=30s")[0] == 0


@pytest.mark.slow
def test_in_turn_with_itself(place: Place) -> None:
    alternating(place, OURS, OURS, times=2)


@pytest.mark.slow
def test_in_turn_with_the_peer(place: Place) -> None:
    alternating(place, OURS, peer())


@pytest.mark.slow
def test_the_peer_begins(place: Place) -> None:
    alternating(place, peer(), OURS)


@pytest.mark.slow
def test_locks_of_its_own(place: Place) -> None:
    contending(place, OURS, OURS)


@pytest.mark.slow
def test_locks_against_the_peer(place: Place) -> None:
    contending(place, OURS, peer())


@pytest.mark.slow
def test_locks_of_the_peer(place: Place) -> None:
    contending(place, peer(), OURS)


@pytest.mark.slow
def test_another_machine_goes_on(place: Place, tmp_path: Path) -> None:
    """What a killed apply did is found beside the state by somebody with another working directory."""
    if place.server.type in ("http", "remote"):
        pytest.skip("there is no place beside the state")
    place.good(OURS, "init", "-input=false")
    place.write("0", slow=1)
    process = place.held(OURS)
    time.sleep(1.5)  # the copy is behind by half a second at most
    killed(process)
    elsewhere = Place(tmp_path / "elsewhere", place.server)
    shutil.copy(place.folder / "backend.tf", elsewhere.folder)
    elsewhere.write("0")
    elsewhere.good(OURS, "init", "-input=false")
    if place.server.type not in GOES_AWAY:
        _, text = elsewhere.run(OURS, "plan")
        found = re.search(r"^\s*ID:\s+(\S+)", text, re.M)
        assert found is not None, text
        elsewhere.good(OURS, "force-unlock", "-force", found[1])
    text = elsewhere.good(OURS, "plan", "-lock-timeout=30s")
    assert "An interrupted operation was recovered" in text and "The create of terraform_data.slow[0]" in text
    assert "1 to destroy" in text and "0 to add" in text  # a is there
    elsewhere.good(OURS, "apply", "-auto-approve", "-lock-timeout=30s")
    state = json.loads(elsewhere.good(OURS, "state", "pull"))
    assert [r["name"] for r in state["resources"]] == ["a"]
    assert "recovered" not in elsewhere.good(OURS, "plan")
    assert "recovered" not in place.good(OURS, "plan")  # the journal that was left there adds nothing


READER = """
data "terraform_remote_state" "s" {
  backend = "%s"
  config  = %s
}
output "read" { value = data.terraform_remote_state.s.outputs.o }
"""


@pytest.mark.parametrize("writer", [None, pytest.param("the peer", marks=pytest.mark.slow)])
def test_another_configuration_reads_its_outputs(place: Place, writer: str | None, tmp_path: Path) -> None:
    program = peer() if writer else OURS
    place.write("told")
    place.good(program, "init", "-input=false")
    place.good(program, "apply", "-auto-approve")
    reader = Place(tmp_path / "reader", place.server)
    (reader.folder / "main.tf").write_text(READER % (place.server.type, json.dumps(place.settings)), "utf-8")
    reader.good(OURS, "init", "-input=false")
    assert 'read = "told"' in reader.good(OURS, "apply", "-auto-approve")
