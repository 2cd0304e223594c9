"""Measure what policies add to a plan: `plan` and `plan -policy=builtin:all`, in turn, as whole processes.

    python tests/bench/policy_cost.py -sizes 1,1000,10000

The configurations are the shape `dag` of generate.py; the figures are medians, and of the ratio of each pair.
"""

from __future__ import annotations

import argparse
import os
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from bench.measure import Cost, run

PLAN = [sys.executable, "-m", "planner", "plan"]
COMMANDS = {"plan": PLAN, "with policies": [*PLAN, "-policy=builtin:all"]}


def measured(size: int, runs: int) -> dict[str, list[Cost]]:
    """The costs of both, after one run each that does not count."""
    os.environ["PLANNER_PLAN_ANEW"] = "1"  # else a plan of the same is told again
    with tempfile.TemporaryDirectory(prefix="planner-bench-") as name:
        generate = str(Path(__file__).parent / "generate.py")
        subprocess.run([sys.executable, generate, "dag", str(size), name], check=True, stdout=subprocess.DEVNULL)
        costs: dict[str, list[Cost]] = {what: [] for what in COMMANDS}
        for _ in range(runs + 1):
            for what, command in COMMANDS.items():
                cost, said = run(command, Path(name), 900.0, most=1 << 30)
                if "Plan: " not in said:
                    raise SystemExit(f"{' '.join(command)} made no plan: {said[-500:]}")
                costs[what].append(cost)
    return {what: every[1:] for what, every in costs.items()}


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("-sizes", default="1,1000,10000")
    parser.add_argument("-runs", type=int, default=3)
    given = parser.parse_args(arguments)
    for size in map(int, given.sizes.split(",")):
        costs = measured(size, given.runs)
        for what, every in costs.items():
            wall, memory = (statistics.median(getattr(c, figure) for c in every) for figure in ("wall", "memory"))
            print(f"{size:6} {what:14} {wall:6.2f} s  {memory / 2**20:5.0f} MB")
        pairs = zip(*costs.values(), strict=True)
        print(f"{size:6} policies add {statistics.median(b.wall / a.wall - 1 for a, b in pairs):.0%}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
