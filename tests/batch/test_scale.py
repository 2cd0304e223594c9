"""Many units: each is planned once, and after a change only what it touches. Large fleets: tests/bench/fleet.py."""

from __future__ import annotations

import json
import sys
from pathlib import Path

from batch.fleets import batch

sys.path.insert(0, str(Path(__file__).parents[1] / "bench"))

from fleet import write_fleet


def started(root: Path) -> list[str]:
    """The units that the last run began."""
    run = max(root.glob(".planner/batch/[0-9]*"))
    events = [json.loads(line) for line in (run / "events.jsonl").read_text().splitlines()]
    return sorted(event["unit"] for event in events if event["event"] == "started")


def test_only_what_a_change_touches_is_planned_again(tmp_path: Path) -> None:
    names = write_fleet(tmp_path, units=40, resources=4, layers=5)
    ran = batch(tmp_path, "plan", "-json", "-executor=processes", "-workers=2")
    assert ran.json["outcomes"] == {"changes": 8, "incomplete": 32}
    assert started(tmp_path) == sorted(names)
    assert 0 < ran.json["peak_memory"] < 300 << 20
    assert {found["unit"]: found["wave"] for found in ran.json["units"]} == {
        name: i // 8 for i, name in enumerate(names)
    }
    with (tmp_path / names[20] / "main.tf").open("a") as file:
        file.write("# a remark\n")
    again = batch(tmp_path, "plan", "-json").json
    assert again["outcomes"] == ran.json["outcomes"]
    assert started(tmp_path) == [names[20]]
    with (tmp_path / names[0] / "main.tf").open("a") as file:
        file.write("nonsense\n")
    batch(tmp_path, "plan")
    assert started(tmp_path) == [names[0]]
