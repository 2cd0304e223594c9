"""Pending is a property of values: what readers see of plans that are not applied yet."""

from __future__ import annotations

import json
import os
import re
import shutil
import sys
from collections import Counter
from pathlib import Path

import pytest
from batch.fleets import BACKEND, Ran, batch, write

sys.path.insert(0, str(Path(__file__).parents[1] / "soak"))

from batch_pending import trial

UP = """
variable "word" {
  default = "one"
}
resource "terraform_data" "r" {
  input            = var.word
  triggers_replace = "%s"
}
resource "terraform_data" "other" {
  input = "%s"
}
output "id" {
  value = terraform_data.r.id
}
output "word" {
  value = terraform_data.r.input
}
output "deep" {
  value = { id = terraform_data.r.id, list = ["fixed", terraform_data.r.output] }
}
"""
DOWN = (
    'variable "v" {\n  default = 0\n}\nresource "terraform_data" "d" {\n  input = %s\n}\noutput "o" {\n  value = 1\n}\n'
)
READ = """
data "terraform_remote_state" "up" {
  backend = "local"
  config  = { path = "../up/terraform.tfstate" }
}
"""


def fleet(root: Path, down: str, inputs: str = "", more: str = "") -> None:
    """A unit `up` that is applied, and one that reads it."""
    taken = f"  inputs = {{ v = {inputs} }}\n" if inputs else ""
    file = f'unit "up" {{}}\nunit "down" {{\n{taken}{more}}}\n'
    files = {"up/main.tf": BACKEND + UP % ("a", "x"), "down/main.tf": BACKEND + DOWN % down, "planner.batch.hcl": file}
    write(root, files)
    assert batch(root, "apply", "-auto-approve").code == 0


def changed(root: Path, trigger: str = "a", other: str = "x", word: str = "one") -> Ran:
    """The plan after a change of `up`."""
    write(root, {"up/main.tf": BACKEND + (UP % (trigger, other)).replace('"one"', f'"{word}"')})
    return batch(root, "plan", "-json")


WHOLE = "data.terraform_remote_state.up.outputs"


@pytest.mark.parametrize(
    ("down", "inputs"),
    [
        ("var.v", "unit.up.%s"),
        (f"{WHOLE}.%s", ""),
        ("module.m.out.%s", ""),
        ("local.up.%s", ""),
        ("var.v", '"<${jsonencode(unit.up)}>" == "" ? 0 : unit.up.%s'),
    ][:4],
)
class TestValues:
    """What is known is seen; what is not is pending, and only that. The way that values go does not matter."""

    def made(self, root: Path, down: str, inputs: str, part: str) -> None:
        more = {
            "m": 'module "m" {\n  source = "../m"\n  given = ' + WHOLE + "\n}\n",
            "l": "locals {\n  up = " + WHOLE + "\n}\n",
        }.get(down[0], "")
        write(root, {"m/main.tf": 'variable "given" {}\noutput "out" {\n  value = var.given\n}\n'})
        given = down % part if "%s" in down else down
        reads = "" if inputs else READ
        fleet(root, f"{given}\n}}\n{reads}{more}locals {{", inputs % part if inputs else "")

    def test_an_output_that_stays(self, tmp_path: Path, down: str, inputs: str) -> None:
        self.made(tmp_path, down, inputs, "id")
        ran = changed(tmp_path, other="y")
        assert ran.outcomes == {"up": "changes", "down": "unchanged"}
        assert ran.unit("up")["changed_outputs"] == []

    def test_an_output_that_is_known(self, tmp_path: Path, down: str, inputs: str) -> None:
        self.made(tmp_path, down, inputs, "word")
        ran = changed(tmp_path, word="two")
        assert ran.outcomes == {"up": "changes", "down": "changes"}
        assert ran.unit("up")["unknown_outputs"] == [{"name": "deep", "path": "list[1]"}]
        assert ran.unit("down")["plan_file"] and ran.unit("down")["awaits"] == []
        values = batch(tmp_path, "query", "-json", 'unit_planned("down", A, "input", V)').json["rows"]
        assert values == [["terraform_data.d", "two"]]
        assert batch(tmp_path, "apply", answers="yes\nyes\n").code == 0
        state = json.loads((tmp_path / "down/terraform.tfstate").read_text())
        assert '"two"' in json.dumps(state["resources"])
        assert set(batch(tmp_path, "plan", "-json").outcomes.values()) == {"unchanged"}

    def test_part_of_an_output(self, tmp_path: Path, down: str, inputs: str) -> None:
        self.made(tmp_path, down, inputs, "deep.list[0]")
        assert changed(tmp_path, "b").outcomes == {"up": "changes", "down": "unchanged"}

    def test_what_is_not_known(self, tmp_path: Path, down: str, inputs: str) -> None:
        self.made(tmp_path, down, inputs, "deep.id")
        ran = changed(tmp_path, "b")
        assert ran.outcomes == {"up": "changes", "down": "incomplete"}
        assert {(a["output"], a["path"]) for a in ran.unit("down")["awaits"]} == {("deep", "id")}
        assert "terraform_data.d" in {a["used_by"] for a in ran.unit("down")["awaits"]}
        assert not ran.unit("down")["plan_file"]


