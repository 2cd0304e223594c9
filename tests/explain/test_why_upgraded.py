"""An object that changes with the version of its provider: the lock file now, and what it was last applied with."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest
from provider.plugins import attached, write_plugin

CONFIGURATION = """
terraform {
  required_providers {
    test = { source = "example.com/test/test" }
  }
}
variable "size" { default = 1 }
resource "test_thing" "a" {
  name = "a"
  size = var.size
}
"""
LOCKED = """provider "example.com/test/test" {
  version = "%s"
}
"""
LOCK = Path(".terraform.lock.hcl")


@pytest.fixture(autouse=True)
def applied(tmp_path: Path, planner, monkeypatch):
    """An apply with version 1.0.0; then the provider is 1.1.0, and decides something anew."""
    monkeypatch.chdir(tmp_path)
    Path("main.tf").write_text(CONFIGURATION)
    LOCK.write_text(LOCKED % "1.0.0")
    (tmp_path / "world").mkdir()
    plugin = {"test": write_plugin(tmp_path / "bin")}
    with attached(plugin, TEST_PROVIDER_WORLD=str(tmp_path / "world")) as reattach:
        monkeypatch.setenv("TF_REATTACH_PROVIDERS", reattach)
        assert planner("apply", "-auto-approve").code == 0
    with attached(plugin, TEST_PROVIDER_WORLD=str(tmp_path / "world"), TEST_PROVIDER_UPGRADED="1") as reattach:
        monkeypatch.setenv("TF_REATTACH_PROVIDERS", reattach)
        yield


def roots(planner, *options: str) -> list[tuple[str, ...]]:
    plan = [json.loads(line) for line in planner("plan", "-json", "-explain=line", *options).out.splitlines()]
    (change,) = [line["change"] for line in plan if line["type"] == "planned_change"]
    names = ("kind", "what", "before", "value")
    return [tuple(str(root.get(name, "")) for name in names) for root in change.get("root_causes", [])]


UPGRADED = ("provider-version", "provider example.com/test/test", "1.0.0", "1.1.0")


def test_the_versions_are_named(planner):
    LOCK.write_text(LOCKED % "1.1.0")
    assert roots(planner) == [UPGRADED]
    out = planner("why", "test_thing.a").out
    assert "the version of provider example.com/test/test was 1.0.0 at the last apply and is now 1.1.0" in out
    assert "<- provider example.com/test/test 1.0.0 -> 1.1.0 (.terraform.lock.hcl:2)" in out


def test_what_is_configured_comes_first(planner):
    LOCK.write_text(LOCKED % "1.1.0")
    assert roots(planner, "-var=size=2") == [("variable", "var.size", "1", '"2"')]


def test_the_same_version_is_no_cause(planner):
    assert UPGRADED[0] not in {root[0] for root in roots(planner)}


def test_the_lock_file_in_git(planner):
    for words in (["init", "-q"], ["add", ".terraform.lock.hcl", "main.tf"], ["commit", "-qm", "first"]):
        subprocess.run(["git", "-c", "user.name=x", "-c", "user.email=x@x", *words], check=True)
    for path in Path().glob(".*applied*"):
        path.unlink()
    LOCK.write_text(LOCKED % "1.1.0")
    assert roots(planner) == [UPGRADED]
