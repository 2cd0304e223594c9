"""What tainted an object: the apply records the provisioner, its line and how it ended, and `why` names them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

CONFIGURATION = """
resource "terraform_data" "a" {
  input = "x"
  provisioner "local-exec" {
    command = "true"
  }
  provisioner "local-exec" {
    command = "echo secret; exit 3"
  }
}
resource "terraform_data" "b" {
  provisioner "local-exec" {
    when    = destroy
    command = "false"
  }
}
"""
CAUSE = 'provisioner "local-exec" (main.tf:7) failed: exit status 3'


@pytest.fixture(autouse=True)
def failed(tmp_path: Path, planner, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("main.tf").write_text(CONFIGURATION)
    assert planner("apply", "-auto-approve").code == 1


def test_why_names_the_provisioner(planner):
    first = f"terraform_data.a is replaced: {CAUSE}\n  To keep it: planner untaint terraform_data.a\n"
    assert planner("why", "terraform_data.a").out == first
    plan = [json.loads(line) for line in planner("plan", "-json", "-explain=line").out.splitlines()]
    (change,) = [line["change"] for line in plan if line["type"] == "planned_change"]
    (root,) = change["root_causes"]
    assert (root["kind"], root["origin"]) == ("replace_because_tainted", CAUSE)
    assert f"  # because {CAUSE}\n" in planner("plan", "-explain=line", "-no-color").out
    assert planner("plan", "-out=saved").code == 0
    assert planner("why", "terraform_data.a", "-plan=saved").out == first


def test_the_record_has_no_output_of_commands(tmp_path: Path):
    (record,) = [path for path in tmp_path.iterdir() if "taints" in path.name]
    assert "secret" not in record.read_text()


def test_what_is_not_tainted_any_more_has_no_cause(planner):
    Path("main.tf").write_text(CONFIGURATION.replace("exit 3", "exit 0"))
    assert planner("apply", "-auto-approve").code == 0
    assert planner("taint", "terraform_data.b").code == 0
    assert CAUSE not in planner("why", "terraform_data.b").out
    assert planner("untaint", "terraform_data.b").code == 0
    assert planner("destroy", "-auto-approve").code == 1  # a provisioner that fails at the end taints nothing
    assert "terraform_data.b" not in "".join(path.read_text() for path in Path().iterdir() if "taints" in path.name)


def test_a_moved_object(planner):
    text = CONFIGURATION.replace('"a"', '"c"') + "moved {\n  from = terraform_data.a\n  to = terraform_data.c\n}\n"
    Path("main.tf").write_text(text)
    assert CAUSE in planner("why", "terraform_data.c").out


def test_a_record_of_another_state_or_none(tmp_path: Path, planner):
    (record,) = [path for path in tmp_path.iterdir() if "taints" in path.name]
    record.write_text("{}")
    out = planner("why", "terraform_data.a").out
    assert out.startswith("terraform_data.a is tainted, so it is replaced\n") and "provisioner" not in out


def test_an_unknown_value_leads_to_the_taint(planner):
    Path("main.tf").write_text(CONFIGURATION + 'resource "terraform_data" "c" { input = terraform_data.b.id }\n')
    assert planner("apply", "-auto-approve", "-target=terraform_data.b").code == 0
    assert planner("taint", "terraform_data.b").code == 0
    lines = planner("why", "unknown", "terraform_data.c.input").out.splitlines()
    assert lines[1:] == [
        "  <- terraform_data.b.id: assigned by the provider when the object is created (main.tf:11)",
        "  <- terraform_data.b is tainted, so it is replaced",
        "  To keep it: planner untaint terraform_data.b",
    ]
