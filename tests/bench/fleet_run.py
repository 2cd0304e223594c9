"""How long batches take: `python tests/bench/fleet_run.py [-units N] [-resources N] [-rounds N] [-tofu PATH]`.

In each round a new fleet in five layers is planned, again without any change, and again with one changed file; the
first time nothing of its files is known. With -tofu, its `init` and
`plan` of a hundred units, as many at a time as there are processors, stand for the whole fleet. Prints medians.
"""

from __future__ import annotations

import argparse
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

from fleet import write_fleet

PEER = "ls -d units/* | xargs -P {} -I UNIT sh -c 'cd UNIT && {} init >/dev/null 2>&1; {} plan >/dev/null 2>&1'"

SETTLED = 6
"""seconds after which a file system has forgotten what was deleted before"""


def timed(command: list[str], folder: Path, environment: dict[str, str]) -> float:
    began = time.perf_counter()
    subprocess.run(command, cwd=folder, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    return time.perf_counter() - began


def one_round(units: int, resources: int, times: dict[str, list[float]]) -> None:
    place = Path(tempfile.mkdtemp(prefix="fleet", dir="/tmp"))
    environment = {**os.environ, "XDG_CACHE_HOME": str(place / "cache")}
    (place / "tiny").mkdir()
    write_fleet(place / "tiny", 4, 4, 2)
    plan = [sys.executable, "-m", "planner", "batch", "plan"]
    timed([*plan, "-executor=processes"], place / "tiny", environment)  # the tables of grammar and rules, once for all
    (place / "fleet").mkdir()
    names = write_fleet(place / "fleet", units, resources, 5)
    os.sync()
    time.sleep(SETTLED)
    times.setdefault("first", []).append(timed(plan, place / "fleet", environment))
    for _ in range(5):
        times.setdefault("unchanged", []).append(timed(plan, place / "fleet", environment))
        with (place / "fleet" / names[units // 2] / "main.tf").open("a", encoding="utf-8") as file:
            file.write("# changed\n")
        times.setdefault("one changed", []).append(timed(plan, place / "fleet", environment))
    shutil.rmtree(place)


def peer_round(tofu: str, resources: int) -> float:
    place = Path(tempfile.mkdtemp(prefix="fleet", dir="/tmp"))
    write_fleet(place, 100, resources, 5)
    os.sync()
    time.sleep(SETTLED)
    environment = {**os.environ, "TF_CLI_CONFIG_FILE": os.devnull}
    taken = timed(["sh", "-c", PEER.format(os.cpu_count(), tofu, tofu)], place, environment)
    shutil.rmtree(place)
    return taken


def main() -> None:
    parser = argparse.ArgumentParser()
    for name, default in (("units", 1000), ("resources", 20), ("rounds", 3)):
        parser.add_argument(f"-{name}", type=int, default=default)
    parser.add_argument("-tofu", default="")
    given = parser.parse_args()
    times: dict[str, list[float]] = {}
    for _ in range(given.rounds):
        one_round(given.units, given.resources, times)
        if given.tofu:
            times.setdefault("OpenTofu, 100 units", []).append(peer_round(given.tofu, given.resources))
    medians = {name: statistics.median(found) for name, found in times.items()}
    for name, found in times.items():
        print(f"{name:<26} {medians[name]:7.3f} s   {min(found):.3f} to {max(found):.3f}")
    print(f"one changed: 1/{medians['first'] / medians['one changed']:.0f} of the first run")
    if given.tofu:
        whole = medians["OpenTofu, 100 units"] * given.units / 100
        print(f"first: {whole / medians['first']:.1f} times faster than OpenTofu")


if __name__ == "__main__":
    main()
