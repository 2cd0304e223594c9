"""Saved plans whose apply was cut off: what was applied is recognised, the rest is what was approved, or somebody is
asked."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections import Counter
from contextlib import suppress
from pathlib import Path
from random import Random

import pytest
from batch.fleets import BACKEND, Ran, batch, write

NAMES = "abc"
RESOURCE = """
resource "terraform_data" "%(label)s" {
  input = %(input)s
  provisioner "local-exec" {
    command = "%(command)s"
    quiet   = true
  }
}
"""
SLOW = "test -e ../hurry || { touch ../busy; for i in 1 2 3 4 5 6; do sleep 0.5; test -e ../hurry && exit 1; done; }; "
OUTPUT = 'output "word" {\n  value = terraform_data.one.input\n}\n'


def said(ran: Ran) -> str:
    return " ".join((ran.out + ran.errors).split())


def resource(label: str, value: str, command: str) -> str:
    return RESOURCE % {"label": label, "input": value, "command": command}


def fleet(root: Path, slow: str = "") -> Path:
    """Three units, one after the other, each with two new resources that note in a ledger when they are made. What
    `slow` names (`b two`) takes its time while the file `hurry` is not there, and comes to nothing then."""
    blocks = []
    for name in NAMES:
        text = BACKEND + 'variable "up" {\n  default = "none"\n}\n' + OUTPUT
        for label, value in (("one", f'"{name} ${{var.up}}"'), ("two", "terraform_data.one.id")):
            wait = SLOW if slow == f"{name} {label}" else ""
            command = f"{wait}echo {name} {label} >> ../ledger"
            text += resource(label, value, command)
        before = NAMES[NAMES.index(name) - 1] if name != NAMES[0] else ""
        inside = f"\n  inputs = {{ up = unit.{before}.word }}\n" if before else ""
        blocks.append(f'unit "{name}" {{{inside}}}\n')
        write(root, {f"{name}/main.tf": text})
    write(root, {"planner.batch.hcl": "".join(blocks)})
    ran = batch(root, "plan", "-json", "-out=saved")
    assert ran.code == 0 and set(ran.outcomes.values()) == {"changes"}, said(ran)
    return root


def ledger(root: Path) -> list[str]:
    path = root / "ledger"
    return path.read_text().splitlines() if path.exists() else []


ALL = [f"{name} {label}" for name in NAMES for label in ("one", "two")]


def start(root: Path, *words: str) -> subprocess.Popen[bytes]:
    command = [sys.executable, "-m", "planner", "batch", *words]
    return subprocess.Popen(
        command, cwd=root, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True
    )


def kill(process: subprocess.Popen[bytes]) -> None:
    os.killpg(process.pid, signal.SIGKILL)
    process.wait()
    with suppress(ProcessLookupError):  # its workers hold the locks of states until they have ended, too
        for _ in range(250):
            os.killpg(process.pid, 0)
            time.sleep(0.02)


def cut_off(root: Path) -> None:
    """Kill an apply of the saved plan while it makes what is slow."""
    process = start(root, "apply", "-auto-approve", "-workers=1", "saved")
    while not (root / "busy").exists():
        assert process.poll() is None
        time.sleep(0.02)
    kill(process)
    (root / "hurry").touch()


def test_once_is_enough(tmp_path: Path) -> None:
    fleet(tmp_path)
    assert batch(tmp_path, "apply", "saved").code == 0
    for words in (["apply", "saved"], ["resume"]):
        again = batch(tmp_path, *words)
        assert again.code == 0 and "Already applied from this plan: a, b, c." in said(again), said(again)
    assert ledger(tmp_path) == ALL


def test_without_a_record_states_tell(tmp_path: Path) -> None:
    fleet(tmp_path)
    assert batch(tmp_path, "apply", "saved").code == 0
    shutil.rmtree(tmp_path / ".planner")
    again = batch(tmp_path, "apply", "-json", "-auto-approve", "saved")
    assert again.code == 0 and set(again.outcomes.values()) == {"applied"}, said(again)
    assert ledger(tmp_path) == ALL


def test_a_state_that_others_have_changed_is_no_sign(tmp_path: Path) -> None:
    fleet(tmp_path)
    assert batch(tmp_path, "apply", "saved").code == 0
    path = tmp_path / "b/terraform.tfstate"
    state = json.loads(path.read_text())
    state["serial"] += 1
    state["resources"] = state["resources"][:1]
    path.write_text(json.dumps(state))
    again = batch(tmp_path, "apply", "-auto-approve", "saved")
    assert again.code == 1 and "b: the saved plan is stale" in again.errors and "a: the" not in again.errors
    assert ledger(tmp_path) == ALL


def test_an_update_with_the_same_values_is_no_sign(tmp_path: Path) -> None:
    """What the plan announced of the object was there before already: a new serial does not say that it was applied."""
    fleet(tmp_path)
    assert batch(tmp_path, "apply", "saved").code == 0
    ran = batch(tmp_path, "plan", "-json", "-replace=b:terraform_data.two", "-out=saved")
    assert ran.outcomes == {"a": "unchanged", "b": "changes", "c": "unchanged"}, said(ran)
    path = tmp_path / "b/terraform.tfstate"
    path.write_text(path.read_text().replace('"serial": 1', '"serial": 2').replace('"serial":1', '"serial":2'))
    again = batch(tmp_path, "apply", "-auto-approve", "saved")
    assert again.code == 1 and "b: the saved plan is stale" in again.errors


@pytest.mark.parametrize("way", ["apply", "resume", "without the folder"])
def test_what_was_being_made_is_asked_about(tmp_path: Path, way: str) -> None:
    fleet(tmp_path, "b two")
    cut_off(tmp_path)
    assert ledger(tmp_path) == ["a one", "a two", "b one"]
    words = ["apply", "saved"] if way == "apply" else ["resume"]
    if way == "without the folder":
        shutil.rmtree(tmp_path / "saved")
    unasked = batch(tmp_path, *words, "-auto-approve")
    assert unasked.code == 1 and "b: was being applied when an earlier run was interrupted" in said(unasked)
    assert "Already applied from this plan: a." in said(unasked)
    assert "not approved: - terraform_data.two" in said(unasked) and "c: skipped" in said(unasked)
    assert "Objects: 2 added. Record" in said(unasked)  # those of a; b was left alone
    assert ledger(tmp_path) == ["a one", "a two", "b one"]
    if way == "apply":
        asked = batch(tmp_path, "apply", "saved", answers="yes\n")
        assert asked.code == 0 and "which differs from the approved plan" in asked.out, said(asked)
        assert ledger(tmp_path) == ALL


def test_what_was_not_begun_goes_on_unasked(tmp_path: Path) -> None:
    """Cut off when the first resource of a unit was there and the second not: the rest is as it was approved."""
    fleet(tmp_path)
    ran = batch(tmp_path, "apply", "-auto-approve", "-target=a:terraform_data.one", "a")  # the state of such a moment
    assert ran.code == 0, said(ran)
    run = sorted((tmp_path / ".planner/batch").glob("2*"))[-1]
    asked = json.loads((run / "run.json").read_text())
    saved_plan = json.loads((tmp_path / "saved/manifest.json").read_text())
    asked |= {"saved_plan": str(tmp_path / "saved"), "saved_plan_sum": saved_plan["sum"]}
    (run / "run.json").write_text(json.dumps(asked))
    begun = {"event": "started", "unit": "a", "attempt": 1, "command": "apply_plan", "at": "2026-01-01T00:00:00Z"}
    (run / "events.jsonl").write_text(json.dumps(begun) + "\n")
    again = batch(tmp_path, "apply", "-auto-approve", "saved")
    assert again.code == 0, said(again)
    assert ledger(tmp_path) == ALL


def test_a_replacement_that_was_asked_for_is_not_made_twice(tmp_path: Path) -> None:
    fleet(tmp_path)
    assert batch(tmp_path, "apply", "saved").code == 0
    shutil.rmtree(tmp_path / "saved")
    (tmp_path / "ledger").unlink()
    text = (tmp_path / "b/main.tf").read_text()
    write(tmp_path, {"b/main.tf": text.replace('"echo b two', f'"{SLOW}echo b two')})
    words = ["-replace=b:terraform_data.one", "-replace=b:terraform_data.two"]
    assert batch(tmp_path, "plan", "-out=saved", *words).code == 0
    cut_off(tmp_path)
    again = batch(tmp_path, "apply", "-auto-approve", "saved")
    assert again.code == 1 and "-replace would replace again" in said(again)


@pytest.mark.slow
@pytest.mark.parametrize("seed", [1, 2, 3])
def test_random_kills(tmp_path: Path, seed: int) -> None:
    random = Random(seed)
    fleet(tmp_path)
    for name in NAMES:  # everything takes a while
        text = (tmp_path / name / "main.tf").read_text()
        write(tmp_path, {f"{name}/main.tf": text.replace('"echo', '"sleep 0.2; echo')})
    assert batch(tmp_path, "plan", "-out=saved").code == 0
    in_work: set[str] = set()
    for _ in range(3):
        process = start(tmp_path, "apply", "-auto-approve", "-workers=2", "saved")
        begun = len(ledger(tmp_path))
        deadline = time.monotonic() + 3
        while process.poll() is None and len(ledger(tmp_path)) == begun and time.monotonic() < deadline:
            time.sleep(0.02)
        time.sleep(random.uniform(0, 0.3))
        if process.poll() is not None:
            break
        kill(process)
        for run in (tmp_path / ".planner/batch").glob("2*/events.jsonl"):
            events = [json.loads(line) for line in run.read_text().split("\n")[:-1]]
            last = {e["unit"]: e["event"] for e in events if e["event"] in ("started", "finished")}
            in_work |= {unit for unit, event in last.items() if event == "started"}
    time.sleep(0.5)  # what was killed may leave a program behind for a moment
    done = batch(tmp_path, "apply", "saved", answers="yes\n" * 9)
    assert done.code == 0, said(done)
    assert set(ledger(tmp_path)) == set(ALL)
    twice = {line.split()[0] for line, number in Counter(ledger(tmp_path)).items() if number > 1}
    assert twice <= in_work
    assert set(batch(tmp_path, "plan", "-json").outcomes.values()) == {"unchanged"}
