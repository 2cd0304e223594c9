"""A server that plans eight directories at once in one process, with the plugin of the tests.

    python tests/soak/library_server.py [SECONDS [DIRECTORIES]]

Each thread plans its directory again and again, asks for causes and queries, applies every second plan and stops every
seventh half-way. Prints memory, threads, open files and child processes each tenth of the time. Fails when the second
half of the run needs more of any of these than the first.
"""

from __future__ import annotations

import gc
import os
import sys
import tempfile
import threading
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from provider.plugins import write_plugin, write_settings

MODULE = """
terraform {
  required_providers {
    test = { source = "example.com/test/test" }
  }
}

variable "image" {}

resource "test_thing" "a" {
  count = 5
  name  = "a${count.index}"
  note  = var.image
}

resource "terraform_data" "b" {
  input            = test_thing.a[*].id
  triggers_replace = [var.image]
}
"""


def main(seconds: float, directories: int) -> int:
    base = Path(tempfile.mkdtemp(prefix="library-server-"))
    os.environ["TF_CLI_CONFIG_FILE"] = str(write_settings(base, {"test": write_plugin(base / "bin", is_alone=True)}))
    plans = [0] * directories
    problems: list[str] = []
    ending = threading.Event()

    def serve(number: int) -> None:
        import planner

        folder = base / f"d{number}"
        folder.mkdir()
        (folder / "main.tf").write_text(MODULE)
        while not ending.is_set() and not problems:
            turn = plans[number]
            stop = planner.Stop()
            configuration = planner.load(folder, variables={"image": f"v{turn}"})
            try:
                with configuration.plan() as plan:
                    [change.causes for change in plan.changes]
                    plan.query("edge(X, Y)")
                    if turn % 7 == 6:
                        plan.apply(lambda event, stop=stop: stop.request(), stop)  # type: ignore[misc]
                    elif turn % 2 == 0:
                        plan.apply()
            except planner.Failure as failure:
                if not stop.requested:
                    problems.append(f"d{number}, plan {turn}: {failure}")
            plans[number] += 1

    os.environ["TEST_PROVIDER_WORLD"] = str(base / "world")
    (base / "world").mkdir()
    threads = [threading.Thread(target=serve, args=(number,)) for number in range(directories)]
    for thread in threads:
        thread.start()
    begun, figures = time.monotonic(), []
    for tenth in range(1, 11):
        while time.monotonic() - begun < seconds * tenth / 10 and not problems:
            time.sleep(0.2)
        figures.append(measured())
        row = "  ".join(f"{name} {value}" for name, value in figures[-1].items())
        print(f"{time.monotonic() - begun:5.0f} s  {sum(plans):5} plans  {row}", flush=True)
    ending.set()
    for thread in threads:
        thread.join()
    gc.collect()
    last = measured()
    print("at the end     ", "  ".join(f"{name} {value}" for name, value in last.items()))
    for name, most in (("processes", 0), ("zombies", 0), ("threads", 1)):
        if last[name] > most:
            problems.append(f"{last[name]} {name} are left")
    early, late = (max(one["MB"] for one in half) for half in (figures[2:6], figures[6:]))
    if late > early * 1.1:
        problems.append(f"memory grew from {early} to {late} MB")
    print("\n".join(problems) or "no leak")
    return bool(problems)


def measured() -> dict[str, int]:
    """Resident memory in MB, threads, open files, child processes that run, and those that only wait to be noticed."""
    status = dict(line.split(":", 1) for line in Path("/proc/self/status").read_text().splitlines())
    states = [state for pid in os.listdir("/proc") if pid.isdecimal() for state in _child(pid)]
    return {
        "MB": int(status["VmRSS"].split()[0]) // 1024,
        "threads": int(status["Threads"]),
        "files": len(os.listdir("/proc/self/fd")),
        "processes": len(states) - states.count("Z"),
        "zombies": states.count("Z"),
    }


def _child(pid: str) -> list[str]:
    """The state of a process that is a child of this one; nothing for others."""
    try:
        state, parent, *_ = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return []
    return [state] if int(parent) == os.getpid() else []


if __name__ == "__main__":
    raise SystemExit(
        main(float(sys.argv[1]) if len(sys.argv) > 1 else 600, int(sys.argv[2]) if len(sys.argv) > 2 else 8)
    )
