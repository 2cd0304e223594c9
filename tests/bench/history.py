"""The history of how many times faster planner is than its peer: what is measured day by day and at each release.

    python tests/bench/history.py add -tofu PATH                    measure, append an entry, draw the picture again
    python tests/bench/history.py add -tofu PATH -release 0.2.0     the same for a release: what later ones are held to
    python tests/bench/history.py check -tofu PATH                  measure, and exit with 1 when a ratio has fallen
    python tests/bench/history.py draw                              only draw the picture
    python tests/bench/history.py show                              all entries as a table

A point is "SHAPE SIZE COMMAND" (`-points "dag 100 plan,flat 1000 plan"`; `-all` adds those for which the peer takes
minutes). Its ratio is the peer's time by planner's: the median over pairs of runs, one of each in turn, start-up
included. `check` compares with the last entry of a release, or with the last entry where no release is recorded, and
a ratio has fallen when it is lower by more than `-fall` percent (15) each of three times that it was measured.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import re
import shutil
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from attrs import asdict, evolve, field, frozen

sys.path.insert(0, str(Path(__file__).parents[1]))

from bench.commands import COMMANDS, PLUGIN_SHAPES, SHAPES
from bench.picture import history_svg
from bench.run import PLANNER, measure_shape

BENCH = Path(__file__).parent
HISTORY, PICTURE = BENCH / "history.jsonl", BENCH / "history.svg"
POINTS = (
    *("dag 1 plan", "dag 100 validate", "dag 100 plan", "dag 1000 validate", "dag 1000 graph", "dag 1000 plan"),
    "dag 1000 again",
    *("dag 1000 apply", "chain 1000 plan", "flat 1000 plan", "splat 1000 plan", "foreach 300 plan"),
    *("modules 100 plan", "nested 100 plan", "tenants 100 plan", "state 1000 plan", "destroy 1000 plan"),
)
SLOW = (
    *("dag 3000 plan", "foreach 1000 plan", "nested 300 plan", "modules 500 plan", "tenants 300 plan"),
    "flat 10000 plan",
)
TRIES = 3
"""how often a ratio that seems to have fallen is measured before it has"""

Point = tuple[str, int, str]
"""shape, size, command"""
Measure = Callable[[Point], float]
"""measures a point and gives its ratio"""


class Wrong(Exception):
    """Something about the arguments or the history that is told in one line."""


@frozen
class Entry:
    """What was measured of one commit: `release` is empty for a day between releases, `machine` says in general words
    what it was measured on, `ratios` has how many times faster planner was, by point as written."""

    date: str
    commit: str
    release: str
    planner: str
    peer: str
    python: str
    machine: str
    ratios: dict[str, float] = field(factory=dict)

    @property
    def name(self) -> str:
        """What people call it."""
        return self.release or f"{self.date} ({self.commit})"


def read_point(text: str) -> Point:
    """A point as written. Raises Wrong."""
    words = text.split()
    if len(words) != 3 or not words[1].isascii() or not words[1].isdigit() or int(words[1]) < 1:
        raise Wrong(f'"{text}" is not a point: SHAPE SIZE COMMAND, such as "dag 100 plan"')
    shape, size, command = words
    if shape not in (*SHAPES, *PLUGIN_SHAPES):
        raise Wrong(f'"{text}": there is no shape {shape}, but {", ".join((*SHAPES, *PLUGIN_SHAPES))}')
    if command not in COMMANDS or not COMMANDS[command].is_common or shape in COMMANDS[command].without:
        both = [c.name for c in COMMANDS.values() if c.is_common and shape not in c.without]
        raise Wrong(f'"{text}": {command} is nothing that both do with {shape}, but {", ".join(both)}')
    return shape, int(size), command


def read(path: Path) -> list[Entry]:
    """All entries, the oldest first. Raises Wrong."""
    if not path.exists():
        return []
    entries = []
    for number, line in enumerate(path.read_text().splitlines(), 1):
        try:
            entry = Entry(**json.loads(line))
            for point, ratio in entry.ratios.items():
                read_point(point)
                if not isinstance(ratio, int | float) or ratio <= 0:
                    raise Wrong(f'the ratio of "{point}" is not a positive number')
        except (ValueError, TypeError, AttributeError, Wrong) as error:
            raise Wrong(f"{path.name}:{number} is not an entry: {error}") from error
        entries.append(entry)
    return entries


def append(path: Path, entry: Entry) -> None:
    """Add an entry; another one of the same commit, release and machine gives way, but keeps points that are not
    measured again. Raises Wrong."""
    entries = read(path)
    for i, old in enumerate(entries):
        if (old.commit, old.release, old.machine) == (entry.commit, entry.release, entry.machine):
            entry = evolve(entry, ratios={**old.ratios, **entry.ratios})
            del entries[i]
            break
    path.write_text("".join(json.dumps(asdict(one)) + "\n" for one in (*entries, entry)))


def baseline(entries: list[Entry]) -> Entry:
    """What ratios are held to: the last release, or the last entry where there is none. Raises Wrong."""
    if not entries:
        raise Wrong("the history has no entry: `add` makes one")
    return next((entry for entry in reversed(entries) if entry.release), entries[-1])


def compare(
    points: Iterable[Point], held_to: Entry, measure: Measure, fall: float, say: Callable[[str], object] = print
) -> list[str]:
    """The points, as written, whose ratio is lower than it was by more than `fall` percent however often it is
    measured. What could not be compared is said, and is no fall."""
    fallen = []
    names = [" ".join(map(str, point)) for point in points]
    for name in names:
        before = held_to.ratios.get(name)
        best = 0.0
        for _ in range(TRIES):
            best = max(best, measure(read_point(name)))
            if before is None or best >= before * (1 - fall / 100):
                break
        if before is None:
            say(f"{name}: {best:.2f}, and {held_to.name} does not say")
            continue
        has_fallen = best < before * (1 - fall / 100)
        say(f"{name}: {best:.2f}, {before:.2f} at {held_to.name}, {best / before - 1:+.0%}{', FALLEN' * has_fallen}")
        if has_fallen:
            fallen.append(name)
    for name in sorted(held_to.ratios.keys() - set(names)):
        say(f"{name}: not measured")
    return fallen


def ratio(rows: list[dict[str, Any]]) -> float:
    """How many times faster planner is by the rows of one point. Raises Wrong when a tool was stopped."""
    times = {row["tool"]: row for row in rows}
    if any(row["stopped"] for row in rows):
        raise Wrong(f"{times['planner']['shape']} {times['planner']['size']} took longer than -seconds allows")
    pairs = zip(times["tofu"]["walls"], times["planner"]["walls"], strict=True)
    return statistics.median(peer / own for peer, own in pairs)


def measurer(tofu: str, runs: int, seconds: float) -> Measure:
    """Measures a point with both tools in turn."""
    tools = {"planner": PLANNER, "tofu": [shutil.which(tofu) or tofu]}

    def measure(point: Point) -> float:
        shape, size, command = point
        commands = [COMMANDS[command]]
        if commands[0].needs_applied:
            commands.insert(0, COMMANDS["apply"])
        rows = measure_shape(shape, size, commands, tools, runs, seconds)
        return ratio([row for row in rows if row["command"] == command])

    return measure


def machine() -> str:
    """The machine in general words: cores, architecture, system."""
    return f"{os.cpu_count()} cores, {platform.machine()}, {platform.system()}"


def described(release: str, tofu: str) -> Entry:
    """An entry without ratios of what is checked out, now. Raises Wrong."""
    import planner

    def said(*command: str) -> str:
        try:
            return subprocess.run(command, cwd=BENCH, capture_output=True, text=True, check=True).stdout.strip()
        except (OSError, subprocess.CalledProcessError) as error:
            raise Wrong(f"{command[0]} says no version or commit: {error}") from error

    version = re.search(r'"terraform_version": *"([0-9.]+)', said(tofu, "version", "-json"))  # after warnings, if any
    if version is None:
        raise Wrong(f"{tofu} says no version")
    return Entry(
        date=time.strftime("%Y-%m-%d", time.gmtime()),
        commit=said("git", "rev-parse", "--short=8", "HEAD"),
        release=release,
        planner=planner.__version__,
        peer=version[1],
        python=platform.python_version(),
        machine=machine(),
    )


def table(entries: list[Entry]) -> str:
    """All entries, one column each."""
    from tabulate import tabulate

    points = sorted({point for entry in entries for point in entry.ratios}, key=_order)
    rows = [[point, *(entry.ratios.get(point, "") for entry in entries)] for point in points]
    return tabulate(rows, ["faster by", *(entry.name for entry in entries)], disable_numparse=True)


def _order(point: str) -> tuple[str, int, str]:
    return read_point(point)


def drawing(entries: list[Entry]) -> str:
    """The picture of all entries. Raises Wrong when there is none."""
    if not any(entry.ratios for entry in entries):
        raise Wrong("the history has nothing to draw: `add` makes an entry")
    series: dict[str, list[tuple[float, float]]] = {}
    for i, entry in enumerate(entries):
        for point, value in entry.ratios.items():
            series.setdefault(point, []).append((i, value))
    return history_svg(series, [entry.release or entry.date for entry in entries], "Times faster than OpenTofu")


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=("add", "check", "draw", "show"))
    parser.add_argument("-tofu", help="the peer's binary")
    parser.add_argument("-release", default="", help="add: the release that this entry is of")
    parser.add_argument("-points", help=f"what to measure (default: {','.join(POINTS)})")
    parser.add_argument("-all", action="store_true", help=f"measure the slow points, too: {','.join(SLOW)}")
    parser.add_argument("-runs", type=int, default=5, help="of each tool, in turn (5)")
    parser.add_argument("-seconds", type=float, default=900.0, help="after which a command is given up")
    parser.add_argument("-fall", type=float, default=15.0, help="check: percent that a ratio may fall (15)")
    parser.add_argument("-history", type=Path, default=HISTORY)
    parser.add_argument("-svg", type=Path, default=PICTURE)
    given = parser.parse_args(arguments)
    try:
        return _do(given)
    except Wrong as wrong:
        print(f"Error: {wrong}", file=sys.stderr)
        return 2


def _do(given: argparse.Namespace) -> int:
    entries = read(given.history)
    if given.what == "show":
        print(table(entries))
        return 0
    if given.what == "draw":
        given.svg.write_text(drawing(entries))
        return 0
    if not given.tofu:
        raise Wrong("-tofu=PATH is missing: ratios are measured beside the peer")
    texts = given.points.split(",") if given.points is not None else POINTS
    points = list(dict.fromkeys(read_point(text) for text in (*texts, *(SLOW if given.all else ()))))
    measure = measurer(given.tofu, given.runs, given.seconds)
    entry = described(given.release, shutil.which(given.tofu) or given.tofu)
    if given.what == "check":
        held_to = baseline(entries)
        if (held_to.machine, held_to.peer) != (entry.machine, entry.peer):
            print(f"{held_to.name} was measured on {held_to.machine} beside {held_to.peer},")
            print(f"this is {entry.machine} beside {entry.peer}: ratios may differ for that.")
        fallen = compare(points, held_to, measure, given.fall)
        if fallen:
            print(f"Fallen by more than {given.fall:g} %, {TRIES} times measured: {', '.join(fallen)}")
        return 1 if fallen else 0
    ratios: dict[str, float] = {}
    for point in points:
        name = " ".join(map(str, point))
        ratios[name] = round(measure(point), 3)
        print(f"{name}: {ratios[name]:.2f}", flush=True)
    append(given.history, evolve(entry, ratios=ratios))
    given.svg.write_text(drawing(read(given.history)))
    return 0


if __name__ == "__main__":
    sys.exit(main())
