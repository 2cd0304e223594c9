"""Plans that are saved and applied later: exactly as approved, or not at all, and then it is said why."""

from __future__ import annotations

import json
import os
import re
import shutil
import time
from collections.abc import Callable
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest
from attrs import evolve
from batch.fleets import BACKEND, Ran, batch, write

from planner.answers.documents.plan_file import read_plan
from planner.foundation.vocabulary.release import RELEASE
from planner.logic.model.plan import Plan
from planner.workflows.batch import saved_plan
from planner.workflows.batch.approval_check import compared

MAIN = """
variable "up" {
  default = "none"
}
resource "terraform_data" "r" {
  input            = "%s"
  triggers_replace = "%s"
}
resource "terraform_data" "u" {
  input = var.up
}
output "word" {
  value = terraform_data.r.input
}
output "id" {
  value = terraform_data.r.id
}
"""
FILE = 'unit "a" {}\nunit "b" {\n  inputs = { up = unit.a.%s }\n}\nunit "c" {\n  depends_on = [unit.b]\n}\n'


def fleet(root: Path, output: str = "word") -> Path:
    """Three units that are applied, one after the other; the second takes an output of the first."""
    write(
        root, {f"{name}/main.tf": BACKEND + MAIN % (name, "t") for name in "abc"} | {"planner.batch.hcl": FILE % output}
    )
    assert batch(root, "apply", "-auto-approve").code == 0
    return root


def change(root: Path, name: str, word: str, trigger: str = "t") -> None:
    write(root, {f"{name}/main.tf": BACKEND + MAIN % (word, trigger)})


def save(root: Path, *words: str) -> Ran:
    ran = batch(root, "plan", "-json", "-out=saved", *words)
    assert ran.code == 0, ran.out
    return ran


def said(ran: Ran) -> str:
    return " ".join((ran.out + ran.errors).split())


def state(root: Path, name: str) -> str:
    return (root / name / "terraform.tfstate").read_text()


class TestAsApproved:
    def test_nothing_is_asked_and_all_is_done(self, tmp_path: Path) -> None:
        fleet(tmp_path)
        change(tmp_path, "a", "two")
        assert save(tmp_path).outcomes == {"a": "changes", "b": "changes", "c": "unchanged"}
        assert sorted(path.name for path in (tmp_path / "saved/plans").iterdir()) == ["a.tfplan", "b.tfplan"]
        for folder, _, names in os.walk(tmp_path / "saved"):
            assert os.stat(folder).st_mode & 0o777 == 0o700
            assert {os.stat(Path(folder, name)).st_mode & 0o777 for name in names} <= {0o600}
        ran = batch(tmp_path, "apply", "saved")
        assert ran.code == 0 and "Do you want" not in ran.out, said(ran)
        assert '"two"' in state(tmp_path, "b")
        edit(tmp_path / "a/terraform.tfstate", lambda d: d.update(serial=3, resources=[]), False)
        again = batch(tmp_path, "apply", "saved")
        assert again.code == 1 and "had serial 1, and now has serial 3, written by version" in said(again)
        assert re.search(r"the batch \d{8}T\d{6}Z-\d{3} of \S+@\S+ applied a at ", said(again))

    def test_what_was_not_known_is_filled_in(self, tmp_path: Path) -> None:
        fleet(tmp_path, "id")
        change(tmp_path, "a", "a", "other")
        assert save(tmp_path).outcomes == {"a": "changes", "b": "incomplete", "c": "unchanged"}
        ran = batch(tmp_path, "apply", "saved")
        assert ran.code == 0 and "Do you want" not in ran.out, said(ran)
        assert set(batch(tmp_path, "plan", "-json").outcomes.values()) == {"unchanged"}

    def test_only_what_was_selected(self, tmp_path: Path) -> None:
        fleet(tmp_path)
        change(tmp_path, "a", "two")
        change(tmp_path, "c", "two")
        assert set(save(tmp_path, "c").outcomes) == {"c"}
        assert batch(tmp_path, "apply", "-json", "-auto-approve", "saved").outcomes == {"c": "applied"}

    def test_to_destroy(self, tmp_path: Path) -> None:
        fleet(tmp_path)
        assert set(save(tmp_path, "-destroy").outcomes.values()) == {"changes"}
        ran = batch(tmp_path, "apply", "saved")
        assert ran.code == 0, said(ran)
        assert [json.loads(state(tmp_path, name))["resources"] for name in "abc"] == [[], [], []]

    def test_with_variables_of_the_command_line(self, tmp_path: Path) -> None:
        fleet(tmp_path, "id")
        change(tmp_path, "a", "a", "other")
        save(tmp_path, "-var=c:up=seven")
        assert batch(tmp_path, "apply", "saved").code == 0
        assert '"seven"' in state(tmp_path, "c")

    def test_on_another_machine(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        fleet(tmp_path / "here")
        change(tmp_path / "here", "a", "two")
        save(tmp_path / "here")
        shutil.copytree(tmp_path / "here", tmp_path / "there", symlinks=True)
        monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))  # another user's key
        ran = batch(tmp_path / "there", "apply", "saved")
        assert ran.code == 0, said(ran)
        assert '"two"' in state(tmp_path / "there", "b") and '"two"' not in state(tmp_path / "here", "b")


