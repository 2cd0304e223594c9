"""What is kept between runs does not hide drift: real objects are looked at, unless an age is allowed and told."""

from __future__ import annotations

import json
import os
import tempfile
import time
from pathlib import Path

import pytest
from batch.fleets import BACKEND, Ran, batch, write
from provider.plugins import SOURCE, override

NEEDS = (
    f'terraform {{\n  backend "local" {{}}\n  required_providers {{\n    test = {{ source = "{SOURCE}" }}\n  }}\n}}\n'
)
MAIN = NEEDS + 'resource "test_thing" "t" {\n  name = "%s"\n}\n'


@pytest.fixture
def world(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The objects of two units with a plugin; a third one has none."""
    world = override(monkeypatch, tmp_path / "plugin")
    plain = BACKEND + 'resource "terraform_data" "x" {}\n'
    write(tmp_path / "fleet", {"a/main.tf": MAIN % "a", "b/main.tf": MAIN % "b", "c/main.tf": plain})
    assert batch(tmp_path / "fleet", "apply", "-auto-approve").code == 0
    assert batch(tmp_path / "fleet", "plan").code == 0
    return world


def plan(root: Path, *words: str) -> Ran:
    return batch(root / "fleet", "plan", "-json", *words)


def reused(ran: Ran) -> list[str]:
    return [unit["unit"] for unit in ran.json["units"] if unit["reused"]]


@pytest.mark.slow
def test_objects_are_looked_at_unless_an_age_is_allowed(tmp_path: Path, world: Path) -> None:
    assert reused(plan(tmp_path)) == ["c"]
    allowed = plan(tmp_path, "-reuse=15m")
    assert reused(allowed) == ["a", "b", "c"]
    assert allowed.unit("a")["age"] >= 0 and allowed.unit("c")["age"] is None
    text = batch(tmp_path / "fleet", "plan", "-reuse=15m").out
    assert "(reused, read 0s ago)" in text or "(reused, read " in text
    assert "3 reused, read up to " in text
    assert reused(plan(tmp_path, "-reuse=0s")) == ["c"]
    write(tmp_path / "fleet", {"a/main.tf": MAIN % "other"})
    changed = plan(tmp_path, "-reuse=15m")
    assert reused(changed) == ["b", "c"] and changed.outcomes == {"a": "changes", "b": "unchanged", "c": "unchanged"}


def test_drift_is_seen(tmp_path: Path, world: Path) -> None:
    assert plan(tmp_path, "-reuse=15m", "-detailed-exitcode").code == 0
    for path in world.glob("*.json"):
        if json.loads(path.read_text()).get("name") == "b":
            path.unlink()
    assert plan(tmp_path, "-reuse=15m", "-detailed-exitcode").code == 0  # as was allowed
    drifted = plan(tmp_path, "-refresh-only", "-detailed-exitcode")
    assert drifted.code == 2 and drifted.outcomes == {"a": "unchanged", "b": "changes", "c": "unchanged"}
    assert drifted.unit("b")["changes"] == [{"address": "test_thing.t", "action": "delete", "reason": "drift"}]
    assert (
        "Objects: 1 destroyed outside planner."
        in batch(tmp_path / "fleet", "plan", "-refresh-only", "-markdown=d.md").out
    )
    report = (tmp_path / "fleet/d.md").read_text()
    assert (
        "Objects: **1** destroyed outside planner." in report
        and "was destroyed outside planner; an apply creates it again" in report
    )
    assert plan(tmp_path, "-refresh=false", "-detailed-exitcode").code == 0
    seen = plan(tmp_path, "-detailed-exitcode")
    assert seen.code == 2 and seen.unit("b")["changes"][0]["action"] == "create"


def test_drift_of_a_fleet(tmp_path: Path, world: Path) -> None:
    for path in world.glob("*.json"):
        if json.loads(path.read_text()).get("name") == "b":
            path.unlink()
    drift = batch(tmp_path / "fleet", "drift", "-review=d.json")
    changes = json.loads((tmp_path / "fleet/d.json").read_text())["changes"]
    assert drift.code == 2 and {(c["unit"], c["drift"]["outcome"]) for c in changes} == {("b", "restored")}, changes
    assert batch(tmp_path / "fleet", "drift", "a", "c").code == 0


@pytest.mark.slow
def test_states_are_read_where_objects_are_not(tmp_path: Path, world: Path) -> None:
    assert reused(plan(tmp_path, "-refresh=false")) == []  # it never was planned like that
    again = plan(tmp_path, "-refresh=false")
    assert reused(again) == ["a", "b", "c"] and again.unit("b")["age"] is not None
    state = tmp_path / "fleet/b/terraform.tfstate"
    document = json.loads(state.read_text())
    document["serial"] += 1
    document["resources"] = []
    state.write_text(json.dumps(document))
    assert plan(tmp_path, "-refresh=false").outcomes["b"] == "changes"


def test_a_fleet_in_a_folder_like_our_own() -> None:
    """What planner makes for a moment does not count; a fleet that stands there does."""
    with tempfile.TemporaryDirectory(prefix="planner-") as folder:
        write(Path(folder), {"a/main.tf": BACKEND})
        assert reused(batch(Path(folder), "plan", "-json")) == []
        assert reused(batch(Path(folder), "plan", "-json")) == ["a"]
        write(Path(folder), {"a/main.tf": BACKEND + 'resource "terraform_data" "x" {}\n'})
        assert batch(Path(folder), "plan", "-json").outcomes == {"a": "changes"}


def test_a_saved_plan_looks_at_everything_now(tmp_path: Path) -> None:
    write(tmp_path, {"a/main.tf": BACKEND})
    ran = batch(tmp_path, "plan", "-out=saved", "-reuse=15m")
    assert ran.code == 1 and "Remove -reuse" in " ".join(ran.errors.split())


def test_states_of_others_in_one_folder_do_not_count(tmp_path: Path) -> None:
    """Locks and states that come and go beside a unit's own."""
    for name in "ab":
        main = f'terraform {{\n  backend "local" {{ path = "../states/{name}.tfstate" }}\n}}\n'
        write(tmp_path, {f"{name}/main.tf": f'{main}resource "terraform_data" "x" {{}}\n'})
    (tmp_path / "states").mkdir()
    assert batch(tmp_path, "plan").code == 0
    assert all(unit["reused"] for unit in batch(tmp_path, "plan", "-json").json["units"])
    assert batch(tmp_path, "apply", "-auto-approve", "a").code == 0
    assert {unit["unit"]: unit["reused"] for unit in batch(tmp_path, "plan", "-json").json["units"]}["b"]


def test_files_that_functions_only_ask_for_are_looked_at(tmp_path: Path) -> None:
    text = BACKEND + 'resource "terraform_data" "x" {\n  input = fileexists("there")\n}\n'
    write(tmp_path / "fleet", {"a/main.tf": text})
    assert [reused(plan(tmp_path)), reused(plan(tmp_path))] == [[], ["a"]]
    (tmp_path / "fleet" / "a" / "there").touch()
    assert [reused(plan(tmp_path)), reused(plan(tmp_path))] == [[], ["a"]]


def test_states_that_stand_for_objects_have_an_age(tmp_path: Path, world: Path) -> None:
    for name, hours in (("a", 3), ("b", 1)):
        then = time.time() - hours * 3600 - 60
        os.utime(tmp_path / "fleet" / name / "terraform.tfstate", (then, then))
    (tmp_path / "fleet/c/terraform.tfstate").unlink()
    stale = plan(tmp_path, "-refresh=false")
    assert [int(stale.unit(name)["state_age"]) // 3600 for name in "ab"] == [3, 1]
    assert stale.unit("c")["state_age"] is None
    ran = batch(tmp_path / "fleet", "plan", "-refresh=false", "-markdown=r.md")
    assert "states up to 3h 1m old)." in ran.out and "states up to 3h 1m old)." in (tmp_path / "fleet/r.md").read_text()
    assert {unit["state_age"] for unit in plan(tmp_path).json["units"]} == {None}
    assert " old)" not in batch(tmp_path / "fleet", "plan").out
