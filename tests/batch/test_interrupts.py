"""Ctrl-C, once and twice, of batches in processes of their own: what is in work comes to its end or ends at once,
nothing is left behind, and the record says how to go on."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="processes are found through /proc"),
]
PLANNER = [sys.executable, "-m", "planner", "batch"]
MAIN = """
terraform {
  backend "local" {}
}
resource "terraform_data" "slow" {
  provisioner "local-exec" {
    command = "echo %s >> ../begun; sleep 1; echo %s >> ../ended"
    quiet   = true
  }
}
resource "terraform_data" "after" {
  input = terraform_data.slow.id
}
"""


class Running:
    """A batch in a session of its own."""

    def __init__(self, root: Path, units: int, *words: str) -> None:
        self.root = root
        self.names = [f"u{i:02}" for i in range(units)]
        for name in self.names:
            (root / name).mkdir()
            (root / name / "main.tf").write_text(MAIN % (name, name), encoding="utf-8")
        where = () if any(word.startswith("-executor") for word in words) else ("-executor=processes",)
        self.process = subprocess.Popen(
            [*PLANNER, *words, *where, "-workers=2"], cwd=root, text=True, start_new_session=True,
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, env={**os.environ, "NO_COLOR": "1"},
        )  # fmt: skip

    def events(self) -> list[dict[str, Any]]:
        found = sorted(self.root.glob(".planner/batch/[0-9]*/events.jsonl"))
        return [json.loads(line) for line in found[-1].read_text().split("\n")[:-1]] if found else []

    def until(self, condition: Any) -> None:
        deadline = time.monotonic() + 60
        while not condition():
            assert time.monotonic() < deadline and self.process.poll() is None, "it never came so far"
            time.sleep(0.01)

    def interrupt(self, to_all: bool, times: int) -> tuple[int, str, str]:
        """Exit code and output after so many interrupts, as a terminal sends them (`to_all`) or `kill` does."""
        for _ in range(times):
            try:
                (os.killpg if to_all else os.kill)(self.process.pid, signal.SIGINT)
            except ProcessLookupError:
                break
            time.sleep(0.1)
        out, errors = self.process.communicate(timeout=60)
        return self.process.returncode, out, errors

    def left(self) -> list[int]:
        """The processes of the session that are still there."""
        found = []
        for entry in Path("/proc").glob("[0-9]*"):
            try:
                fields = (entry / "stat").read_text().rsplit(")", 1)[1].split()
            except (OSError, IndexError):
                continue
            if int(fields[3]) == self.process.pid and fields[0] != "Z":
                found.append(int(entry.name))
        return found

    def assert_nothing_left(self) -> None:
        deadline = time.monotonic() + 20
        while self.left():
            assert time.monotonic() < deadline, f"left behind: {self.left()}"
            time.sleep(0.05)

    def resumed(self) -> Any:
        """The report of going on; what was being made at the end is replaced only when that is asked for again."""
        for _ in range(2):
            words = [*PLANNER, "resume", "-json"]
            done = subprocess.run(words, cwd=self.root, capture_output=True, text=True, check=False)
            if "Tainted objects are not replaced without approval" not in done.stdout:
                break
        assert done.returncode == 0, done.stdout + done.stderr
        return json.loads(done.stdout)

    def finished(self) -> set[str]:
        return {e["unit"] for e in self.events() if e["event"] == "finished" and e["outcome"] in ("applied", "changes")}


@pytest.mark.parametrize("to_all", [True, False], ids=["terminal", "kill"])
@pytest.mark.parametrize("times", [1, 2])
def test_apply(tmp_path: Path, times: int, to_all: bool) -> None:
    running = Running(tmp_path, 5, "apply", "-auto-approve")
    running.until(lambda: running.finished() and len((tmp_path / "begun").read_text().split()) >= 3)
    code, out, errors = running.interrupt(to_all, times)
    assert code == 1 and "Traceback" not in out + errors and "Internal error" not in errors
    running.assert_nothing_left()
    kept = running.finished()
    seen = len(running.events())
    if times == 1:
        assert "planner batch resume" in out
        assert "Interrupted: no more units are started." in out
        assert {e["unit"] for e in running.events() if e["event"] == "finished"} == set(running.names)
    report = running.resumed()
    assert report["outcomes"].get("applied", 0) + report["outcomes"].get("unchanged", 0) == len(running.names)
    again = {e["unit"] for e in running.events()[seen:] if e["event"] == "started"}
    assert kept and not kept & again
    assert set((tmp_path / "ended").read_text().split()) == set(running.names)


@pytest.mark.parametrize("to_all", [True, False], ids=["terminal", "kill"])
@pytest.mark.parametrize("times", [1, 2])
def test_plan(tmp_path: Path, times: int, to_all: bool) -> None:
    running = Running(tmp_path, 60, "plan")
    running.until(lambda: running.finished())
    code, out, errors = running.interrupt(to_all, times)
    assert code == 1 and "Traceback" not in out + errors and "Internal error" not in errors
    running.assert_nothing_left()
    assert running.finished() < set(running.names)
    assert running.resumed()["outcomes"] == {"changes": len(running.names)}


def test_while_configurations_are_read(tmp_path: Path) -> None:
    running = Running(tmp_path, 60, "plan")
    running.until(lambda: (tmp_path / "u00" / ".terraform").exists())
    code, out, errors = running.interrupt(True, 2)
    assert code == 1 and "Traceback" not in out + errors and "Internal error" not in errors
    running.assert_nothing_left()


def test_on_a_cluster_what_is_in_work_is_told_and_the_next_batch_is_not(tmp_path: Path, cluster: str) -> None:
    running = Running(tmp_path, 5, "apply", "-auto-approve", f"-executor=dask://{cluster}")
    running.until(lambda: len((tmp_path / "begun").read_text().split()) == 2 if (tmp_path / "begun").exists() else 0)
    code, out, errors = running.interrupt(False, 1)
    assert code == 1 and "Traceback" not in out + errors and "planner batch resume" in out
    assert not (tmp_path / "ended").exists()  # commands that ran were told to stop,
    assert not running.finished()  # and what waited for them did not begin
    states = [json.loads(path.read_text()) for path in tmp_path.glob("*/terraform.tfstate")]
    assert [[r["name"] for r in state["resources"]] for state in states] == [["slow"], ["slow"]]
    report = running.resumed()  # on the same cluster
    assert report["outcomes"] == {"applied": 5}