def edit(path: Path, how: Callable[[Any], None], is_signed: bool = True) -> None:
    document = json.loads(path.read_text())
    how(document)
    if is_signed:
        document["sum"] = saved_plan._sum(document)
    path.write_text(json.dumps(document))


def replace(root: Path, path: str, text: str) -> None:
    (root / path).unlink()
    (root / path).write_text(text)


def serial(root: Path) -> None:
    edit(root / "b/terraform.tfstate", lambda d: d.update(serial=7), False)


DEEP_MANIFEST = json.dumps(
    {"format": saved_plan.FORMAT, "version": saved_plan.VERSION, "planner_version": RELEASE, "units": 0}
).replace(": 0}", ": " + "[" * 500 + "]" * 500 + "}")
CHANGES: list[tuple[Callable[[Path], object], str]] = [
    (lambda root: change(root, "b", "three"), "The file b/main.tf has changed"),
    (lambda root: write(root, {"b/more.tf": "locals {}\n"}), "The file b/more.tf is new"),
    (lambda root: (root / "c/main.tf").rename(root / "c/other.tf"), "The file c/main.tf does not exist any more"),
    (serial, "had serial 1, and now has serial 7"),
    (lambda root: (root / "b/terraform.tfstate").unlink(), "does not exist any more"),
    (lambda root: write(root, {"planner.batch.hcl": 'unit "a" {}\nunit "b" {}\n'}), "The fleet has no unit c any more"),
    (
        lambda root: write(root, {"planner.batch.hcl": (FILE % "word").replace("up =", "up = 1\nother =")}),
        "The file planner.batch.hcl has changed",
    ),
    (
        lambda root: write(root, {"planner.batch.hcl": 'unit "a" {}\nunit "b" {}\nunit "c" {}\n'}),
        "the unit ran after a; this order has changed",
    ),
    (lambda root: replace(root, "saved/plans/a.tfplan", "x"), "its SHA-256 differs"),
    (lambda root: (root / "saved/plans/a.tfplan").unlink(), "No such file"),
    (
        lambda root: (
            (root / "saved/plans/a.tfplan").rename(root / "x") and (root / "saved/plans/a.tfplan").symlink_to("../../x")
        ),
        "is a link, or its directory is a link",
    ),
    (
        lambda root: (root / "saved/plans").rename(root / "x") and (root / "saved/plans").symlink_to("../x"),
        "is a link, or its directory is a link",
    ),
    (
        lambda root: (
            (root / "saved/manifest.json").rename(root / "x") and os.symlink("../x", root / "saved/manifest.json")
        ),
        "manifest.json: ",
    ),
    (lambda root: replace(root, "saved/manifest.json", "{"), "is not JSON"),
    (lambda root: replace(root, "saved/manifest.json", "[" * 100_000), "is no"),
    (
        lambda root: replace(root, "saved/manifest.json", DEEP_MANIFEST),
        "its checksum differs",
    ),
    (
        lambda root: edit(root / "saved/manifest.json", lambda d: d.update(mode="destroy"), False),
        "its checksum differs",
    ),
    (lambda root: edit(root / "saved/manifest.json", lambda d: d.update(planner_version="0.0.1")), "planner 0.0.1"),
    (
        lambda root: edit(root / "saved/manifest.json", lambda d: d.update(words=["../x"])),
        "outside the working directory",
    ),
    (lambda root: edit(root / "saved/manifest.json", lambda d: d.update(units=[])), "it has no units"),
    (
        lambda root: edit(root / "saved/manifest.json", lambda d: d["units"].pop("a")),
        "depends on units that are missing",
    ),
    (
        lambda root: edit(
            root / "saved/manifest.json", lambda d: d["units"]["a"]["files"].update({"../../etc/passwd": "0" * 32})
        ),
        "which is outside the fleet",
    ),
    (
        lambda root: edit(root / "saved/manifest.json", lambda d: d["units"]["a"].update(outcome="applied")),
        "its entry for a is not valid",
    ),
    (
        lambda root: edit(root / "saved/manifest.json", lambda d: d["units"]["a"].update(plan="")),
        "the plan of a is missing",
    ),
    (
        lambda root: edit(root / "saved/manifest.json", lambda d: d["units"]["a"]["result"].update(counts="many")),
        "is damaged",
    ),
    (
        lambda root: edit(
            root / "saved/manifest.json",
            lambda d: d["units"]["a"]["asked"].update(variables=[["var-file", "/etc/passwd"]]),
        ),
        "names a variable file outside the fleet",
    ),
    (lambda root: edit(root / "saved/manifest.json", lambda d: d["units"]["a"].update(serial=True)), "serial of a"),
]


