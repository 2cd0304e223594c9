"""Providers of stacks with a real plugin: configurations by key, from values, and unknown until others are applied."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from cli.conftest import Ran
from provider.plugins import SOURCE, is_alive, override, pids, write_plugin

from planner.world.provider.locate import own_platform
from planner.world.provider.plugin.process import end_all

Planner = Callable[..., Ran]
REQUIRED = f'required_providers {{\n  test = {{ source = "{SOURCE}" }}\n}}\n'
THING = f"""
terraform {{
  required_providers {{
    test = {{ source = "{SOURCE}" }}
  }}
}}
variable "name" {{ type = string }}
resource "test_thing" "t" {{ name = var.name }}
output "id" {{ value = test_thing.t.id }}
"""
PLAIN = """
variable "name" { type = string }
resource "terraform_data" "x" { input = var.name }
output "id" { value = terraform_data.x.id }
"""
LATER = """
component "plain" {
  source = "./plain"
  inputs = { name = "p" }
}
provider "test" "late" {
  config { prefix = substr(component.plain.id, 0, 0) == "" ? "late" : component.plain.id }
}
component "thing" {
  source    = "./thing"
  inputs    = { name = "t" }
  providers = { test = provider.test.late }
}
"""
KEYS = """
variable "names" { type = set(string) }
provider "test" "by" {
  for_each = var.names
  config { prefix = "for-${each.key}" }
}
component "thing" {
  for_each  = var.names
  source    = "./thing"
  inputs    = { name = each.value }
  providers = { test = provider.test.by[each.key] }
}
"""


@pytest.fixture
def world(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    found = override(monkeypatch, tmp_path)
    folder = tmp_path / "stack"
    for name, text in {"plain": PLAIN, "thing": THING}.items():
        (folder / name).mkdir(parents=True)
        (folder / name / "main.tf").write_text(text)
    monkeypatch.chdir(folder)
    return found


def write(component: str, inputs: str) -> None:
    Path("x.tfcomponent.hcl").write_text(REQUIRED + component)
    Path("x.tfdeploy.hcl").write_text(f'deployment "d" {{ inputs = {inputs} }}\n')


def run(planner: Planner, world: Path, *words: str, code: int = 0) -> str:
    ran = planner("stacks", *words)
    assert ran.code == code, ran.out + ran.err
    end_all()  # as at the end of a process
    assert not any(map(is_alive, pids(world) if (world / "started").exists() else []))
    return ran.out + ran.err


def configured(world: Path) -> set[str]:
    lines = (world / "configured").read_text().splitlines()
    return {json.loads(line) or "" for line in lines}


def test_a_configuration_that_is_not_known_yet_defers(world: Path, planner: Planner) -> None:
    write(LATER, "{}")
    run(planner, world, "init")
    assert "is valid" in run(planner, world, "validate")
    text = " ".join(run(planner, world, "plan").split())
    assert "component.thing is deferred: the configuration of provider.test.late is not known yet." in text
    text = run(planner, world, "why", "deferred", "component.thing")
    assert "x.tfcomponent.hcl:10" in text and "component.plain" in text
    assert "d: 2 added, 0 changed, 0 destroyed." in run(planner, world, "apply", "-auto-approve")
    assert "late" in configured(world)
    assert "no changes." in run(planner, world, "plan")
    assert "2 destroyed." in run(planner, world, "destroy", "-auto-approve")


def test_configurations_by_key(world: Path, planner: Planner) -> None:
    write(KEYS, '{ names = ["a", "b"] }')
    run(planner, world, "init")
    assert "d: 2 added" in run(planner, world, "apply", "-auto-approve")
    assert configured(world) == {"for-a", "for-b"}
    (world / "configured").unlink()
    removed = """
removed {
  for_each  = toset(["b"])
  from      = component.thing[each.key]
  source    = "./thing"
  inputs    = { name = each.key }
  providers = { test = provider.test.gone }
}
provider "test" "gone" {
  config { prefix = "gone" }
}
"""
    write(KEYS + removed, '{ names = ["a"] }')
    run(planner, world, "init")
    assert "1 destroyed." in run(planner, world, "apply", "-auto-approve")
    assert configured(world) == {"for-a", "gone"}


def test_a_configuration_that_is_wrong(world: Path, planner: Planner) -> None:
    write(KEYS.replace('prefix = "for-${each.key}"', "nothing = 1"), '{ names = ["a"] }')
    run(planner, world, "init")
    assert "Unsupported argument" in run(planner, world, "plan", code=1)
    write(KEYS.replace("by[each.key]", 'by["x"]'), '{ names = ["a"] }')
    assert "No such provider configuration" in run(planner, world, "plan", code=1)


def test_what_is_removed_waits_for_the_configuration_of_its_provider(world: Path, planner: Planner) -> None:
    plain, rest = LATER[: LATER.index("provider ")], LATER[LATER.index("provider ") :]
    late, thing = rest[: rest.index("component ")], rest[rest.index("component ") :]
    write('provider "test" "late" {\n  config { prefix = "early" }\n}\n' + thing, "{}")
    run(planner, world, "init")
    assert "d: 1 added" in run(planner, world, "apply", "-auto-approve")
    (world / "configured").unlink()
    removed = thing.replace('component "thing" {', "removed {\n  from = component.thing")
    write(plain + late + removed, "{}")
    run(planner, world, "init")
    text = " ".join(run(planner, world, "plan").split())
    assert "component.thing is deferred: the configuration of provider.test.late is not known yet." in text
    assert "the configuration of provider.test.late is not known yet" in run(
        planner, world, "why", "deferred", "component.thing"
    )
    assert "d: 1 added, 0 changed, 1 destroyed." in run(planner, world, "apply", "-auto-approve")
    assert configured(world) == {"late"}


def test_advice_is_about_stacks(tmp_path: Path, planner: Planner, monkeypatch: pytest.MonkeyPatch) -> None:
    write_plugin(tmp_path / "mirror" / SOURCE / "1.0.0" / own_platform())
    folder = tmp_path / "stack"
    (folder / "thing").mkdir(parents=True)
    (folder / "thing" / "main.tf").write_text(THING)
    monkeypatch.chdir(folder)
    write(KEYS, '{ names = ["a"] }')
    ran = planner("stacks", "init", f"-plugin-dir={tmp_path}/mirror")
    assert ran.code == 0, ran.err
    assert "planner stacks providers-lock -platform=OS_ARCH" in ran.out + ran.err
    shutil.rmtree(folder / ".terraform" / "providers")
    ran = planner("stacks", "plan")
    assert ran.code == 1 and "planner stacks init" in ran.err and "planner init" not in ran.err
