"""Random fleets with random changes: what a batch plan says is what an apply then does.

    python tests/soak/batch_pending.py [FLEETS [SEED]]      100 fleets by default

Units stand in layers and read each other's outputs, as inputs and in remote states: outputs that are passed on, that
stay the same, that are known before the apply, and that are not. After a random change of some units, the planned
changes of every unit whose plan is complete are those that the apply makes; an incomplete plan rests on a value that
nobody could know; and what was planned completely is applied as it was planned: at once, in waves, or as it was saved,
which asks nobody.
"""

from __future__ import annotations

import json
import sys
import tempfile
from collections import Counter
from pathlib import Path
from random import Random
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1]))

from batch.fleets import BACKEND, Ran, batch

READ = (
    'data "terraform_remote_state" "%s" {\n  backend = "local"\n  config  = { path = "../%s/terraform.tfstate" }\n}\n'
)
OUTPUTS = ("name", "fixed", "id", "out", "net", "passed")


class Unit:
    """One unit, as it is going to be written: literals and the outputs that it makes use of."""

    def __init__(self, name: str, upstream: list[str], random: Random) -> None:
        self.name, self.random = name, random
        self.words = [f"w{random.randrange(3)}" for _ in range(3)]
        self.trigger = "t0"
        self.more = random.random() < 0.4
        self.local = random.random() < 0.4
        self.inputs: dict[str, str] = {}
        self.reads: dict[str, str] = {}
        self.after = [other for other in upstream if random.random() < 0.3]
        for other in upstream:
            way = random.random()
            if way < 0.4:
                self.inputs[f"v_{other}"] = other + random.choice(
                    (".name", ".fixed", ".id", ".out", ".net.tag", ".net")
                )
            elif way < 0.8:
                self.reads[other] = random.choice(("name", "fixed", "id", "out", "net.tag", "net.id", "passed"))

    def change(self) -> None:
        kind = self.random.randrange(6)
        if kind < 3:
            self.words[kind] = f"w{self.random.randrange(9)}"
        elif kind == 3:
            self.trigger = f"t{self.random.randrange(9)}"
        elif kind == 4:
            self.more = not self.more
        # else a remark alone changes

    def text(self) -> str:
        parts = [BACKEND, f"# {self.random.random()}\n"]
        parts += [f'variable "{name}" {{}}\n' for name in self.inputs]
        parts += [READ % (other, other) for other in self.reads]
        taken = [f"var.{name}" for name in self.inputs]
        for other, path in self.reads.items():
            where = f"data.terraform_remote_state.{other}.outputs"
            if self.local:
                parts.append(f"locals {{\n  {other} = {where}\n}}\n")
                where = f"local.{other}"
            taken.append(f"{where}.{path}")
        first, *rest = [*taken, f'"{self.words[2]}"']
        parts.append(f'resource "terraform_data" "a" {{\n  input            = "{self.words[0]}"\n')
        parts.append(f'  triggers_replace = "{self.trigger}"\n}}\n')
        parts.append(f'resource "terraform_data" "b" {{\n  input = [{", ".join(rest)}]\n}}\n')
        if self.more:
            parts.append(f'resource "terraform_data" "c" {{\n  triggers_replace = {first}\n}}\n')
        values = {
            "name": "terraform_data.a.input",
            "fixed": f'"{self.words[1]}"',
            "id": "terraform_data.a.id",
            "out": "terraform_data.b.output",
            "net": f'{{ id = terraform_data.b.id, tag = "{self.words[1]}", deep = [terraform_data.a.id] }}',
            "passed": first,
        }
        parts += [f'output "{name}" {{\n  value = {values[name]}\n}}\n' for name in OUTPUTS]
        return "".join(parts)


