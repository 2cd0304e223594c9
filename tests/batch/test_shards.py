"""Jobs that share the units of one command, and what they left joined: the same as one job would have done."""

from __future__ import annotations

import fcntl
import json
import os
import shutil
import time
from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import Any

import pytest
from batch.fleets import Ran, batch, chain, unit, write

from planner.workflows.batch import saved_plan
from planner.workflows.batch.analyse import Analysis
from planner.workflows.batch.model import Fleet
from planner.workflows.batch.shard_results import in_line, share

BAD = """
locals {
  n = 1
}
resource "terraform_data" "bad" {
  lifecycle {
    precondition {
      condition     = local.n == 2
      error_message = "never"
    }
  }
}
"""


def said(ran: Ran) -> str:
    return " ".join((ran.out + ran.errors).split())


def random_fleet(root: Path, random: Random, size: int) -> None:
    """Units that read others, come after others, or stand alone."""
    blocks = []
    for number in range(size):
        earlier = [f"u{other:02}" for other in range(number)]
        reads = random.sample(earlier, min(number, random.choice([0, 0, 1, 1, 2])))
        after = random.sample(earlier, min(number, random.choice([0, 0, 0, 1])))
        write(root, {f"u{number:02}/main.tf": unit({name: name for name in reads})})
        blocks.append(f'unit "u{number:02}" {{\n  depends_on = [{", ".join(f"unit.{name}" for name in after)}]\n}}\n')
    write(root, {"planner.batch.hcl": "".join(blocks)})


def parts(root: Path, count: int, *words: str, command: str = "plan", code: int = 0) -> list[str]:
    """What the jobs of a command leave, each in a copy of the fleet: they share nothing."""
    names = []
    for number in range(1, count + 1):
        job = root.parent / f"job{number}"
        shutil.copytree(root, job, symlinks=True)
        ran = batch(job, command, f"-shard={number}/{count}", *words)
        assert ran.code == code, said(ran)
        names.append(str(job))
    return names


def telling(document: Any) -> Any:
    """What a report says that does not depend on the machine or the time."""
    kept = ("unit", "wave", "outcome", "because", "counts", "changes", "outputs", "awaits", "changed_outputs")
    return [{name: one[name] for name in kept} for one in document["units"]], document["edges"], document["outcomes"]