def test_order_alone_makes_nothing_incomplete(tmp_path: Path) -> None:
    fleet(tmp_path, '"fixed"', more="  depends_on = [unit.up]\n")
    assert changed(tmp_path, "b").outcomes == {"up": "changes", "down": "unchanged"}
    write(tmp_path, {"down/main.tf": BACKEND + DOWN % '"other"'})
    ran = batch(tmp_path, "plan", "-json")
    assert ran.outcomes == {"up": "changes", "down": "changes"} and ran.unit("down")["plan_file"]


def test_what_declined_or_failed_keeps_complete_plans_back(tmp_path: Path) -> None:
    fleet(tmp_path, "var.v", "unit.up.word")
    changed(tmp_path, word="two")
    ran = batch(tmp_path, "apply", answers="no\n")
    assert ran.code == 1 and re.search(r"down +skipped .*because of up", ran.out)


def test_secret_values_are_in_no_file(tmp_path: Path) -> None:
    secret = 'output "s" {\n  value = "${terraform_data.r.input}-hidden"\n  sensitive = true\n}\n'
    file = 'unit "up" {}\nunit "down" {\n  inputs = { v = unit.up.s }\n}\n'
    down = BACKEND + 'variable "v" {\n  sensitive = true\n}\nresource "terraform_data" "d" {\n  input = var.v\n}\n'
    write(tmp_path, {"up/main.tf": BACKEND + UP % ("a", "x") + secret, "down/main.tf": down, "planner.batch.hcl": file})
    first = batch(tmp_path, "plan", "-json")
    assert first.outcomes == {"up": "changes", "down": "changes"}
    assert batch(tmp_path, "plan", "-json").outcomes == first.outcomes
    for folder, _, names in os.walk(tmp_path / ".planner"):
        for name in names:
            path = Path(folder, name)
            assert b"one-hidden" not in path.read_bytes(), path
            if "plans" in folder:
                assert path.stat().st_mode & 0o777 == 0o600, path
    assert "one-hidden" not in first.out


def test_values_from_before_are_those_that_were_planned(tmp_path: Path) -> None:
    fleet(tmp_path, "var.v", "unit.up.word")
    ran = changed(tmp_path, word="two")
    write(tmp_path, {"down/main.tf": BACKEND + DOWN % "[var.v]"})
    again = batch(tmp_path, "plan", "-json")
    assert again.unit("up")["reused"] and again.outcomes == ran.outcomes
    assert not again.unit("down")["reused"]
    (kept,) = (tmp_path / ".planner/batch" / ran.json["run"] / "plans").glob("up.outputs")
    kept.write_text('{"word": "three"}')
    write(tmp_path, {"down/main.tf": BACKEND + DOWN % "[var.v, 2]"})
    spoiled = batch(tmp_path, "plan", "-json")
    assert spoiled.code == 1 and "no longer in" in spoiled.out + spoiled.errors
    kept.unlink()
    assert batch(tmp_path, "plan", "-json").outcomes == ran.outcomes


@pytest.mark.parametrize("seed", [1, 2])
def test_random_fleets_are_applied_as_planned(tmp_path: Path, seed: int) -> None:
    """More of them: tests/soak/batch_pending.py."""
    counts: Counter[str] = Counter()
    trial(tmp_path, seed, counts, 2)


def test_what_is_pending_is_explained(tmp_path: Path) -> None:
    fleet(tmp_path, "var.v", "unit.up.deep.id")
    assert changed(tmp_path, "b").outcomes == {"up": "changes", "down": "incomplete"}
    said = " ".join(batch(tmp_path, "why", "pending", "down").out.split())
    assert (
        "terraform_data.d of down depends on id in the output deep of up, which is known only when up is applied"
        in said
    )
    goal = batch(tmp_path, "why", "-json", "pending", "down").json["proofs"][0]["goal"]
    assert goal == ["pending", "down", "up", "deep", "id"]
    assert "incomplete" in batch(tmp_path, "why", "down").out
    assert "up has no dependencies" in " ".join(batch(tmp_path, "why", "pending", "up").errors.split())
    changed(tmp_path, other="y")
    assert "the outputs of up stay the same" in batch(tmp_path, "why", "-not", "pending", "down").out
    assert batch(tmp_path, "why", "pending", "down").code == 1
    assert 'Did you mean "down"?' in batch(tmp_path, "why", "pending", "dow").errors


def test_all_units_that_it_waits_for_are_named_everywhere(tmp_path: Path) -> None:
    shutil.copytree(Path(__file__).parents[2] / "examples" / "09_fleet", tmp_path / "fleet")
    folder = tmp_path / "fleet"
    ran = batch(folder, "plan")
    because = "because of database/orders, dns, identity"
    assert f"service/orders: incomplete, {because}, +1" in ran.out
    assert any(row.split()[1:2] == ["service/orders"] and row.endswith(because) for row in ran.out.splitlines())
    assert batch(folder, "why", "service/orders").out == (
        f"service/orders: incomplete, {because}\n" + batch(folder, "why", "pending", "service/orders").out
    )
    (unit,) = (unit for unit in batch(folder, "plan", "-json").json["units"] if unit["unit"] == "service/orders")
    assert unit["because_all"] == ["database/orders", "dns", "identity"] and unit["because"] in unit["because_all"]
