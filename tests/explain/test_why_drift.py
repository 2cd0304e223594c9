"""Objects that were changed outside: the attributes that drifted, with their values before and after."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from provider.plugins import attached, write_plugin

CONFIGURATION = """
terraform {
  required_providers {
    test = { source = "example.com/test/test" }
  }
}
resource "test_thing" "a" {
  name = "a"
  size = 1
  tags = { t = "one", u = "same" }
}
resource "terraform_data" "note" { input = test_thing.a.note }
"""


@pytest.fixture
def world(tmp_path: Path, planner, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "main.tf").write_text(CONFIGURATION)
    things = tmp_path / "world"
    things.mkdir()
    plugin = {"test": write_plugin(tmp_path / "bin")}
    with attached(plugin, TEST_PROVIDER_WORLD=str(things)) as reattach:
        monkeypatch.setenv("TF_REATTACH_PROVIDERS", reattach)
        assert planner("apply", "-auto-approve").code == 0

        def change(**values: object) -> None:
            path = things / "thing-a.json"
            path.write_text(json.dumps(json.loads(path.read_text()) | values))

        yield change


def test_a_cause_has_the_value_before_and_after(world, planner):
    world(size=7)
    plan = [json.loads(line) for line in planner("plan", "-json", "-explain=line").out.splitlines()]
    (change,) = [line["change"] for line in plan if line["type"] == "planned_change"]
    (root,) = change["root_causes"]
    assert (root["what"], root["kind"], root["before"], root["value"]) == ("test_thing.a.size", "drift", "1", "7")


def test_why_drift_names_the_attributes(world, planner):
    world(size=7, tags={"t": "two", "u": "same"})
    out = planner("why", "drift", "test_thing.a").out
    assert "size was 1 and is now 7" in out and 'tags["t"] was "one" and is now "two"' in out
    assert "main.tf:9" in out and "main.tf:10" in out and "same" not in out.replace('u = "same"', "")


def test_what_only_the_provider_decides(world, planner):
    world(note="edited")
    out = planner("why", "terraform_data.note").out
    assert '<- test_thing.a.note "by the provider" -> "edited" (state, changed outside planner)' in out


def test_what_is_sensitive_is_not_shown(world, planner, tmp_path: Path):
    (tmp_path / "main.tf").write_text(
        CONFIGURATION + 'output "t" {\n  value = test_thing.a.token\n  sensitive = true\n}\n'
    )
    assert planner("apply", "-auto-approve").code == 0
    world(token="SECRET")
    for words in (("why", "drift", "test_thing.a"), ("why", "output.t"), ("plan", "-json", "-explain=line"), ("plan",)):
        ran = planner(*words)
        assert ran.code == 0 and "SECRET" not in ran.out + ran.err, words
    assert "token was (sensitive value) and is now (sensitive value)" in planner("why", "drift", "test_thing.a").out
