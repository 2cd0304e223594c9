"""Batches that are killed, and what comes after.

    python tests/soak/batch_kills.py [KILLS [UNITS [SEED]]]      100 kills of applies of 12 units by default

Each resource's provisioner writes to a ledger what it did. A random moment after it has begun to run units, or, one
time in four, at any moment, the batch is killed (SIGKILL): the whole of it, its first process alone, or one of its
workers. `batch resume` goes on, and may be killed too. In the end every unit is applied, nothing is in the ledger twice
whose unit was not in work when something was killed, and no unit that had finished is touched again.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path
from random import Random

TAINTED = "Tainted objects are not replaced without approval"
PLANNER = [sys.executable, "-m", "planner"]
MAIN = """
terraform {
  backend "local" {}
}
%s
resource "terraform_data" "first" {
  input = %s
  provisioner "local-exec" {
    command = "sleep 0.1; echo %s first >> ../ledger"
    quiet   = true
  }
}
resource "terraform_data" "second" {
  input = terraform_data.first.id
  provisioner "local-exec" {
    command = "sleep 0.1; echo %s second >> ../ledger"
    quiet   = true
  }
}
output "id" {
  value = terraform_data.second.id
}
"""
UPSTREAM = """
data "terraform_remote_state" "up" {
  backend = "local"
  config  = { path = "../%s/terraform.tfstate" }
}
"""


def write_fleet(root: Path, units: int) -> list[str]:
    """Units in three layers; each below the first reads one of the layer before."""
    names = [f"u{i:02}" for i in range(units)]
    for i, name in enumerate(names):
        upstream = names[i - units // 3] if i >= units // 3 else ""
        value = "data.terraform_remote_state.up.outputs.id" if upstream else '"root"'
        (root / name).mkdir()
        text = MAIN % (UPSTREAM % upstream if upstream else "", value, name, name)
        (root / name / "main.tf").write_text(text, encoding="utf-8")
    return names


class Trial:
    """One fleet, applied and killed until it is done."""

    def __init__(self, root: Path, units: int, random: Random, longest: float = 2.0) -> None:
        self.root, self.random, self.longest = root, random, longest
        self.names = write_fleet(root, units)
        self.kills: Counter[str] = Counter()
        self.in_work: set[str] = set()

    def run(self, most: int) -> None:
        """Kill up to `most` times, then let it come to its end. Raises AssertionError."""
        words = ["apply", "-auto-approve", "-workers=2"]
        finished: set[str] = set()
        while sum(self.kills.values()) < most:
            killed = self._killed(words)
            known = self._events()
            again = finished & {e["unit"] for e in known[self.seen :] if e["event"] == "started"}
            assert not again, f"finished and begun again: {again}"
            finished |= {e["unit"] for e in known if e["event"] == "finished" and e["outcome"] == "applied"}
            self.in_work |= self._open(known) | {e["unit"] for e in known if e["event"] == "died"}
            self.seen = len(known)
            words = ["resume"] if known or self._runs() else words
            if not killed:
                break
        before = self._open(self._events())
        done = self._planner(*(["resume"] if self._runs() else words), "-json")
        assert set(json.loads(done.stdout)["in_flight"]) == before
        if done.returncode and TAINTED in done.stdout:  # what was being made is replaced when that is asked for again
            done = self._planner("resume", "-json")
        assert done.returncode == 0, done.stdout + done.stderr
        self._check()

    seen = 0

    def _runs(self) -> list[Path]:
        return sorted((self.root / ".planner" / "batch").glob("[0-9]*/run.json"))

    def _events(self) -> list[dict[str, str]]:
        runs = self._runs()
        path = runs[-1].parent / "events.jsonl" if runs else None
        if path is None or not path.exists():
            return []
        return [json.loads(line) for line in path.read_text().split("\n")[:-1] if _whole(line)]

    @staticmethod
    def _open(events: list[dict[str, str]]) -> set[str]:
        state = {e["unit"]: e["event"] for e in events if e["event"] in ("started", "finished")}
        return {unit for unit, event in state.items() if event == "started"}

    def _planner(self, *words: str) -> subprocess.CompletedProcess[str]:
        environment = {**os.environ, "NO_COLOR": "1"}
        return subprocess.run(
            [*PLANNER, "batch", *words], cwd=self.root, env=environment, capture_output=True, text=True, check=False
        )

    def _killed(self, words: list[str]) -> bool:
        """Start a batch and kill something of it; whether it was killed before its end."""
        process = subprocess.Popen(
            [*PLANNER, "batch", *words], cwd=self.root, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
            start_new_session=True,
        )  # fmt: skip
        what = self.random.choice(("all", "first", "worker", "worker"))
        if self.random.random() < 0.75:
            self._wait_until_begun(process)
        try:
            process.wait(self.random.uniform(0, self.longest))
            return False
        except subprocess.TimeoutExpired:
            pass
        if what == "worker":
            workers = _workers(process.pid)
            if workers:
                _kill(self.random.choice(workers))
                self.kills[what] += 1
                process.wait()
                return True
        if what != "first":
            os.killpg(process.pid, signal.SIGKILL)
        else:
            process.kill()
        process.wait()
        self.kills["all" if what == "worker" else what] += 1
        return True

    def _wait_until_begun(self, process: subprocess.Popen[bytes]) -> None:
        """However slow the machine is, until this run has begun with a unit."""
        while process.poll() is None and not any(e["event"] == "started" for e in self._events()[self.seen :]):
            time.sleep(0.01)

    def _check(self) -> None:
        ledger = (self.root / "ledger").read_text().split("\n")[:-1]
        twice = {line.split()[0] for line, n in Counter(ledger).items() if n > 1}
        assert twice <= self.in_work, f"done twice, and not in work when killed: {twice - self.in_work}"
        assert {f"{n} {r}" for n in self.names for r in ("first", "second")} == set(ledger), "something was lost"
        last = json.loads(self._planner("plan", "-json", "-no-cache").stdout)
        assert last["outcomes"] == {"unchanged": len(self.names)}, last["outcomes"]


def _whole(line: str) -> bool:
    try:
        json.loads(line)
    except ValueError:
        return False
    return True


def _workers(session: int) -> list[int]:
    """The processes of a session that were forked from the server of processes: its children."""
    parents: dict[int, int] = {}
    for entry in Path("/proc").glob("[0-9]*"):
        try:
            fields = (entry / "stat").read_text().rsplit(")", 1)[1].split()
        except (OSError, IndexError):
            continue
        if int(fields[3]) == session:
            parents[int(entry.name)] = int(fields[1])
    return sorted(pid for pid, parent in parents.items() if parent in parents and parents[parent] == session)


def _kill(pid: int) -> None:
    try:
        os.kill(pid, signal.SIGKILL)
    except ProcessLookupError:
        return


def main(kills: int = 100, units: int = 12, seed: int = 0) -> None:
    """Trials until so many kills are done; prints what was killed."""
    random, done, begin = Random(seed), Counter[str](), time.time()
    while sum(done.values()) < kills:
        with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
            trial = Trial(Path(folder), units, random)
            trial.run(min(random.randint(1, 6), kills - sum(done.values())))
            done += trial.kills
        print(f"{sum(done.values())} kills: {dict(sorted(done.items()))}, {time.time() - begin:.0f} s", flush=True)


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
