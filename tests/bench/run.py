"""Measure planner on configurations of many shapes and sizes.

    python tests/bench/run.py                                 every shape and command at 100, 300 and 1,000
    python tests/bench/run.py -shapes dag,flat -sizes 1000,3000,10000 -commands plan,graph -runs 3
    python tests/bench/run.py -tofu PATH                      the peer beside it, in turn, and the ratios
    python tests/bench/run.py -json costs.json -svg costs.svg what was measured, and a picture of the plans
    TF_CLI_CONFIG_FILE=FILE python tests/bench/run.py -shapes plugincount,pluginblocks,pluginslow
                                                              with real plugins, which the file's dev_overrides name

Every figure is the median of the runs. `x` after a peer's figure says how many times faster planner is; the growth
is the exponent b of time = a * size**b over the sizes measured. A plan is a first one, for which none is kept (`again`:
one that is kept may be told), with a cache that is warm otherwise. Sizes are numbers of resources (of calls for modules
and nested), in a new temporary directory each.
"""

from __future__ import annotations

import argparse
import json
import shutil
import statistics
import sys
import tempfile
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1]))

from bench.commands import CACHE, COMMANDS, SHAPES, Command, generate, keep_applied, make_ready
from bench.growth import exponent
from bench.measure import Cost, run
from bench.picture import svg

PLANNER = [sys.executable, "-m", "planner"]


def measure_shape(
    shape: str, size: int, commands: list[Command], tools: dict[str, list[str]], runs: int, seconds: float
) -> list[dict[str, Any]]:
    """One row a command and tool. The tools take turns, so that what else the machine does hits both."""
    rows = []
    with tempfile.TemporaryDirectory(prefix="planner-bench-") as folder:
        cache = Path(folder) / CACHE
        places = {}
        for tool, binary in tools.items():
            places[tool] = Path(folder) / tool
            generate(shape, size, places[tool])
            if shape in ("modules", "nested", "tenants"):
                run([*binary, "init", "-no-color"], places[tool], seconds, cache=cache)
        given_up: set[str] = set()
        for command in commands:
            if shape in command.without:
                continue
            costs: dict[str, list[Cost]] = {tool: [] for tool in tools}
            for _ in range(runs):
                for tool, binary in tools.items():
                    if tool in given_up or (tool != "planner" and not command.is_common):
                        continue
                    make_ready(places[tool], command)
                    if command.needs_applied and not (places[tool] / "applied.tfstate").exists():
                        _apply(binary, places[tool], seconds, cache)
                    make_ready(places[tool], command)
                    cost, said = run([*binary, *command.arguments(shape, size)], places[tool], seconds, cache=cache)
                    if cost.code is None:
                        given_up.add(tool)
                    elif cost.code != 0:
                        raise SystemExit(f"{tool} {command.name} of {shape} {size} ended with {cost.code}:\n{said}")
                    costs[tool].append(cost)
                    if command.name == "apply":
                        keep_applied(places[tool])
            rows += [
                {"shape": shape, "size": size, "command": command.name, "tool": tool, **median(found)}
                for tool, found in costs.items()
                if found
            ]
    return rows


def _apply(binary: list[str], place: Path, seconds: float, cache: Path) -> None:
    cost, said = run([*binary, *COMMANDS["apply"].arguments("", 0)], place, seconds, cache=cache)
    if cost.code != 0:
        raise SystemExit(f"apply ended with {cost.code}:\n{said}")
    keep_applied(place)


def median(costs: list[Cost]) -> dict[str, Any]:
    """The medians; `stopped` when a run took longer than allowed."""
    return {
        "wall": round(statistics.median(cost.wall for cost in costs), 4),
        "walls": [round(cost.wall, 4) for cost in costs],
        "cpu": round(statistics.median(cost.cpu for cost in costs), 4),
        "memory": int(statistics.median(cost.memory for cost in costs)),
        "runs": len(costs),
        "stopped": any(cost.code is None for cost in costs),
    }


def growths(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The growth exponents of time and memory of each shape, command and tool."""
    found = []
    for key in sorted({(row["shape"], row["command"], row["tool"]) for row in rows}):
        points = [row for row in rows if (row["shape"], row["command"], row["tool"]) == key and not row["stopped"]]
        time, memory = (exponent((row["size"], row[what]) for row in points) for what in ("wall", "memory"))
        if time is not None and memory is not None:
            names = dict(zip(("shape", "command", "tool"), key, strict=True))
            found.append({**names, "time": round(time, 3), "memory": round(memory, 3)})
    return found


def table(rows: list[dict[str, Any]]) -> str:
    """What was measured, for people."""
    from tabulate import tabulate

    peers = {(r["shape"], r["size"], r["command"]): r for r in rows if r["tool"] != "planner"}
    lines = []
    for row in rows:
        if row["tool"] != "planner":
            continue
        line = [row["shape"], row["size"], row["command"], _figure(row), f"{row['memory'] / 2**20:.0f} MB"]
        peer = peers.get((row["shape"], row["size"], row["command"]))
        if peer is not None:
            line += [_figure(peer), f"{peer['memory'] / 2**20:.0f} MB", f"{peer['wall'] / row['wall']:.1f}x"]
        lines.append(line)
    headers = ["shape", "size", "command", "planner", "memory", "tofu", "memory", "faster"]
    return tabulate(lines, headers[: max(map(len, lines))], disable_numparse=True)


def _figure(row: dict[str, Any]) -> str:
    return f"{'> ' if row['stopped'] else ''}{row['wall']:.2f} s"


def picture(rows: list[dict[str, Any]], command: str) -> str:
    """How a command grows, one line a shape and tool."""
    series: dict[str, list[tuple[float, float]]] = {}
    for row in rows:
        if row["command"] == command and not row["stopped"]:
            name = row["shape"] if row["tool"] == "planner" else f"{row['tool']} {row['shape']}"
            series.setdefault(name, []).append((row["size"], row["wall"]))
    return svg(series, f"planner {command}: seconds by number of resources")


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("-shapes", default=",".join(SHAPES))
    parser.add_argument("-sizes", default="100,300,1000")
    parser.add_argument("-commands", default=",".join(COMMANDS))
    parser.add_argument("-runs", type=int, default=3)
    parser.add_argument("-seconds", type=float, default=900.0, help="after which a command is given up")
    parser.add_argument("-tofu", help="the peer's binary")
    parser.add_argument("-json", help="write what was measured to this file")
    parser.add_argument("-svg", help="write a picture of one command to this file")
    parser.add_argument("-picture", default="plan", help="which command the picture shows")
    given = parser.parse_args(arguments)
    tools = {"planner": PLANNER, **({"tofu": [shutil.which(given.tofu) or given.tofu]} if given.tofu else {})}
    commands = [COMMANDS[name] for name in given.commands.split(",")]
    rows: list[dict[str, Any]] = []
    for shape in given.shapes.split(","):
        for size in map(int, given.sizes.split(",")):
            rows += measure_shape(shape, size, commands, tools, given.runs, given.seconds)
            if given.json:
                Path(given.json).write_text(json.dumps({"costs": rows, "growth": growths(rows)}, indent=1) + "\n")
    print(table(rows))
    for growth in growths(rows):
        print("growth of {tool} {command} of {shape}: time {time}, memory {memory}".format(**growth))
    if given.svg:
        Path(given.svg).write_text(picture(rows, given.picture))
    return 0


if __name__ == "__main__":
    sys.exit(main())