@pytest.fixture(scope="module")
def saved(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = fleet(tmp_path_factory.mktemp("saved"))
    change(root, "a", "two")
    save(root)
    return root


@pytest.mark.parametrize(("happens", "reason"), CHANGES)
def test_what_has_changed_since_refuses_the_whole(
    saved: Path, tmp_path: Path, happens: Callable[[Path], object], reason: str
) -> None:
    root = tmp_path / "fleet"
    shutil.copytree(saved, root)
    happens(root)
    before = {path: path.read_bytes() for path in root.glob("*/terraform.tfstate")}
    ran = batch(root, "apply", "-auto-approve", "saved")
    assert ran.code == 1 and reason in said(ran), said(ran)
    assert "started" not in ran.out
    assert {path: path.read_bytes() for path in root.glob("*/terraform.tfstate")} == before


def test_an_edited_digest_does_not_make_another_plan(saved: Path, tmp_path: Path) -> None:
    """A plan file that fits the manifest has a sum of its own, and is for one state."""
    root = tmp_path / "fleet"
    shutil.copytree(saved, root)
    data = bytearray((root / "saved/plans/a.tfplan").read_bytes())
    data[len(data) // 2] ^= 1
    (root / "saved/plans/a.tfplan").write_bytes(data)
    digest = sha256(data).hexdigest()
    edit(root / "saved/manifest.json", lambda d: d["units"]["a"].update(plan=digest))
    ran = batch(root, "apply", "-auto-approve", "saved")
    assert ran.code == 1 and "a: failed" in said(ran) and "b: skipped" in said(ran)
    shutil.copy(root / "saved/plans/b.tfplan", root / "saved/plans/a.tfplan")
    digest = sha256((root / "saved/plans/a.tfplan").read_bytes()).hexdigest()
    edit(root / "saved/manifest.json", lambda d: d["units"]["a"].update(plan=digest))
    ran = batch(root, "apply", "-auto-approve", "saved")
    assert ran.code == 1 and '"two"' not in state(root, "a"), said(ran)


@pytest.mark.slow
@pytest.mark.parametrize("answer", ["yes", "no"])
def test_what_is_more_than_was_approved_is_asked(tmp_path: Path, answer: str) -> None:
    """The approved plan of b was incomplete, and what is planned on its real input has a value that nobody saw."""
    fleet(tmp_path, "id")
    more = 'resource "terraform_data" "more" {\n  input = plantimestamp()\n}\n'
    write(tmp_path, {"b/main.tf": BACKEND + MAIN % ("b", "t") + more})
    change(tmp_path, "a", "a", "other")
    assert save(tmp_path).outcomes["b"] == "incomplete"
    time.sleep(1.1)
    ran = batch(tmp_path, "apply", "saved", answers=f"{answer}\n")
    assert "which differs from the approved plan" in ran.out and "create terraform_data.more" in ran.out
    assert ran.code == (answer == "no"), said(ran)
    assert ("terraform_data" in state(tmp_path, "b") and '"more"' in state(tmp_path, "b")) == (answer == "yes")


def test_what_differs_from_an_approved_plan(tmp_path: Path) -> None:
    fleet(tmp_path)
    change(tmp_path, "a", "two")
    save(tmp_path)
    plan = read_plan(str(tmp_path / "saved/plans/a.tfplan"))[0]
    assert plan is not None
    (done,) = [c for c in plan.changes if c.address == "terraform_data.r"]

    def altered(**what: Any) -> Plan:
        return evolve(plan, changes=(evolve(done, **what),))

    assert compared(plan, plan) == ()
    assert compared(plan, evolve(plan, changes=())) == ()
    assert compared(evolve(plan, changes=()), plan) == (("terraform_data.r", "action"),)
    assert compared(plan, altered(action="delete")) == (("terraform_data.r", "action"),)
    assert compared(plan, altered(after={**done.after, "input": "three"})) == (("terraform_data.r", "value"),)
    assert compared(plan, altered(after={**done.after, "output": "known by now"})) == ()
    outputs = tuple(evolve(o, after="three") for o in plan.outputs if o.name == "word")
    assert compared(plan, evolve(plan, outputs=outputs)) == (("output.word", "value"),)
    assert compared(evolve(plan, outputs=()), evolve(plan, changes=())) == (("output.word", "action"),)


def test_a_folder_with_something_else_is_left_alone(tmp_path: Path) -> None:
    fleet(tmp_path)
    assert "planner batch apply saved" in batch(tmp_path, "plan", "-out=saved").out
    ran = batch(tmp_path, "plan", "-out=a")
    assert ran.code == 1 and "is not empty" in said(ran)
    save(tmp_path)
    change(tmp_path, "b", "broken\n")
    write(tmp_path, {"b/main.tf": "nonsense"})
    assert "No plans are saved in saved" in batch(tmp_path, "plan", "-out=saved").out
    assert not (tmp_path / "saved/manifest.json").exists()


def test_a_saved_plan_is_applied_as_a_whole(tmp_path: Path) -> None:
    fleet(tmp_path)
    save(tmp_path)
    for words in (["saved", "b"], ["saved", "-tag=x"], ["saved", "-var=up=1"], ["saved", "-target=a:terraform_data.r"]):
        assert "applied as a whole" in said(batch(tmp_path, "apply", "-auto-approve", *words))


ENCRYPTION = """
terraform {
  encryption {
    key_provider "pbkdf2" "p" {
      passphrase = "a passphrase that is long enough"
      iterations = 200000
    }
    method "aes_gcm" "m" {
      keys = key_provider.pbkdf2.p
    }
    state {
      method = method.aes_gcm.m
    }
    plan {
      method = method.aes_gcm.m
    }
    remote_state_data_sources {
      default {
        method = method.aes_gcm.m
      }
    }
  }
}
"""


def test_what_is_encrypted_stays_so(tmp_path: Path) -> None:
    more = 'variable "more" {\n  default = "none"\n}\n'
    files = {f"{name}/main.tf": BACKEND + ENCRYPTION + more + MAIN % (f"{name}-77123", "t") for name in "abc"}
    write(tmp_path, files | {"planner.batch.hcl": FILE % "word"})
    assert save(tmp_path).outcomes == dict.fromkeys("abc", "changes")
    assert batch(tmp_path, "apply", "saved").code == 0
    write(tmp_path, {"a/main.tf": files["a/main.tf"].replace('"t"', '"u"').replace("a-77123", "a-77124")})
    write(tmp_path, {"planner.batch.hcl": FILE % "id"})
    refused = batch(tmp_path, "plan", "-out=saved", "-var=b:more=x")
    assert save(tmp_path).outcomes == {"a": "changes", "b": "incomplete", "c": "unchanged"}
    ran = batch(tmp_path, "apply", "saved")
    assert ran.code == 0, said(ran)
    assert refused.code == 1 and "would contain the values of -var in plain text" in said(refused)
    for folder in ("saved", ".planner"):
        for path in (tmp_path / folder).rglob("*"):
            assert path.is_dir() or b"-7712" not in path.read_bytes(), path
    plans = [*(tmp_path / "saved/plans").iterdir(), *(tmp_path / ".planner/batch").glob("*/plans/*")]
    assert plans and all(b"encrypted_data" in path.read_bytes() for path in plans)
    document = json.loads((tmp_path / "saved/manifest.json").read_text())
    assert all(saved["result"]["digests"] == [] for saved in document["units"].values())


def cut_off(root: Path, unit: str) -> None:
    """As if the run had been killed while it planned a unit: nothing is saved yet."""
    path = max((root / ".planner/batch").glob("2*")) / "events.jsonl"
    events = [json.loads(line) for line in path.read_text().splitlines()]
    kept = [e for e in events if e["event"] != "ended" and (e["event"], e.get("unit")) != ("finished", unit)]
    path.write_text("".join(json.dumps(event) + "\n" for event in kept))
    (root / "saved/manifest.json").unlink()
    (root / f"saved/plans/{unit}.tfplan").unlink()


@pytest.mark.parametrize("words", [(), ("-destroy",)])
def test_a_plan_that_was_cut_off_is_saved_when_it_is_resumed(tmp_path: Path, words: tuple[str, ...]) -> None:
    fleet(tmp_path)
    for name in "abc":
        change(tmp_path, name, f"{name}-2")
    wanted = save(tmp_path, *words)
    cut_off(tmp_path, "b")
    ran = batch(tmp_path, "resume", "-json")
    assert ran.code == 0 and ran.outcomes == wanted.outcomes, said(ran)
    ran = batch(tmp_path, "apply", "saved")
    assert ran.code == 0, said(ran)
    assert ('"terraform_data"' in state(tmp_path, "b")) == (not words)


def test_plans_of_a_later_run_are_not_taken_for_those_of_one_that_is_resumed(tmp_path: Path) -> None:
    fleet(tmp_path)
    change(tmp_path, "a", "two")
    save(tmp_path)
    first = max((tmp_path / ".planner/batch").glob("2*")).name
    cut_off(tmp_path, "b")
    change(tmp_path, "a", "three")
    later = time.time() + 60
    save(tmp_path)
    for path in (tmp_path / "saved/plans").iterdir():
        os.utime(path, (later, later))
    ran = batch(tmp_path, "resume", first)
    assert "The existing saved plan was not overwritten" in said(ran)
    (tmp_path / "saved/manifest.json").unlink()
    assert batch(tmp_path, "resume", first).code == 0
    assert batch(tmp_path, "apply", "saved").code == 0
    assert "three" in state(tmp_path, "a")
