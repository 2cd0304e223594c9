"""Applies that are killed, and what comes after.

    python tests/soak/kills.py [-snapshots] [-backend TYPE] [KILLS [RESOURCES [SEED]]]

500 kills of an apply of 200 resources by default; with -backend the state is in a service of that type (s3, pg, ...),
whose server is started for it, and whose lock is removed by force after each kill; with -snapshots the state is written
five times a second while the apply runs.

Each resource's provisioner writes to a ledger what it did. An apply is killed (SIGKILL) at a random moment; after that
the next plan says what was under way, and the next apply goes on. In the end every resource exists, and whatever stands
in the ledger twice was reported as under way when it was killed.
"""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path
from random import Random

sys.path.insert(0, str(Path(__file__).parents[1]))

from state.backends.servers import SERVERS, block

CONFIGURATION = """
resource "terraform_data" "n" {
  count = %d
  input = count.index
  provisioner "local-exec" {
    command = "echo create ${count.index} ${self.id} >> ledger"
    quiet   = true
  }
}
resource "terraform_data" "after" {
  count = %d
  input = terraform_data.n[count.index].id
}
"""
PLANNER = [sys.executable, "-m", "planner"]
IN_FLIGHT = re.compile(r"with terraform_data\.(n|after)\[(\d+)\]")


def planner(directory: Path, *words: str) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "NO_COLOR": "1"}
    return subprocess.run(
        [*PLANNER, *words], cwd=directory, env=environment, capture_output=True, text=True, check=False
    )


def apply_and_kill(directory: Path, random: Random, resources: int) -> bool:
    """Kill an apply at a random moment: mostly a bit after so many more provisioners have run, sometimes before any.
    Whether the kill came before the end."""
    process = subprocess.Popen(
        [*PLANNER, "apply", "-auto-approve"], cwd=directory, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
        start_new_session=True,
    )  # fmt: skip
    ledger = directory / "ledger"
    lines = ledger.read_bytes().count(b"\n")
    wanted = lines + random.randint(1, max(1, resources // 12))
    early = time.monotonic() + random.uniform(0.1, 1) if random.random() < 0.15 else float("inf")
    while process.poll() is None:
        if time.monotonic() > early or ledger.read_bytes().count(b"\n") >= wanted:
            time.sleep(random.uniform(0, 0.03))
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()
            return process.returncode == -signal.SIGKILL
        time.sleep(0.001)
    return False


def reported(text: str) -> set[int]:
    """The resources that a command says were under way."""
    found = set()
    for part in text.split("Warning: ")[1:]:
        if part.startswith("Operation interrupted"):
            match = IN_FLIGHT.search(part)
            assert match, part
            if match[1] == "n":
                found.add(int(match[2]))
    return found


def unlocked(directory: Path) -> subprocess.CompletedProcess[str]:
    """A plan, after the lock was removed that a killed apply left behind."""
    planned = planner(directory, "plan")
    held = re.search(r"^\s*ID:\s+(\S+)", planned.stderr, re.M)
    if planned.returncode and held is not None:
        forced = planner(directory, "force-unlock", "-force", held[1])
        assert not forced.returncode, forced.stderr
        planned = planner(directory, "plan", "-lock-timeout=30s")
    return planned


def run(directory: Path, resources: int, kills: int, random: Random, backend: str) -> tuple[int, list[str]]:
    """Kills one apply after the other until it is done or has been killed often enough; how often, and complaints."""
    (directory / "main.tf").write_text(CONFIGURATION % (resources, resources))
    if backend:
        server = SERVERS[backend]()
        os.environ.update(server.environment)
        (directory / "backend.tf").write_text(block(server.type, server.settings()))
        begun = planner(directory, "init", "-input=false")
        assert not begun.returncode, begun.stderr
    ledger = directory / "ledger"
    ledger.touch()
    bad: list[str] = []
    under_way: Counter[int] = Counter()
    killed = 0
    while killed < kills:
        if not apply_and_kill(directory, random, resources):
            break
        killed += 1
        planned = unlocked(directory)
        if planned.returncode:
            bad.append(f"plan after a kill: {planned.stderr}")
            break
        under_way.update(reported(planned.stdout + planned.stderr))
    done = planner(directory, "apply", "-auto-approve", "-lock-timeout=30s")
    if done.returncode:
        bad.append(f"the last apply: {done.stderr}")
    if "No changes" not in planner(directory, "plan").stdout:
        bad.append("there are changes left")
    if [*directory.glob("*.journal"), *directory.glob(".terraform/planner/*.journal")]:
        bad.append("the journal is still there")
    state = json.loads(planner(directory, "state", "pull").stdout)
    ids = {
        i["index_key"]: i["attributes"]["id"] for r in state["resources"] if r["name"] == "n" for i in r["instances"]
    }
    lines = [line.split() for line in ledger.read_text().splitlines()]
    times = Counter(int(line[1]) for line in lines)
    if sorted(ids) != list(range(resources)):
        bad.append("resources are missing")
    for index, count in times.items():
        if count - 1 > under_way[index]:
            bad.append(f"n[{index}] was created {count} times and reported {under_way[index]} times")
    last = {int(line[1]): line[2] for line in lines}
    bad += [f"n[{i}] has another id than the ledger says" for i in ids if last.get(i) != ids[i]]
    return killed, bad


def main() -> int:
    words, backend = sys.argv[1:], ""
    if words[:1] == ["-snapshots"]:
        PLANNER[1:] = [str(Path(__file__).with_name("often.py"))]
        os.environ["PYTHONPATH"] = str(Path(__file__).parents[2])
        words = words[1:]
    if words[:1] == ["-backend"]:
        backend, words = words[1], words[2:]
    numbers = [int(word) for word in words] + [500, 200, 1][len(words) :]
    kills, resources, seed = numbers
    random, killed, bad, rounds = Random(seed), 0, 0, 0
    began = time.monotonic()
    while killed < kills:
        with tempfile.TemporaryDirectory() as directory:
            count, complaints = run(Path(directory), resources, min(10, kills - killed), random, backend)
        killed, rounds = killed + count, rounds + 1
        bad += len(complaints)
        for complaint in complaints:
            print(complaint, flush=True)
        print(f"{killed} kills, {rounds} applies, {bad} complaints, {time.monotonic() - began:.0f} s", flush=True)
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
