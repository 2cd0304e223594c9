"""States of a stack in services: `planner.stack.hcl`."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from cli.conftest import Ran
from state.backends.servers import SERVERS, kinds

from planner.workflows.stacks.settings import backend_of

ONE_STATE = {"http", "remote", "kubernetes"}
"""services that keep one state for each configuration, or take no `~` in names"""
Planner = Callable[..., Ran]
STACK = """
variable "zones" { type = set(string) }
component "a" {
  source = "./m"
  inputs = { name = "a" }
}
component "b" {
  for_each = var.zones
  source   = "./m"
  inputs   = { name = "${each.key} ${component.a.name}" }
}
output "names" {
  type  = map(string)
  value = { for k, b in component.b : k => b.name }
}
"""
MODULE = """
variable "name" { type = string }
resource "terraform_data" "x" { input = var.name }
output "name" { value = terraform_data.x.output }
"""


@pytest.mark.parametrize("kind", kinds(*sorted(set(SERVERS) - ONE_STATE - {"inmem"}), quick=("pg",)))
def test_states_in_services(kind: str, tmp_path: Path, planner: Planner, monkeypatch: pytest.MonkeyPatch) -> None:
    server = SERVERS[kind]()
    for name, value in server.environment.items():
        monkeypatch.setenv(name, value)
    lines = "".join(f"  {name} = {json.dumps(value)}\n" for name, value in server.settings().items())
    (tmp_path / "planner.stack.hcl").write_text(f'backend "{kind}" {{\n{lines}}}\n')
    (tmp_path / "m").mkdir()
    (tmp_path / "m" / "main.tf").write_text(MODULE)
    (tmp_path / "x.tfcomponent.hcl").write_text(STACK)
    (tmp_path / "x.tfdeploy.hcl").write_text('deployment "d" { inputs = { zones = ["eu", "us"] } }\n')
    monkeypatch.chdir(tmp_path)
    assert planner("stacks", "init").code == 0
    ran = planner("stacks", "apply", "-auto-approve")
    assert ran.code == 0, ran.out + ran.err
    assert not (tmp_path / "stack-states").exists()
    found = set(backend_of(".").workspaces())
    assert {"d", "d.a", "d.b~eu", "d.b~us"} <= found
    assert json.loads(planner("stacks", "output", "-json").out)["d"]["names"]["value"] == {"eu": "eu a", "us": "us a"}
    assert "no changes." in planner("stacks", "plan").out
    eu = 'component.b["eu"].terraform_data'
    assert planner("stacks", "state", "list").out.splitlines()[1] == f"{eu}.x"
    assert planner("stacks", "state", "mv", f"{eu}.x", f"{eu}.y").code == 0
    assert '"eu a"' in planner("stacks", "state", "show", f"{eu}.y").out
    assert planner("stacks", "state", "mv", f"{eu}.y", f"{eu}.x").code == 0
    assert "component.a:" in planner("stacks", "show").out
    ran = planner("stacks", "destroy", "-auto-approve")
    lines_ = [line for line in ran.out.splitlines() if "Destruction complete" in line]
    assert ran.code == 0 and lines_[-1].startswith("component.a:"), ran.out + ran.err
    assert not {"d.a", "d.b~eu", "d.b~us"} & set(backend_of(".").workspaces())


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "must have exactly one backend block"),
        ('backend "local" {}\nbackend "local" {}\n', "must have exactly one backend block"),
        ('backend "what" {}\n', 'There is no backend type named "what"'),
        ('backend "pg" { what = 1 }\n', "what"),
        ('backend "pg" { conn_str = var.x }\n', "Variables not allowed"),
        ("state {}\n", "Unsupported block type"),
    ],
)
def test_what_is_wrong_in_the_file(
    text: str, said: str, tmp_path: Path, planner: Planner, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "planner.stack.hcl").write_text(text)
    (tmp_path / "x.tfcomponent.hcl").write_text("")
    (tmp_path / "x.tfdeploy.hcl").write_text('deployment "d" { inputs = {} }\n')
    monkeypatch.chdir(tmp_path)
    ran = planner("stacks", "plan")
    assert ran.code == 1 and said in " ".join(ran.err.split())