class TestTheSameAsOneJob:
    @pytest.mark.parametrize("seed", range(4))
    def test_plan_and_apply(self, tmp_path: Path, seed: int) -> None:
        random = Random(seed)
        root = tmp_path / "fleet"
        random_fleet(root, random, 9)
        if seed % 2:
            assert batch(root, "apply", "-auto-approve").code == 0
            for name in random.sample(range(9), 3):
                text = (root / f"u{name:02}/main.tf").read_text()
                (root / f"u{name:02}/main.tf").write_text(text.replace('"x"', '"other"'))
        shutil.copytree(root, tmp_path / "whole", symlinks=True)
        whole = batch(tmp_path / "whole", "plan", "-json", "-out=saved")
        jobs = parts(root, random.choice([2, 3, 4]), "-out=part")
        joined = batch(root, "join", "-json", "-out=saved", *(f"{job}/part" for job in jobs))
        assert joined.code == 0, said(joined)
        assert telling(joined.json) == telling(whole.json)
        applied = batch(root, "apply", "-json", "-auto-approve", "saved")
        assert applied.code == 0, said(applied)
        assert set(batch(root, "plan", "-json").outcomes.values()) == {"unchanged"}

    def test_by_reports_alone(self, tmp_path: Path) -> None:
        root = tmp_path / "fleet"
        chain(root, "a", "b", "c", "d")
        jobs = parts(root, 2, "-report=part.json")
        joined = batch(root, "join", "-json", "-markdown=all.md", *(f"{job}/part.json" for job in jobs))
        assert joined.code == 0, said(joined)
        assert telling(joined.json) == telling(batch(root, "plan", "-json").json)
        assert "| 0 | a | changes |" in (root / "all.md").read_text().replace("`", "")
        no_plans = batch(root, "join", "-out=saved", *(f"{job}/part.json" for job in jobs))
        assert no_plans.code == 1 and "has no plans: name" in said(no_plans)

    def test_to_destroy(self, tmp_path: Path) -> None:
        root = tmp_path / "fleet"
        chain(root, "a", "b", "c", "d")
        assert batch(root, "apply", "-auto-approve").code == 0
        jobs = parts(root, 2, "-destroy", "-out=part")
        assert batch(root, "join", "-out=saved", *(f"{job}/part" for job in jobs)).code == 0
        ran = batch(root, "apply", "-json", "-auto-approve", "saved")
        assert ran.code == 0, said(ran)
        assert json.loads((root / "a/terraform.tfstate").read_text())["resources"] == []

    def test_validate(self, tmp_path: Path) -> None:
        root = tmp_path / "fleet"
        chain(root, "a", "b", "c", "d")
        write(root, {"d/more.tf": "locals {\n  x = nothing.here\n}\n"})
        names = []
        for number, code in ((1, 0), (2, 1)):
            ran = batch(root, "validate", f"-shard={number}/2", f"-report={number}.json")
            assert ran.code == code, said(ran)
            names.append(f"{number}.json")
        joined = batch(root, "join", "-json", *names)
        assert joined.code == 1
        assert joined.outcomes == {"a": "unchanged", "b": "unchanged", "c": "unchanged", "d": "failed"}

    def test_apply_keeps_together_what_is_connected(self, tmp_path: Path) -> None:
        chain(tmp_path, "a1", "a2", "a3")
        chain(tmp_path, "b1", "b2", "b3")
        chain(tmp_path, "c1")
        for number in (1, 2, 3):
            ran = batch(tmp_path, "apply", "-auto-approve", f"-shard={number}/3", f"-report={number}.json")
            assert ran.code == 0, said(ran)
        found = [
            sorted(u["unit"] for u in json.loads((tmp_path / f"{n}.json").read_text())["units"]) for n in (1, 2, 3)
        ]
        assert found == [["a1", "a2", "a3"], ["b1", "b2", "b3"], ["c1"]]
        joined = batch(tmp_path, "join", "-json", "1.json", "2.json", "3.json")
        assert set(joined.outcomes.values()) == {"applied"} and len(joined.outcomes) == 7

    def test_more_shards_than_units(self, tmp_path: Path) -> None:
        root = tmp_path / "fleet"
        chain(root, "a")
        jobs = parts(root, 3, "-out=part")
        joined = batch(root, "join", "-json", "-out=saved", *(f"{job}/part" for job in jobs))
        assert joined.outcomes == {"a": "changes"}
        assert batch(root, "apply", "-auto-approve", "saved").code == 0

    def test_options_about_units_of_other_shards(self, tmp_path: Path) -> None:
        root = tmp_path / "fleet"
        for name in "ab":
            write(root, {f"{name}/main.tf": unit(value="var.word", more='variable "word" {\n  default = "x"\n}\n')})
        jobs = parts(root, 2, "-var=b:word=given", "-out=part")
        assert batch(root, "join", "-out=saved", *(f"{job}/part" for job in jobs)).code == 0
        assert batch(root, "apply", "-auto-approve", "saved").code == 0
        assert '"given"' in (root / "b/terraform.tfstate").read_text()
        assert '"given"' not in (root / "a/terraform.tfstate").read_text()


