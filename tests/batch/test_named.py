"""What is named is never left out, what is left behind is told, and two batches do not get into each other's way."""

from __future__ import annotations

import json
import threading
from pathlib import Path

import pytest
from batch.fleets import BACKEND, batch, chain, unit, write

from planner.foundation.vocabulary.diagnostic import Failure
from planner.workflows.batch.record import take

PLAIN = 'resource "terraform_data" "main" {}\n'


def test_named_folders_are_units_whatever_their_blocks_say(tmp_path: Path) -> None:
    write(tmp_path, {"a/main.tf": PLAIN, "b/main.tf": unit(), "c/main.tf.json": '{"locals": {"x": 1}}'})
    write(tmp_path, {"b/inner/main.tf": unit(), "c/modules/m/main.tf": PLAIN, "empty/x.txt": ""})
    assert batch(tmp_path, "apply", "-auto-approve", "-json", "a", "b", "c").outcomes == {
        "a": "applied",
        "b": "applied",
        "b/inner": "applied",
        "c": "unchanged",
    }
    assert "No units below empty" in batch(tmp_path, "plan", "empty").errors
    beside = batch(tmp_path, "plan", "a", "empty")
    assert beside.code == 0 and "Warning: No units below empty" in beside.out
    assert "No units below" not in batch(tmp_path, "plan", "a", "b").out
    (tmp_path / "a" / "main.tf").unlink()  # told as one that is gone, which says more
    gone = batch(tmp_path, "plan", "a", "b").out
    assert "A removed unit still has objects" in gone and "No units below" not in gone


def test_reads_of_repeated_blocks_are_edges(tmp_path: Path) -> None:
    write(tmp_path, {f"{name}/main.tf": unit() for name in ("x", "y", "z", "n0", "n1", "m")})
    reads = """
data "terraform_remote_state" "each" {
  for_each = toset(["x", "y"])
  backend  = "local"
  config   = { path = "../${each.key}/terraform.tfstate" }
}
data "terraform_remote_state" "by_number" {
  count   = local.number
  backend = "local"
  config  = { path = "../n${count.index}/terraform.tfstate" }
}
data "terraform_remote_state" "none" {
  count   = 0
  backend = "local"
  config  = { path = "../z/terraform.tfstate" }
}
locals { number = 2 }
module "inner" {
  source   = "./inner"
  for_each = { m = "../m" }
  folder   = each.value
}
"""
    inner = """
variable "folder" {}
data "terraform_remote_state" "m" {
  backend = "local"
  config  = { path = "${var.folder}/terraform.tfstate" }
}
"""
    write(tmp_path, {"app/main.tf": BACKEND + reads, "app/inner/main.tf": inner})
    rows = batch(tmp_path, "query", "-json", 'edge("app", V)').json["rows"]
    assert sorted(row[0] for row in rows) == ["m", "n0", "n1", "x", "y"]
    objects = batch(tmp_path, "query", "-json", 'reads_state("app", D, S)').json["rows"]
    assert 'module.inner["m"].data.terraform_remote_state.m' in {row[0] for row in objects}


def test_what_a_unit_leaves_behind_is_told(tmp_path: Path) -> None:
    chain(tmp_path, "a", "old")
    assert batch(tmp_path, "apply", "-auto-approve").code == 0
    assert "A removed unit still has objects" not in batch(tmp_path, "plan").out
    write(tmp_path, {"old/main.tf": PLAIN})  # its block is gone
    told = batch(tmp_path, "plan")
    assert told.code == 0
    assert "A removed unit still has objects" in told.out and "old is no longer a unit" in told.out
    assert "A removed unit still has objects" not in batch(tmp_path, "plan", "a").out  # nobody looked for it there
    (tmp_path / "old" / "main.tf").unlink()
    assert "A removed unit still has objects" in batch(tmp_path, "plan").out
    for file in (tmp_path / ".planner" / "batch").glob("cache*"):
        file.unlink()
    assert "A removed unit still has objects" in batch(tmp_path, "plan").out  # its state says so as well
    (tmp_path / "old" / "terraform.tfstate").unlink()
    assert "A removed unit still has objects" not in batch(tmp_path, "plan").out


def test_a_unit_whose_block_in_the_fleets_file_is_gone(tmp_path: Path) -> None:
    chain(tmp_path, "a", "old")
    write(tmp_path, {"planner.batch.hcl": 'unit "a" {}\nunit "old" {}\n'})
    assert batch(tmp_path, "apply", "-auto-approve").code == 0
    write(tmp_path, {"planner.batch.hcl": 'unit "a" {}\nunit "renamed" { path = "old" }\n'})
    assert "A removed unit still has objects" not in batch(tmp_path, "plan").out
    write(tmp_path, {"planner.batch.hcl": 'unit "a" {}\n'})
    assert "old is no longer a unit" in batch(tmp_path, "plan").out


def test_a_failure_is_nobody_elses(tmp_path: Path) -> None:
    chain(tmp_path, "a", "b")
    assert batch(tmp_path, "apply", "-auto-approve").code == 0
    write(
        tmp_path, {"a/main.tf": unit(value='"y"'), "b/main.tf": unit({"up": "a"}, more='output "x" { value = nope }\n')}
    )
    ran = batch(tmp_path, "plan", "-json")
    assert ran.outcomes == {"a": "changes", "b": "failed"}
    assert ran.unit("b")["because"] == ""
    assert "because of" not in batch(tmp_path, "plan").out


@pytest.mark.parametrize(("first", "second", "waits"), [(True, True, True), (True, False, True), (False, False, False)])
def test_two_batches_on_one_fleet(tmp_path: Path, first: bool, second: bool, waits: bool) -> None:
    held = take(str(tmp_path), "apply" if first else "plan", first, 0)
    assert held is not None
    if not waits:
        other = take(str(tmp_path), "plan", second, 0)
        assert other is not None
        other.release()
        held.release()
        return
    with pytest.raises(Failure, match="The fleet is in use"):
        take(str(tmp_path), "plan", second, 0)
    timer = threading.Timer(0.3, held.release)
    timer.start()
    after = take(str(tmp_path), "apply", second, 30)
    assert after is not None
    after.release()


def test_who_is_at_work_is_said_and_nobody_is_told_to_unlock(tmp_path: Path) -> None:
    chain(tmp_path, "a")
    held = take(str(tmp_path), "apply", True, 0)
    ran = batch(tmp_path, "apply", "-auto-approve")
    assert ran.code == 1
    assert "`batch apply` of " in ran.errors and "-lock-timeout" in ran.errors
    assert "force-unlock" not in ran.out + ran.errors
    assert held is not None
    held.release()
    assert batch(tmp_path, "apply", "-auto-approve").code == 0
    document = json.loads((tmp_path / ".planner" / "batch" / "lock").read_bytes())
    assert document["command"] == "apply"