class Fleet:
    """Units in layers, below a folder."""

    def __init__(self, root: Path, random: Random) -> None:
        self.root, self.random = root, random
        self.units: dict[str, Unit] = {}
        above: list[str] = []
        for layer in range(random.randint(2, 4)):
            names = [f"u{layer}{n}" for n in range(random.randint(1, 3))]
            for name in names:
                self.units[name] = Unit(name, random.sample(above, min(len(above), 3)), random)
            above += names

    def write(self) -> None:
        lines = []
        for unit in self.units.values():
            folder = self.root / unit.name
            folder.mkdir(parents=True, exist_ok=True)
            (folder / "main.tf").write_text(unit.text(), encoding="utf-8")
            inputs = "".join(f"    {name} = unit.{value}\n" for name, value in unit.inputs.items())
            after = ", ".join(f"unit.{other}" for other in unit.after)
            lines.append(f'unit "{unit.name}" {{\n  inputs = {{\n{inputs}  }}\n  depends_on = [{after}]\n}}\n')
        (self.root / "planner.batch.hcl").write_text("".join(lines), encoding="utf-8")

    def change(self) -> None:
        for unit in self.random.sample(sorted(self.units), self.random.randint(1, max(1, len(self.units) // 3))):
            self.units[unit].change()
        self.write()


def changes(unit: dict[str, Any]) -> list[tuple[str, str]]:
    return sorted((c["address"], c["action"]) for c in unit["changes"] if c["action"] != "read")


def trial(root: Path, seed: int, counts: Counter[str], rounds: int = 3) -> None:
    """One fleet, changed and applied so many times. Raises AssertionError."""
    random = Random(seed)
    fleet = Fleet(root, random)
    fleet.write()
    for turn in range(rounds):
        planned = batch(root, "plan", "-json")
        assert planned.code == 0, (seed, turn, planned.errors, planned.out)
        again = batch(root, "plan", "-json")
        assert again.outcomes == planned.outcomes, (seed, turn, planned.outcomes, again.outcomes)
        _check_incomplete(root, planned, (seed, turn))
        before = {name: _outputs(root, name) for name in fleet.units}
        way = random.choice(("at once", "in waves", "saved"))
        if way == "saved":
            saved = batch(root, "plan", "-json", "-out=saved")
            assert saved.outcomes == planned.outcomes, (seed, turn, planned.outcomes, saved.outcomes)
            told = batch(root, "apply", "saved")
            assert told.code == 0 and "Do you want" not in told.out, (seed, turn, told.errors, told.out)
            counts["saved and applied"] += 1
        elif way == "at once":
            applied = batch(root, "apply", "-json", "-auto-approve")
            assert applied.code == 0, (seed, turn, applied.errors, applied.out)
            for unit in planned.json["units"]:
                _compare(unit, applied.unit(unit["unit"]), (seed, turn), counts)
        else:
            told = batch(root, "apply", answers="yes\n" * 9)
            assert told.code == 0, (seed, turn, told.errors, told.out)
        _check_unknown(root, planned, before, (seed, turn))
        rest = batch(root, "plan", "-json").outcomes
        assert set(rest.values()) == {"unchanged"}, (seed, turn, rest)
        fleet.change()


def _compare(planned: dict[str, Any], applied: dict[str, Any], where: object, counts: Counter[str]) -> None:
    outcome = planned["outcome"]
    counts[outcome] += 1
    if outcome == "incomplete":
        counts["incomplete, and as it was planned"] += changes(planned) == changes(applied)
        return
    expected = {"changes": "applied", "unchanged": "unchanged"}[outcome]
    assert applied["outcome"] == expected, (where, planned, applied)
    assert changes(planned) == changes(applied), (where, planned["unit"], changes(planned), changes(applied))


def _check_incomplete(root: Path, planned: Ran, where: object) -> None:
    """Whatever is incomplete rests on an unknown output, and nothing else does."""
    rows = batch(root, "query", "-json", "pending(U, V, O, P)").json["rows"]
    incomplete = {name for name, outcome in planned.outcomes.items() if outcome == "incomplete"}
    assert {row[0] for row in rows} == incomplete, (where, rows, incomplete)


def _check_unknown(root: Path, planned: Ran, before: dict[str, Any], where: object) -> None:
    """What was not known has another value now."""
    for unit in planned.json["units"]:
        for output in {found["name"] for found in unit["unknown_outputs"]}:
            old = before[unit["unit"]].get(output)
            assert old is None or old != _outputs(root, unit["unit"]).get(output), (where, unit["unit"], output)


def _outputs(root: Path, name: str) -> dict[str, Any]:
    state = root / name / "terraform.tfstate"
    if not state.exists():
        return {}
    return {n: output["value"] for n, output in json.loads(state.read_text())["outputs"].items()}


def main(fleets: int = 100, seed: int = 0) -> None:
    counts: Counter[str] = Counter()
    for number in range(seed, seed + fleets):
        with tempfile.TemporaryDirectory(prefix="fleet") as folder:
            trial(Path(folder), number, counts)
    print(f"{fleets} fleets: {dict(counts)}")


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