class TestWhatIsPlannedBeside:
    def test_it_is_told_and_not_reported(self, tmp_path: Path) -> None:
        chain(tmp_path, "a", "b")
        ran = batch(tmp_path, "plan", "-shard=2/2")
        assert "Shard 2 of 2: 1 of 2 units. Also planned, only for their values" in said(ran)
        assert "(their own shards report them): a." in said(ran) and "a: started" not in ran.out

    def test_it_takes_no_lock(self, tmp_path: Path) -> None:
        chain(tmp_path, "a", "b")
        assert batch(tmp_path, "apply", "-auto-approve").code == 0
        write(tmp_path, {"a/main.tf": unit(value='"new"')})
        child = os.fork()
        if child == 0:  # another job that plans the unit itself
            with open(tmp_path / "a/terraform.tfstate", "r+b") as file:
                fcntl.lockf(file, fcntl.LOCK_EX)
                (tmp_path / "is-locked").touch()
                os.read(os.open(_pipe(tmp_path), os.O_RDONLY), 1)
            os._exit(0)
        try:
            while not (tmp_path / "is-locked").exists():
                time.sleep(0.01)
            own = batch(tmp_path, "plan", "-json", "-shard=1/2")
            beside = batch(tmp_path, "plan", "-json", "-shard=2/2")
        finally:
            with open(_pipe(tmp_path), "wb") as file:
                file.write(b"x")
            os.waitpid(child, 0)
        assert own.outcomes == {"a": "failed"} and "lock" in own.out
        assert beside.code == 0, said(beside)

    def test_its_failure_is_told_where_it_holds_something_up(self, tmp_path: Path) -> None:
        root = tmp_path / "fleet"
        chain(root, "a", "b")
        write(root, {"a/more.tf": BAD})
        jobs = parts(root, 2, "-out=part", code=1)
        second = batch(Path(jobs[1]), "plan", "-shard=2/2")
        assert "a: Resource precondition failed" in said(second) and "b: skipped, because of a" in said(second)
        joined = batch(root, "join", "-json", "-out=saved", *(f"{job}/part" for job in jobs))
        assert joined.code == 1 and joined.outcomes == {"a": "failed", "b": "skipped"}
        assert not (root / "saved").exists()

    def test_what_only_comes_after_a_failure_is_skipped_by_joining(self, tmp_path: Path) -> None:
        root = tmp_path / "fleet"
        chain(root, "a")
        chain(root, "b")
        write(root, {"planner.batch.hcl": 'unit "a" {}\nunit "b" {\n  depends_on = [unit.a]\n}\n'})
        write(root, {"a/more.tf": "locals {\n  x = nothing.here\n}\n"})
        for number, code in ((1, 1), (2, 0)):
            assert batch(root, "plan", f"-shard={number}/2", f"-report={number}.json").code == code
        joined = batch(root, "join", "-json", "1.json", "2.json")
        assert joined.outcomes == {"a": "failed", "b": "skipped"}
        assert joined.unit("b")["because"] == "a" and joined.unit("b")["counts"]["add"] == 0


def _pipe(root: Path) -> str:
    path = str(root / "pipe")
    if not os.path.exists(path):
        os.mkfifo(path)
    return path


@pytest.fixture
def two(tmp_path: Path) -> Path:
    """A fleet and the parts of two jobs beside it, in job1/part and job2/part."""
    chain(tmp_path / "fleet", "a", "b")
    parts(tmp_path / "fleet", 2, "-out=part")
    return tmp_path


