"""Old records of runs are removed, by command and by themselves."""

from __future__ import annotations

import os
import time
from pathlib import Path

import pytest
from batch.fleets import batch, chain

from planner.workflows.batch.remove_records import clean, retain, runs


@pytest.fixture
def fleet(tmp_path: Path) -> Path:
    chain(tmp_path, "a")
    for _ in range(3):
        assert batch(tmp_path, "plan", "-no-cache").code == 0
    return tmp_path


def test_the_newest_stays(fleet: Path) -> None:
    first, second, third = runs(str(fleet))
    tried = batch(fleet, "clean", "-dry-run")
    assert tried.out.splitlines()[:2] == [first, second] and "2 records would be removed" in tried.out
    assert runs(str(fleet)) == [first, second, third]
    assert batch(fleet, "clean", "-older-than=1h").out.startswith("0 records removed")
    assert "2 records removed" in batch(fleet, "clean").out
    assert runs(str(fleet)) == [third]
    assert batch(fleet, "plan", "-json").unit("a")["reused"]
    assert "2 records removed" in batch(fleet, "clean", "-keep=0").out
    assert runs(str(fleet)) == []
    ran = batch(fleet, "plan", "-json")
    assert ran.outcomes == {"a": "changes"} and not ran.unit("a")["reused"]


def test_what_can_be_resumed_stays(fleet: Path) -> None:
    assert batch(fleet, "apply", "-auto-approve").code == 0
    newest = runs(str(fleet))[-1]
    events = fleet / ".planner/batch" / newest / "events.jsonl"
    lines = events.read_text().splitlines(keepends=True)
    events.write_text("".join(lines[:-1]))  # it was cut off before its end
    assert f"{newest} is kept" in batch(fleet, "clean", "-keep=0").out
    assert runs(str(fleet)) == [newest]
    events.write_text("".join(lines))
    assert clean(str(fleet), 0, 0.0).removed == (newest,)


def test_many_are_too_many(fleet: Path) -> None:
    names = runs(str(fleet))
    (fleet / ".planner/batch" / "notes").mkdir()
    retain(str(fleet), 2)
    assert runs(str(fleet)) == names[1:]
    assert (fleet / ".planner/batch/notes").is_dir()
    os.utime(fleet / ".planner/batch" / names[1], (time.time() - 9999,) * 2)
    assert clean(str(fleet), 0, 3600).removed == (names[1],)


def test_wrong_words(fleet: Path) -> None:
    assert batch(fleet, "clean", "-keep=-1").code == 1
    assert batch(fleet, "clean", "a").code == 1
