"""Whole runs of the command line with a provider plugin: what users do, and what goes wrong with plugins."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
from conformance import forked
from provider.plugins import ROOT, SOURCE, is_alive, override, pids
from thinned import thinned

REQUIRED = f'terraform {{\n  required_providers {{\n    test = {{ source = "{SOURCE}" }}\n  }}\n}}\n'
EVERYTHING = """
variable "region" { default = "eu" }
variable "size" { default = 3.5 }
resource "test_thing" "a" {
  name        = "a"
  size        = var.size
  tags        = { x = "y" }
  zones       = ["b", "a"]
  secret      = "s3cret"
  region      = var.region
  anything    = { k = [1, "two"] }
  password_wo = "pw"
  limit { most = 1e30 }
  rule { port = 1 }
  rule { port = 2 }
  label {
    key   = "k"
    value = "v"
  }
}
resource "test_thing" "b" {
  name = "b-${test_thing.a.id}"
  note = "mine"
}
data "test_thing" "d" {
  id = test_thing.b.id
}
output "d" { value = data.test_thing.d.name }
output "double" { value = provider::test::double(1, 2) }
"""
NESTED = """
resource "test_thing" "n" {
  name      = "n"
  endpoint  = { host = "h" }
  listeners = [{ host = "l", port = 1 }]
  peers     = [{ host = "p", port = 2 }]
  routes    = { r = { host = "r", port = 3 } }
  disk "d" { gigabytes = 0.1 }
  place { row = 1 }
}
"""


class Project:
    """A working directory with the plugin as an override."""

    def __init__(self, folder: Path, world: Path) -> None:
        self.folder, self.world = folder, world

    def write(self, text: str, name: str = "main.tf") -> None:
        (self.folder / name).write_text(REQUIRED + text if name == "main.tf" else text)

    def run(self, *words: str, code: int | None = 0) -> subprocess.CompletedProcess[str]:
        done = forked.run(words, self.folder, {**os.environ, "PYTHONPATH": str(ROOT)})
        assert code is None or done.returncode == code, done.stdout + done.stderr
        assert not any(map(is_alive, pids(self.world) if (self.world / "started").exists() else []))
        return done

    def actions(self, *words: str) -> dict[str, list[str]]:
        self.run("plan", "-out=plan", *words)
        changes = json.loads(self.run("show", "-json", "plan").stdout)["resource_changes"]
        return {c["address"]: c["change"]["actions"] for c in changes if c["change"]["actions"] != ["no-op"]}

    def attributes(self, address: str) -> dict[str, Any]:
        return dict(self.instance(address)["attributes"])

    def instance(self, address: str) -> dict[str, Any]:
        state = json.loads((self.folder / "terraform.tfstate").read_text())
        (found,) = [r for r in state["resources"] if f"{r['type']}.{r['name']}" == address and r["mode"] == "managed"]
        return dict(found["instances"][0])

    def object(self, id: str) -> Path:
        return self.world / f"{id}.json"


@pytest.fixture(params=[6])
def project(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Project:
    world = override(monkeypatch, tmp_path, request.param)
    folder = tmp_path / "project"
    folder.mkdir()
    return Project(folder, world)


@pytest.mark.parametrize("project", thinned([6, 5], 2), indirect=True)
def test_the_life_of_objects(project: Project) -> None:
    project.write(EVERYTHING)
    project.run("init")
    applied = project.run("apply", "-auto-approve", "-no-color")
    assert "2 added, 0 changed, 0 destroyed" in applied.stdout and "s3cret" not in applied.stdout
    assert json.loads(project.run("output", "-json").stdout)["double"]["value"] == 6
    a = project.instance("test_thing.a")
    assert a["private"] == "cHJpdmF0ZSAA/w==" and a["schema_version"] == 1
    assert a["attributes"]["size"] == 3.5 and a["attributes"]["zones"] == ["a", "b"]
    assert a["attributes"]["limit"] == {"most": 10**30}
    assert a["attributes"]["password_wo"] is None and (project.world / "password").read_text() == "pw"
    assert [rule["made"] for rule in a["attributes"]["rule"]] == ["made", "made"]
    secret = [path[0]["value"] for path in a["sensitive_attributes"]]
    assert sorted(secret) == ["secret", "token"]
    assert project.actions() == {}

    assert project.actions("-var=size=4") == {"test_thing.a": ["update"]}
    project.run("apply", "plan")
    assert project.attributes("test_thing.a")["size"] == 4

    shown = project.run("plan", "-no-color", "-var=size=4", "-var=region=us").stdout
    assert "must be replaced" in shown and '"eu" -> "us" # forces replacement' in shown
    project.run("apply", "-auto-approve", "-var=size=4", "-var=region=us")
    assert project.attributes("test_thing.a")["region"] == "us"

    project.object("thing-a").write_text(project.object("thing-a").read_text().replace('"us"', '"elsewhere"'))
    assert "has changed" in project.run("plan", "-no-color", "-refresh-only").stdout
    project.object("thing-b-thing-a").unlink()
    found = project.actions("-var=size=4", "-var=region=us")
    assert found["test_thing.b"] == ["create"] and found["test_thing.a"] == ["delete", "create"]
    project.run("apply", "plan")

    project.run("destroy", "-auto-approve")
    assert not list(project.world.glob("thing-*.json"))


def test_nested_attributes_and_all_kinds_of_blocks(project: Project) -> None:
    project.write(NESTED)
    project.run("apply", "-auto-approve")
    found = project.attributes("test_thing.n")
    assert found["endpoint"] == {"host": "h", "port": 80}
    assert found["listeners"] == [{"host": "l", "port": 1}] and found["peers"] == [{"host": "p", "port": 2}]
    assert found["routes"] == {"r": {"host": "r", "port": 3}}
    assert (found["disk"], found["place"], found["limit"]) == ({"d": {"gigabytes": 0.1}}, {"row": 1}, None)
    assert project.actions() == {}


def test_each_configuration_has_a_process_of_its_own(project: Project) -> None:
    project.write(
        'provider "test" { prefix = "one" }\nprovider "test" {\n  alias = "two"\n  prefix = "two"\n}\n'
        'resource "test_thing" "a" { name = "x" }\n'
        'resource "test_thing" "b" {\n  provider = test.two\n  name = "x"\n}\n'
    )
    project.run("apply", "-auto-approve")
    assert project.attributes("test_thing.a")["id"] == "one-x"
    assert project.attributes("test_thing.b")["id"] == "two-x"


@pytest.mark.slow
def test_import_block_and_command(project: Project) -> None:
    project.write('resource "test_thing" "a" { name = "a" }\n')
    project.run("apply", "-auto-approve")
    (project.folder / "terraform.tfstate").unlink()
    project.run("import", "test_thing.a", "thing-a")
    assert project.actions() == {}
    (project.folder / "terraform.tfstate").unlink()
    project.write('import {\n  to = test_thing.a\n  id = "thing-a"\n}\n', "import.tf")
    applied = project.run("apply", "-auto-approve", "-no-color")
    assert "1 imported, 0 added" in applied.stdout
    project.write('import {\n  to = test_thing.a\n  id = "nothing"\n}\n', "import.tf")
    (project.folder / "terraform.tfstate").unlink()
    assert "Error: Nothing to import" in project.run("plan", "-no-color", code=1).stderr


def test_an_old_state_is_upgraded(project: Project) -> None:
    project.write('resource "test_thing" "a" { name = "a" }\n')
    project.run("apply", "-auto-approve")
    path = project.folder / "terraform.tfstate"
    state = json.loads(path.read_text())
    instance = state["resources"][0]["instances"][0]
    instance["schema_version"] = 0
    instance["attributes"]["title"] = instance["attributes"].pop("name")
    path.write_text(json.dumps(state))
    assert project.actions() == {}
    instance["schema_version"] = 2
    path.write_text(json.dumps(state))
    assert "newer provider version" in project.run("plan", code=1).stderr


@pytest.mark.parametrize(
    ("fail", "command", "summary", "line"),
    [
        ("validate", "validate", "Bad name", 'name = "a"'),
        ("validate-rule", "validate", "Bad port", "port = 7"),
        ("plan", "plan", "No plan", 'name = "a"'),
        ("apply", "apply", "No luck", 'name = "a"'),
        ("bad-plan", "plan", "Provider produced invalid plan", ""),
        ("inconsistent", "apply", "Provider produced inconsistent result after apply", ""),
        ("crash-plan", "plan", "Provider plugin failed", ""),
        ("crash-apply", "apply", "Provider plugin failed", ""),
    ],
)
def test_errors(project: Project, fail: str, command: str, summary: str, line: str) -> None:
    project.write(f'resource "test_thing" "a" {{\n  name = "a"\n  fail = "{fail}"\n  rule {{\n    port = 7\n  }}\n}}\n')
    words = (command, "-no-color", *(["-auto-approve"] if command == "apply" else []))
    ran = project.run(*words, code=1)
    assert f"Error: {summary}" in ran.stdout + ran.stderr
    assert line in ran.stdout + ran.stderr
    if fail.startswith("crash"):
        assert "exit status 2" in ran.stderr and "panic: the test wants it" in ran.stderr and SOURCE in ran.stderr
    assert "Traceback" not in ran.stderr


@pytest.mark.parametrize("command", ["validate", "plan"])
def test_a_plugin_that_does_not_start_is_reported_once_and_not_started_for_each_object(
    project: Project, command: str
) -> None:
    program = project.folder.parent / "bin" / "terraform-provider-test"
    program.write_text("#!/bin/sh\necho started >>starts\nexit 3\n")
    project.write("".join(f'resource "test_thing" "r{n}" {{ name = "a" }}\n' for n in range(5)))
    ran = project.run(command, "-no-color", code=1)
    assert (ran.stdout + ran.stderr).count("Error: ") == 1 and "exit status 3" in ran.stderr
    assert len((project.folder / "starts").read_text().split()) <= 2, "in advance, and when it is needed"


def test_a_failed_creation_leaves_a_tainted_object(project: Project) -> None:
    project.write('resource "test_thing" "a" {\n  name = "a"\n  fail = "partial"\n}\n')
    assert "Half done" in project.run("apply", "-auto-approve", code=1).stderr
    assert project.instance("test_thing.a")["status"] == "tainted"
    assert project.actions() == {"test_thing.a": ["delete", "create"]}


def test_a_crash_while_updating_keeps_the_object(project: Project) -> None:
    project.write('resource "test_thing" "a" {\n  name = "a"\n}\n')
    project.run("apply", "-auto-approve")
    before = project.instance("test_thing.a")
    project.write('resource "test_thing" "a" {\n  name = "a"\n  fail = "crash-apply"\n}\n')
    project.run("apply", "-auto-approve", code=1)
    assert project.instance("test_thing.a") == before


def test_warnings_are_shown_once_and_overrides_are_said(project: Project) -> None:
    project.write('resource "test_thing" "a" {\n  name = "a"\n  fail = "warn"\n}\n')
    ran = project.run("apply", "-no-color", "-auto-approve")
    text = ran.stdout + ran.stderr
    assert text.count("Provider development overrides are in effect") == 1 and f"  - {SOURCE} in " in text


def test_ephemeral_resources(project: Project) -> None:
    project.write(
        'ephemeral "test_token" "t" { name = "renewed" }\n'
        'resource "test_thing" "a" {\n  name = "a"\n  password_wo = ephemeral.test_token.t.value\n'
        '  provisioner "local-exec" { command = "sleep 0.5" }\n}\n'
    )
    project.run("validate")
    shown = project.run("apply", "-auto-approve").stdout
    for phase in ("Opening...", "Open complete", "Renew complete", "Closing...", "Close complete"):
        assert f"ephemeral.test_token.t: {phase}" in shown
    assert (project.world / "password").read_text() == "opened"
    assert "opened" not in (project.folder / "terraform.tfstate").read_text()
    happened = (project.world / "ephemeral").read_text().splitlines()
    assert happened[-3:] == ["open", "renew open", "close renewed"]
    assert happened.count("open") == 2  # once for the plan


def test_an_ephemeral_resource_that_cannot_be_opened(project: Project) -> None:
    project.write('ephemeral "test_token" "t" { name = "locked" }\n')
    assert "Error: Locked" in project.run("plan", "-no-color", code=1).stderr


def test_what_is_open_is_closed_after_a_failure(project: Project) -> None:
    project.write(
        'ephemeral "test_token" "t" { name = "x" }\n'
        'resource "test_thing" "a" {\n  name = "a"\n  fail = "apply"\n  password_wo = ephemeral.test_token.t.value\n}\n'
    )
    project.run("apply", "-auto-approve", code=1)
    assert (project.world / "ephemeral").read_text().splitlines()[-2:] == ["open", "close open"]


def test_identities(project: Project) -> None:
    project.write('resource "test_named" "a" {\n  name = "n"\n}\n')
    project.run("apply", "-auto-approve")
    recorded = project.instance("test_named.a")
    assert recorded["identity"] == {"name": "n", "region": "here"} and recorded["identity_schema_version"] == 1
    (project.folder / "terraform.tfstate").unlink()
    project.write(
        'import {\n  to = test_named.a\n  identity = { name = "n" }\n}\nresource "test_named" "a" {\n  name = "m"\n}\n'
    )
    project.run("plan", "-out=p")
    (change,) = json.loads(project.run("show", "-json", "p").stdout)["resource_changes"]
    assert change["change"]["importing"] == {"identity": {"name": "n", "region": None}}
    assert change["change"]["before_identity"]["name"] == "n" and change["change"]["after_identity"]["name"] == "m"
    project.run("apply", "p")
    assert project.instance("test_named.a")["identity"]["name"] == "m"


def test_a_provider_that_is_nowhere(project: Project) -> None:
    text = REQUIRED.replace(SOURCE, "example.com/no/where")
    (project.folder / "main.tf").write_text(text + 'resource "test_thing" "a" { name = "a" }\n')
    for command, title, detail in (
        ("init", "Failed to query available provider packages", "example.com/no/where cannot be"),
        ("plan", "Inconsistent dependency lock file", "- example.com/no/where is required, but"),
        ("validate", "Provider not found", "example.com/no/where is not installed on this"),
    ):
        ran = project.run(command, "-no-color", code=1)
        assert f"Error: {title}" in ran.stdout + ran.stderr
        assert detail in ran.stdout + ran.stderr


@pytest.mark.parametrize(("signals", "fail"), [(1, "slow-apply"), (2, "hang-apply")])
def test_interrupts_stop_the_plugin_or_end_it(project: Project, signals: int, fail: str) -> None:
    project.write(f'resource "test_thing" "a" {{\n  name = "a"\n  fail = "{fail}"\n}}\n')
    running = subprocess.Popen(
        [sys.executable, "-m", "planner", "apply", "-auto-approve", "-no-color"],
        cwd=project.folder,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    waited = project.world / ("slow" if signals == 1 else "hanging")
    limit = time.monotonic() + 20
    while not waited.exists():
        assert time.monotonic() < limit and running.poll() is None
        time.sleep(0.02)
    for _ in range(signals):
        running.send_signal(signal.SIGINT)
        time.sleep(0.5)
    out, _ = running.communicate(timeout=20)
    assert (project.world / "stopped").exists()
    if signals == 1:
        assert project.attributes("test_thing.a")["id"] == "thing-a", out
    assert running.returncode != 0
    end = time.monotonic() + 5
    while any(map(is_alive, pids(project.world))) and time.monotonic() < end:
        time.sleep(0.02)
    assert not any(map(is_alive, pids(project.world)))


IGNORING = """
variable "rules" {
  type    = list(object({ mask = optional(string) }))
  default = null
}
variable "size" {
  type    = object({ most = optional(number), least = optional(map(object({ n = optional(any) })), {}) })
  default = {}
}
resource "test_thing" "t" {
  name     = "t"
  anything = { rules = var.rules, size = var.size, none = var.size.most }
  rule {
    port = PORT
  }
  lifecycle {
    ignore_changes = [rule["port"]]
  }
}
"""


def test_types_without_optional_attributes_and_ignored_keys_of_lists(project: Project) -> None:
    project.write(IGNORING.replace("PORT", "1"))
    project.run("validate")
    project.run("apply", "-auto-approve")
    project.write(IGNORING.replace("PORT", "2"))
    assert "No changes." in project.run("plan").stdout
    for wrong in ("rule.port", 'label["x"].key', 'rule["x"].nope'):
        project.write(IGNORING.replace('rule["port"]', wrong).replace("PORT", "2"))
        project.run("validate", code=1)