class TestWhatIsNoWhole:
    def test_a_shard_is_missing(self, two: Path) -> None:
        ran = batch(two, "join", "-out=saved", "job2/part")
        assert ran.code == 1 and "Of 2 shards, the results of 1 are missing" in said(ran)
        assert not (two / "saved").exists()

    def test_one_is_there_twice(self, two: Path) -> None:
        ran = batch(two, "join", "job1/part", "job2/part", "job1/part")
        assert ran.code == 1 and "are the same shard" in said(ran)

    def test_of_different_numbers(self, two: Path) -> None:
        batch(two / "fleet", "plan", "-shard=2/3", "-out=part")
        ran = batch(two, "join", "job1/part", "fleet/part")
        assert ran.code == 1 and "were made with different numbers of shards" in said(ran)

    @pytest.mark.parametrize("change", ["file", "selection", "mode", "variable"])
    def test_of_different_configurations(self, two: Path, change: str) -> None:
        words = {"selection": ["a"], "mode": ["-destroy"], "variable": ["-target=b:terraform_data.main", "a", "b"]}
        if change == "file":
            write(two / "fleet", {"a/main.tf": unit(value='"other"')})
        ran = batch(two / "fleet", "plan", "-shard=2/2", "-out=part", *words.get(change, []))
        assert ran.code == 0, said(ran)
        ran = batch(two, "join", "job1/part", "fleet/part")
        assert ran.code == 1 and "were made from different files, selections or options" in said(ran)

    def test_something_was_applied_in_between(self, two: Path) -> None:
        assert batch(two / "fleet", "apply", "-auto-approve", "a").code == 0
        assert batch(two / "fleet", "plan", "-shard=2/2", "-out=part", "-report=report.json").code == 0
        for first, second in (("job1/part", "fleet/part"), ("job1/part/report.json", "fleet/report.json")):
            ran = batch(two, "join", first, second)
            assert ran.code == 1 and "was planned with outputs of a that differ" in said(ran), first

    def test_other_values_by_the_same_state(self, tmp_path: Path) -> None:
        """Of which a report says nothing, but a manifest does."""
        write(
            tmp_path, {"a/main.tf": 'terraform {\n  backend "local" {}\n}\noutput "id" {\n  value = timestamp()\n}\n'}
        )
        write(tmp_path, {"b/main.tf": unit({"a": "a"})})
        text = (tmp_path / "a/main.tf").read_text()
        for number, value in ((1, "1h"), (2, "2h")):
            write(tmp_path, {"a/main.tf": text.replace("timestamp()", f'"{value}"')})
            assert batch(tmp_path, "plan", f"-shard={number}/2", f"-out=part{number}").code == 0
            document = json.loads((tmp_path / f"part{number}/manifest.json").read_text())
            document["shard"]["fleet"] = document["key"] = "0" * 32
            document["sum"] = saved_plan._sum(document)
            (tmp_path / f"part{number}/manifest.json").write_text(json.dumps(document))
            report = json.loads((tmp_path / f"part{number}/report.json").read_text())
            report["shard"]["fleet"] = "0" * 32
            (tmp_path / f"part{number}/report.json").write_text(json.dumps(report))
        ran = batch(tmp_path, "join", "part1", "part2")
        assert ran.code == 1 and "was planned with outputs of a that differ" in said(ran)
        reports = batch(tmp_path, "join", "part1/report.json", "part2/report.json")
        assert reports.code == 0, said(reports)

    def test_a_part_is_not_applied(self, two: Path) -> None:
        ran = batch(two / "job1", "apply", "-auto-approve", "part")
        assert (
            ran.code == 1
            and "part is shard 1 of 2. First combine the plans of all shards with planner batch join" in said(ran)
        )

    def test_a_saved_plan_is_not_shared_out(self, two: Path) -> None:
        assert batch(two, "join", "-out=fleet/saved", "job1/part", "job2/part").code == 0
        ran = batch(two / "fleet", "apply", "-auto-approve", "-shard=1/2", "saved")
        assert ran.code == 1 and "-shard cannot be combined with saved" in said(ran)


def damage(path: Path, how: Callable[[Any], None]) -> None:
    document = json.loads(path.read_text())
    how(document)
    path.write_text(json.dumps(document))


def _at(document: Any, *keys: Any, value: Any) -> None:
    for key in keys[:-1]:
        document = document[key]
    document[keys[-1]] = value


