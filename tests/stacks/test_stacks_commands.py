"""`planner stacks`: from files to what is installed, checked and laid out."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from cli.conftest import Ran

Planner = Callable[..., Ran]

STACK = """
variable "name" { type = string }
component "a" {
  source = "./m"
  inputs = { name = var.name }
}
stack "s" {
  source = "./s"
  inputs = { name = component.a.id }
}
output "id" {
  type  = string
  value = stack.s.id
}
"""
MODULE = """
variable "name" { type = string }
module "inner" {
  source = "./inner"
  name   = var.name
}
output "id" { value = module.inner.id }
"""
INNER = """
variable "name" { type = string }
resource "terraform_data" "x" { input = var.name }
output "id" { value = terraform_data.x.id }
"""
CHILD = """
variable "name" { type = string }
component "c" {
  source = "../m"
  inputs = { name = var.name }
}
output "id" {
  type  = string
  value = component.c.id
}
"""


@pytest.fixture
def stack(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    files = {
        "x.tfcomponent.hcl": STACK,
        "x.tfdeploy.hcl": 'deployment "dev" { inputs = { name = "n" } }\n',
        "m/main.tf": MODULE,
        "m/inner/main.tf": INNER,
        "s/x.tfcomponent.hcl": CHILD,
    }
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_init_and_validate(stack: Path, planner: Planner) -> None:
    assert "Module not installed" in planner("stacks", "validate").err
    ran = planner("stacks", "init")
    assert ran.code == 0, ran.err
    assert "successfully initialized" in ran.out
    manifest = json.loads((stack / ".terraform/modules/modules.json").read_text())
    assert sorted((m["Key"], m["Dir"]) for m in manifest["Modules"] if m["Key"]) == [
        ("component.a", "m"),
        ("component.a.inner", "m/inner"),
        ("stack.s", "s"),
        ("stack.s.component.c", "m"),
        ("stack.s.component.c.inner", "m/inner"),
    ]
    ran = planner("stacks", "validate")
    assert (ran.code, ran.err) == (0, "") and "The stack is valid." in ran.out
    assert json.loads(planner("stacks", "validate", "-json").out)["valid"] is True
    assert planner("stacks", "init").code == 0  # again is harmless


def test_what_is_wrong_in_modules_and_stacks_is_said_once(stack: Path, planner: Planner) -> None:
    assert planner("stacks", "init").code == 0
    (stack / "m/inner/main.tf").write_text(INNER.replace("var.name", "var.nam"))
    ran = planner("stacks", "validate")
    assert ran.code == 1 and ran.err.count("m/inner/main.tf line 3") == 1
    (stack / "m/inner/main.tf").write_text(INNER)
    (stack / "x.tfcomponent.hcl").write_text(STACK.replace("component.a.id", "component.a.idd"))
    ran = planner("stacks", "validate", "-json")
    (found,) = json.loads(ran.out)["diagnostics"]
    assert ran.code == 1 and found["range"]["filename"] == "x.tfcomponent.hcl"
    assert found["snippet"]["code"].strip() == "inputs = { name = component.a.idd }"
    assert 'Did you mean "id"?' in found["detail"]


def test_a_changed_source_wants_another_init(stack: Path, planner: Planner) -> None:
    assert planner("stacks", "init").code == 0
    (stack / "m").rename(stack / "n")
    for name in ("x.tfcomponent.hcl", "s/x.tfcomponent.hcl"):
        (stack / name).write_text((stack / name).read_text().replace("/m", "/n"))
    assert "Module source has changed" in planner("stacks", "validate").err
    assert planner("stacks", "init").code == 0
    assert planner("stacks", "validate").code == 0


def test_what_is_no_stack(tmp_path: Path, planner: Planner, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for command in ("init", "validate"):
        ran = planner("stacks", command)
        assert ran.code == 1 and "No stack" in ran.err
        ran = planner("stacks", command, "nowhere")
        assert ran.code == 1 and "No such directory" in ran.err
        assert planner("stacks", command, "a", "b").code == 1
    ran = planner("stacks", "providers-lock", "-fs-mirror=a", "-net-mirror=b")
    assert ran.code == 1 and "Conflicting options" in ran.err


def test_providers_are_selected_and_locked(stack: Path, planner: Planner) -> None:
    text = 'terraform {\n  required_providers {\n    box = { source = "example.com/acme/box" }\n  }\n}\n'
    for name, more in {"m/inner/p.tf": 'resource "box_thing" "t" {}\n', "m/p.tf": ""}.items():
        (stack / name).write_text(text + more)
    provider = 'required_providers {\n  box = { source = "example.com/acme/box", version = "~> 1.2" }\n}\n'
    provider += 'provider "box" "this" {}\n'
    for name in ("x.tfcomponent.hcl", "s/x.tfcomponent.hcl"):
        whole = (stack / name).read_text().replace('/m"\n', '/m"\n  providers = { box = provider.box.this }\n')
        (stack / name).write_text(provider + whole)
    (stack / "mirror").mkdir()
    ran = planner("stacks", "init", "-plugin-dir=mirror")
    assert ran.code == 1 and "example.com/acme/box" in ran.err
    ran = planner("stacks", "providers-lock", "-fs-mirror=mirror", "-platform=linux_amd64")
    assert ran.code == 1 and "example.com/acme/box" in ran.err
    ran = planner("stacks", "validate")
    assert ran.code == 1 and "planner stacks init" in ran.err


def test_fmt(stack: Path, planner: Planner) -> None:
    (stack / "x.tfdeploy.hcl").write_text('deployment "dev" {\ninputs = {name="n"}\n}\n')
    ran = planner("stacks", "fmt", "-check")
    assert ran.code == 3 and ran.out.split() == ["x.tfdeploy.hcl"]
    assert planner("stacks", "fmt").code == 0
    assert (stack / "x.tfdeploy.hcl").read_text() == 'deployment "dev" {\n  inputs = { name = "n" }\n}\n'
    assert "Not a stack file" in planner("stacks", "fmt", "m/main.tf").err


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (STACK.replace("var.name }\n}\nstack", "stack.s.id }\n}\nstack"), "waits for itself"),
        (STACK + "locals {\n  a = local.b\n  b = local.a\n}\n", "local.a waits for itself"),
        (STACK + 'locals { a = tonumber("x") }\n', "Invalid function argument"),
        (STACK.replace("value = stack.s.id", "value = { a = 1 }"), "Invalid output value"),
        (
            STACK.replace("inputs = { name = var.name }", "inputs = { name = { a = var.name } }"),
            "Invalid value for input",
        ),
        (STACK.replace('component "a" {', 'component "a" {\n  for_each = 1'), "Invalid for_each argument"),
    ],
)
def test_what_is_wrong_whatever_the_inputs_are(text: str, said: str, stack: Path, planner: Planner) -> None:
    assert planner("stacks", "init").code == 0
    (stack / "x.tfcomponent.hcl").write_text(text)
    ran = planner("stacks", "validate")
    assert ran.code == 1 and said in " ".join(ran.err.split()), ran.out + ran.err
    assert ran.err.count("Error: ") == 1
