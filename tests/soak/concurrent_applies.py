"""Many applies of one state at once: one at a time, none lost, and a clear word for those that do not wait.

    python tests/soak/concurrent_applies.py [PROCESSES [IMPATIENT]]      50 that wait and 10 that do not by default

Every apply replaces one object. What it makes and destroys stands in a ledger that is written without any lock of its
own, and a counter is read, and written a moment later. Two at once would count one for two, or destroy an object that
the other has replaced. The shells that start the processes wait for one file, so that all begin together.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import tempfile
import time
from itertools import pairwise
from pathlib import Path

CONFIGURATION = """
variable "n" {}
resource "terraform_data" "x" {
  triggers_replace = var.n
  provisioner "local-exec" {
    command = "echo create ${self.id} >> ledger; n=$(cat counter); sleep 0.02; echo $((n + 1)) > counter"
  }
  provisioner "local-exec" {
    when    = destroy
    command = "echo destroy ${self.id} >> ledger"
  }
}
resource "terraform_data" "last" {
  input = "${var.n} ${terraform_data.x.id}"
}
"""
PLANNER = f"{sys.executable} -m planner apply -auto-approve -no-color"


def start(directory: Path, number: int, more: str) -> subprocess.Popen[str]:
    command = f"until [ -e go ]; do sleep 0.02; done; exec {PLANNER} -var=n={number} {more}"
    return subprocess.Popen(
        ["/bin/sh", "-c", command], cwd=directory, env={**os.environ, "NO_COLOR": "1"},
        stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
    )  # fmt: skip


def concurrent_applies(directory: Path, patient: int, impatient: int) -> tuple[int, list[str]]:
    """How many applies there were, and complaints."""
    (directory / "main.tf").write_text(CONFIGURATION)
    (directory / "counter").write_text("0\n")
    processes = [start(directory, n, "-lock-timeout=1h") for n in range(patient)]
    processes += [start(directory, n, "") for n in range(patient, patient + impatient)]
    (directory / "go").touch()
    bad: list[str] = []
    done = 0
    for number, process in enumerate(processes):
        out, _ = process.communicate()
        if process.returncode == 0:
            done += 1
            continue
        flat = " ".join(out.split())
        clear = re.search(
            r"Operation: +OperationTypeApply Who: +\S+@\S+ Version: +\S+ Created: +\d{4}-\d\d-\d\d ", flat
        )
        if number < patient or "Error acquiring the state lock" not in flat or not clear or "Traceback" in out:
            bad.append(f"apply {number} ended with {process.returncode}:\n{out}")
    state = json.loads((directory / "terraform.tfstate").read_text())
    lines = [line.split() for line in (directory / "ledger").read_text().splitlines()]
    made = [id for what, id in lines if what == "create"]
    expected = [["create", made[0]]]
    for before, after in pairwise(made):
        expected += [["destroy", before], ["create", after]]
    if lines != expected:
        bad.append(f"the ledger is out of order: {lines}")
    counted = int((directory / "counter").read_text())
    if not len(made) == len(set(made)) == done == counted == state["serial"]:
        bad.append(f"{done} applies, {len(made)} objects, counted {counted}, serial {state['serial']}")
    ids = {r["name"]: r["instances"][0]["attributes"] for r in state["resources"]}
    if ids["x"]["id"] != made[-1] or not ids["last"]["input"]["value"].endswith(made[-1]):
        bad.append("the state is not that of the last apply")
    left = [p.name for p in directory.iterdir() if p.name.endswith((".tmp", ".journal", ".lock.info"))]
    return done, bad + ([f"left over: {left}"] if left else [])


def main() -> int:
    patient, impatient = [int(word) for word in sys.argv[1:]] + [50, 10][len(sys.argv) - 1 :]
    began = time.monotonic()
    with tempfile.TemporaryDirectory() as directory:
        done, bad = concurrent_applies(Path(directory), patient, impatient)
    for complaint in bad:
        print(complaint)
    print(f"{done} applies, {len(bad)} complaints, {time.monotonic() - began:.0f} s")
    return int(bool(bad))


if __name__ == "__main__":
    sys.exit(main())