HOSTILE: dict[str, Callable[[Path], None]] = {
    "no JSON": lambda part: (part / "report.json").write_text("{") and None,
    "too deep": lambda part: (part / "report.json").write_text("[" * 100_000) and None,
    "a link": lambda part: ((part / "report.json").unlink(), (part / "report.json").symlink_to("/etc/passwd"))[1],
    "no file": lambda part: (part / "report.json").unlink(),
    "a pipe": lambda part: ((part / "report.json").unlink(), os.mkfifo(part / "report.json"))[1],
    "a list": lambda part: (part / "report.json").write_text("[]") and None,
    "no shard": lambda part: damage(part / "report.json", lambda d: d.update(shard=None)),
    "shard 0": lambda part: damage(part / "report.json", lambda d: _at(d, "shard", "number", value=0)),
    "many shards": lambda part: damage(part / "report.json", lambda d: _at(d, "shard", "of", value=10**12)),
    "a flag as number": lambda part: damage(part / "report.json", lambda d: _at(d, "shard", "number", value=True)),
    "other outcome": lambda part: damage(part / "report.json", lambda d: _at(d, "units", 0, "outcome", value="fine")),
    "unit without name": lambda part: damage(part / "report.json", lambda d: d["units"][0].pop("unit")),
    "unit of text": lambda part: damage(part / "report.json", lambda d: _at(d, "units", 0, value="a")),
    "more counts": lambda part: damage(part / "report.json", lambda d: _at(d, "units", 0, "counts", "add", value="1")),
    "edges": lambda part: damage(part / "report.json", lambda d: d.update(edges=[[1, 2]])),
    "edges of one end": lambda part: damage(part / "report.json", lambda d: d.update(edges=[["a"]])),
    "a unit twice": lambda part: damage(part / "report.json", lambda d: d["units"].extend(d["units"])),
    "other unit": lambda part: damage(part / "report.json", lambda d: _at(d, "units", 0, "unit", value="../x")),
    "units left out": lambda part: damage(part / "report.json", lambda d: d.update(units=[])),
    "manifest": lambda part: damage(part / "manifest.json", lambda d: d.update(mode="destroy")),
    "plan": lambda part: (part / "plans/a.tfplan").write_bytes(b"x") and None,
    "plans elsewhere": lambda part: ((part / "plans").rename(part / "p"), (part / "plans").symlink_to("p"))[1],
}


@pytest.mark.parametrize("what", HOSTILE)
def test_hostile_parts(two: Path, what: str) -> None:
    HOSTILE[what](two / "job1/part")
    ran = batch(two, "join", "-out=saved", "job1/part", "job2/part")
    assert ran.code == 1 and "Error: " in ran.errors
    assert not (two / "saved/manifest.json").exists()


@pytest.mark.parametrize("word", ["", "1", "0/3", "4/3", "a/3", "1/0", "1/3/4", "-1/3", "1/999999999999", "\u0661/3"])
def test_words_that_name_no_shard(tmp_path: Path, word: str) -> None:
    chain(tmp_path, "a")
    ran = batch(tmp_path, "plan", f"-shard={word}")
    assert ran.code == (0 if word == "" else 1)
    assert ("must be K/N" in ran.errors) == (word != "")


def analysis_of(before: dict[str, tuple[str, ...]]) -> Analysis:
    waves: dict[str, int] = {}
    for name in sorted(before):  # names rise with waves here
        waves[name] = max((waves[other] + 1 for other in before[name]), default=0)
    return Analysis(Fleet("/", {}), None, before, before, waves, {name: [] for name in before}, reads_from=before)


@pytest.mark.parametrize("seed", range(20))
def test_every_unit_has_one_shard_and_none_has_too_many(seed: int) -> None:
    random = Random(seed)
    names = [f"u{number:03}" for number in range(random.randint(1, 60))]
    before = {n: tuple(random.sample(names[:i], min(i, random.choice([0, 1, 2])))) for i, n in enumerate(names)}
    count = random.randint(1, 9)
    shares = [share(analysis_of(before), number, count) for number in range(1, count + 1)]
    assert sorted(unit for one in shares for unit in one.units) == names
    assert max(len(one.units) for one in shares) <= 2 * (len(names) // count + 1)
    for one in shares:
        known = one.units | one.beside
        assert all(other in known for name in known for other in before[name])
        assert not one.units & one.beside


def test_branches_of_a_tree_are_cut_apart() -> None:
    before: dict[str, tuple[str, ...]] = {"a": ()}
    for branch in ("b1", "b2"):
        before |= {branch: ("a",)} | {f"c-{branch}-{leaf}": (branch,) for leaf in range(3)}
    line, groups = in_line(analysis_of(before))
    assert line == ["a", "b1", "c-b1-0", "c-b1-1", "c-b1-2", "b2", "c-b2-0", "c-b2-1", "c-b2-2"]
    assert set(groups.values()) == {(0, 9)}
