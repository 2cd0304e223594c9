"""Applies of a stack that are killed at random moments, again and again, until everything is there:

    python tests/soak/stack_kills.py [KILLS] [SEED]

Eleven instances of components, some known only in a second round, each with an object whose provisioner writes down
that it was made. After every kill the states are read: no object that was made may be missing from them and their
journals, and the next apply goes on. In the end nothing is left to do, and destroying leaves nothing. Prints a line.
"""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

COMPONENT = """
variable "n" { type = number }
component "first" {
  source = "./m"
  inputs = { name = "first" }
}
component "flat" {
  for_each = toset([for i in range(var.n) : tostring(i)])
  source   = "./m"
  inputs   = { name = "flat-${each.key}-${component.first.id}" }
}
component "late" {
  for_each = { for key, flat in component.flat : flat.id => key }
  source   = "./m"
  inputs   = { name = "late-${each.value}" }
}
"""
MODULE = """
variable "name" { type = string }
resource "terraform_data" "x" {
  input = var.name
  provisioner "local-exec" {
    command = "echo ${self.id} >> ${abspath("made")}; sleep 0.0${substr(self.id, 0, 1) == "a" ? 9 : 3}"
    quiet   = true
  }
}
output "id" { value = terraform_data.x.id }
"""
SIZE = 5


def planner(folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "planner", "stacks", *words], cwd=folder, capture_output=True, text=True, check=False
    )


def recorded(folder: Path) -> set[str]:
    """The objects in the states and in the journals beside them."""
    found: set[str] = set()
    for path in (folder / "stack-states").glob("*/terraform.tfstate*"):
        text = path.read_text(errors="replace")
        found |= {word for word in text.replace('\\"', '"').split('"') if len(word) == 36 and word.count("-") == 4}
    return found


def main() -> int:
    kills = int(sys.argv[1]) if len(sys.argv) > 1 else 100
    rng = random.Random(int(sys.argv[2]) if len(sys.argv) > 2 else 1)
    done = rounds = complaints = 0
    while done < kills:
        rounds += 1
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name)
            (folder / "m").mkdir()
            (folder / "m" / "main.tf").write_text(MODULE)
            (folder / "x.tfcomponent.hcl").write_text(COMPONENT)
            (folder / "x.tfdeploy.hcl").write_text(f'deployment "d" {{ inputs = {{ n = {SIZE} }} }}\n')
            assert planner(folder, "init").returncode == 0
            for _ in range(8):
                process = subprocess.Popen(
                    [sys.executable, "-m", "planner", "stacks", "apply", "-auto-approve"],
                    cwd=folder,
                    stdout=subprocess.PIPE,
                    stderr=subprocess.STDOUT,
                    start_new_session=True,
                )
                time.sleep(rng.uniform(0.15, 1.6))
                if process.poll() is not None:
                    break
                os.killpg(process.pid, signal.SIGKILL)
                process.wait()
                done += 1
                time.sleep(0.1)
                made = set((folder / "made").read_text().split()) if (folder / "made").exists() else set()
                lost = made - recorded(folder)
                if lost:
                    complaints += 1
                    print(f"lost: {sorted(lost)}", flush=True)
            last = planner(folder, "apply", "-auto-approve")
            plan = planner(folder, "plan", "-json")
            states = list((folder / "stack-states").glob("*/terraform.tfstate"))
            objects = sum(len(json.loads(path.read_text())["resources"]) for path in states)
            if last.returncode or '"applyable":true' in plan.stdout or objects != 1 + 2 * SIZE:
                complaints += 1
                print(f"not finished: {objects} objects\n{last.stdout[-800:]}{last.stderr}", flush=True)
            gone = planner(folder, "destroy", "-auto-approve")
            if gone.returncode or {p.name for p in (folder / "stack-states").iterdir()} != {"d"}:
                complaints += 1
                print(f"not destroyed\n{gone.stdout[-800:]}{gone.stderr}", flush=True)
    print(f"{done} kills in {rounds} rounds: {complaints} complaints")
    return int(complaints > 0)


if __name__ == "__main__":
    sys.exit(main())
