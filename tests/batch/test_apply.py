"""Applying and destroying fleets: to convergence, wave by wave, and on after a crash."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from batch.fleets import batch, chain, inside, unit, write

from planner.workflows.batch.apply import converge
from planner.workflows.batch.schedule import BatchListener
from planner.workflows.batch.session import BatchOptions

FAILS = 'resource "terraform_data" "fails" {\n  provisioner "local-exec" {\n    command = "exit 3"\n  }\n}\n'


def states(root: Path) -> list[str]:
    """The units whose state has something."""
    found = []
    for path in sorted(root.glob("*/terraform.tfstate")):
        if json.loads(path.read_text() or "{}").get("resources"):
            found.append(path.parent.name)
    return found


def ledger(name: str) -> str:
    """A resource that notes in a file when it is made."""
    return (
        'resource "terraform_data" "note" {\n  provisioner "local-exec" {\n'
        f'    command = "echo {name} >> ../ledger"\n    quiet = true\n  }}\n}}\n'
    )


def test_apply_converges_in_the_order_of_the_edges(tmp_path: Path) -> None:
    chain(tmp_path, "c", "b", "a")
    ran = batch(tmp_path, "apply", "-auto-approve", "-json")
    assert (ran.code, ran.outcomes) == (0, {"c": "applied", "b": "applied", "a": "applied"})
    assert [found["counts"]["add"] for found in ran.json["units"]] == [1, 1, 1]
    identity = json.loads((tmp_path / "b/terraform.tfstate").read_text())["outputs"]["id"]["value"]
    reader = json.loads((tmp_path / "a/terraform.tfstate").read_text())["resources"]
    assert [identity, "x"] in [r["instances"][0]["attributes"].get("input", {}).get("value") for r in reader]
    assert batch(tmp_path, "apply", "-auto-approve", "-json").outcomes == {
        "c": "unchanged",
        "b": "unchanged",
        "a": "unchanged",
    }


def test_a_failure_keeps_back_only_what_waits_for_it(tmp_path: Path) -> None:
    chain(tmp_path, "a", "b", "c")
    write(tmp_path, {"b/main.tf": unit({"up": "a"}, more=FAILS), "other/main.tf": unit()})
    ran = batch(tmp_path, "apply", "-auto-approve", "-json")
    assert ran.code == 1
    assert ran.outcomes == {"a": "applied", "b": "failed", "c": "skipped", "other": "applied"}
    assert states(tmp_path) == ["a", "b", "other"]
    write(tmp_path, {"b/main.tf": unit({"up": "a"})})
    ran = batch(tmp_path, "resume", "-json")
    assert ran.outcomes == {"a": "applied", "b": "applied", "c": "applied", "other": "applied"}
    assert ran.json["in_flight"] == []


def test_waves_are_approved_one_by_one(tmp_path: Path) -> None:
    chain(tmp_path, "a", "b", "c")
    ran = batch(tmp_path, "apply", answers="yes\nno\n")
    assert ran.code == 1
    assert "b: incomplete, because of a" in ran.out and "b: changes" in ran.out
    assert "b: declined" in ran.out and "c: skipped" in ran.out
    assert "Objects: 1 added." in ran.out  # what was declined was not done
    assert states(tmp_path) == ["a"]
    ran = batch(tmp_path, "resume", answers="yes\nyes\n")
    assert ran.code == 0
    assert states(tmp_path) == ["a", "b", "c"]


def test_a_wave_is_applied_as_it_was_shown(tmp_path: Path) -> None:
    """What is approved is the plan: a change of the files meanwhile does not get in."""
    chain(tmp_path, "a")

    main = tmp_path / "a/main.tf"

    def approve(title: str, wave: object) -> bool:
        main.write_text(unit(None, '"late"'))
        return title == "wave 1 of 1"

    with inside(tmp_path):
        report = converge("apply", BatchOptions(executor="inline"), BatchListener(), approve)
    assert {u: d.outcome for u, d in report.done.items()} == {"a": "applied"}
    assert "late" not in (tmp_path / "a/terraform.tfstate").read_text()


def test_destroy_goes_the_other_way(tmp_path: Path) -> None:
    chain(tmp_path, "a", "b", "c")
    assert batch(tmp_path, "apply", "-auto-approve").code == 0
    ran = batch(tmp_path, "destroy", answers="yes\nyes\nyes\n")
    ends = [line.split(":")[0] for line in ran.out.splitlines() if ": applied" in line]
    assert (ran.code, ends, states(tmp_path)) == (0, ["c", "b", "a"], [])


def test_destroy_stops_below_a_failure(tmp_path: Path) -> None:
    chain(tmp_path, "a", "b")
    more = FAILS.replace("command", "when = destroy\n    command")
    write(tmp_path, {"b/main.tf": unit({"up": "a"}, more=more)})
    assert batch(tmp_path, "apply", "-auto-approve").code == 0
    ran = batch(tmp_path, "destroy", "-auto-approve", "-json")
    assert ran.outcomes == {"a": "skipped", "b": "failed"}
    assert states(tmp_path) == ["a", "b"]


@pytest.mark.parametrize("words", [["-json"], ["-json", "a"]])
def test_json_needs_approval_beforehand(tmp_path: Path, words: list[str]) -> None:
    chain(tmp_path, "a")
    ran = batch(tmp_path, "apply", *words)
    assert ran.code == 1 and "Approval is required" in ran.errors
    assert states(tmp_path) == []


class TestResume:
    def cut(self, root: Path, keep: int, torn: bytes = b"") -> None:
        """As if the last run had been cut off after so many events."""
        (path,) = root.glob(".planner/batch/[0-9]*/events.jsonl")
        lines = path.read_bytes().split(b"\n")
        path.write_bytes(b"\n".join(lines[:keep]) + b"\n" + torn)

    def test_what_had_finished_is_not_touched_and_what_was_in_work_is_named(self, tmp_path: Path) -> None:
        for name, up in (("a", None), ("b", {"up": "a"}), ("c", {"up": "b"})):
            write(tmp_path, {f"{name}/main.tf": unit(up, more=ledger(name))})
        assert batch(tmp_path, "apply", "-auto-approve").code == 0
        self.cut(tmp_path, 3, b'{"event": "fini')  # a began and finished, b began
        ran = batch(tmp_path, "resume")
        assert "b: was in progress when the run was interrupted" in ran.out
        assert "a: started" not in ran.out and "b: started" in ran.out
        assert (tmp_path / "ledger").read_text().split() == ["a", "b", "c"]
        ran = batch(tmp_path, "resume", "-json")
        assert (ran.outcomes, ran.json["in_flight"]) == ({"a": "applied", "b": "unchanged", "c": "unchanged"}, [])

    def test_plans_are_resumed_too(self, tmp_path: Path) -> None:
        chain(tmp_path, "a", "b")
        assert batch(tmp_path, "plan").code == 0
        self.cut(tmp_path, 2)
        ran = batch(tmp_path, "resume", "-json")
        assert ran.outcomes == {"a": "changes", "b": "incomplete"}
        assert [found["reused"] for found in ran.json["units"]] == [False, True]

    def test_nothing_to_resume(self, tmp_path: Path) -> None:
        assert "has no record of a run" in " ".join(batch(tmp_path, "resume").errors.split())
        assert "nonsense is not a valid name of a run" in batch(tmp_path, "resume", "nonsense").errors

    def test_a_named_run(self, tmp_path: Path) -> None:
        chain(tmp_path, "a")
        batch(tmp_path, "plan")
        batch(tmp_path, "plan", "-no-cache")
        first = min(path.name for path in tmp_path.glob(".planner/batch/[0-9]*"))
        assert batch(tmp_path, "resume", "-json", first).json["run"] == first


def test_the_record_of_a_run(tmp_path: Path) -> None:
    chain(tmp_path, "a", "b")
    run = batch(tmp_path, "apply", "-auto-approve", "-json").json["run"]
    folder = tmp_path / ".planner/batch" / run
    asked = json.loads((folder / "run.json").read_text())
    assert (asked["command"], asked["at_once"], asked["format_version"]) == ("apply", True, "1.0")
    events = [json.loads(line) for line in (folder / "events.jsonl").read_text().splitlines()]
    assert [(e["event"], e.get("unit")) for e in events] == [
        ("started", "a"), ("finished", "a"), ("started", "b"), ("finished", "b"), ("ended", None)
    ]  # fmt: skip
    assert events[1]["done"]["result"]["seconds"] > 0
    assert "terraform_data.main: Creation complete" in (folder / "logs/a.txt").read_text()
