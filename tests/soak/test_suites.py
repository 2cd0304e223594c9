"""The provider that the gate of public suites makes for a configuration, and what the gate calls a difference."""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

import suites

MAIN = """
terraform {
  required_providers {
    own = { source = "example.com/some/own" }
  }
}
provider "own" {
  region = "west"
}
resource "own_server" "a" {
  name = "a"
  dynamic "disk" {
    for_each = [1, 2]
    content {
      size = disk.value
    }
  }
}
module "inner" {
  source = "./inner"
  given  = own_server.a.disk[0].serial
}
output "address" {
  value = own_server.a.address
}
"""
INNER = 'variable "given" {}\ndata "cloud_image" "i" {\n  name = var.given\n}\n'


def write(folder: Path) -> Path:
    (folder / "inner").mkdir()
    (folder / "main.tf").write_text(MAIN)
    (folder / "inner" / "main.tf").write_text(INNER)
    return folder


def test_the_schema_is_what_the_files_mention(tmp_path: Path) -> None:
    schema, sources = suites.fit(write(tmp_path))
    assert sources == {"example.com/some/own", "hashicorp/cloud"}
    disk = {"attributes": {"size": "optional", "serial": "computed"}}
    assert schema["resources"] == {
        "own_server": {"attributes": {"name": "optional", "address": "computed"}, "blocks": {"disk": disk}}
    }
    assert schema["data"] == {"cloud_image": {"attributes": {"name": "optional"}}}
    assert schema["provider"] == {"attributes": {"region": "optional"}}


def test_a_configuration_is_planned_applied_and_destroyed_with_it(tmp_path: Path) -> None:
    folder = tmp_path / "checkout"
    folder.mkdir()
    program = suites.Program("planner", str(Path(sys.executable).with_name("planner")), tmp_path, tmp_path)
    write(folder)
    variables = suites.write_fitted(tmp_path / "fitted", folder)
    outcome = suites.try_root(program, Path("checkout"), variables)
    codes = {name: step for name, step in outcome.steps.items() if isinstance(step, int)}
    assert codes == {"get": 0, "validate": 0, "plan": 0, "apply": 0, "plan again": 0, "destroy": 0}
    (change,) = outcome.steps["planned"]["resource_changes"]
    assert change["change"]["after_unknown"] == {"address": True, "id": True, "disk": [{}, {}]}


def test_the_first_difference_of_two_documents() -> None:
    tally, suite = suites.Tally(), suites.Suite("s", "o/r", "c", known={"validate": "known"})
    ours, theirs = suites.Outcome({"plan": {"a": [1, {"b": 2}]}}), suites.Outcome({"plan": {"a": [1, {"b": 3}]}})
    suites.add(tally, suite, "case", ours, theirs)
    suites.add(tally, suite, "case", suites.Outcome({"validate": 0}), suites.Outcome({"validate": 1}))
    suites.add(tally, suite, "case", suites.Outcome({"test": 1}), suites.Outcome({"test": 11}))
    suites.add(tally, suite, "case", ours, ours)
    assert dict(tally.differences) == {
        "unknown": ["case: plan: a[1].b: planner '2', OpenTofu '3'"],
        "known": ["case: validate: planner '0', OpenTofu '1'"],
        "OpenTofu crashes": ["case: test: planner '1', OpenTofu '11'"],
    }
    assert (tally.cases, tally.same) == (4, 1)
