"""A data source that is read while applying: `why` names what changes first, and the modules it waits for."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

EMPTY = '{"version": 4, "terraform_version": "1.9.0", "serial": 1, "lineage": "x", "outputs": {}, "resources": []}'
READ = """
data "terraform_remote_state" "d" {
  backend = "local"
  config  = { path = "${path.root}/x.tfstate" }
  %s
}
"""
MODULE = """
variable "v" {}
resource "terraform_data" "a" { input = var.v }
resource "terraform_data" "b" {
  count = 5
  input = count.index < 3 ? "${var.v}" : "same"
}
resource "terraform_data" "c" { input = "same" }
"""
VARIABLE = 'variable "v" { default = 1 }\n'
CALL = 'module "m" {\n  source = "./m"\n  v      = var.v\n}\n'


@pytest.fixture
def waiting(tmp_path: Path, planner, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "x.tfstate").write_text(EMPTY)

    def play(main: str, module: str, name: str, inner: str = "") -> str:
        for folder, text in (("", main), ("m", module), ("inner", inner)):
            (tmp_path / folder).mkdir(exist_ok=True)
            (tmp_path / folder / "main.tf").write_text(text)
        assert planner("init").code == 0
        assert planner("apply", "-auto-approve").code == 0
        return planner("why", name, "-var=v=2").out.partition("\n")[0].partition("): ")[2]

    return play


def test_all_objects_of_a_module(waiting, planner):
    said = waiting(VARIABLE + CALL + READ % "depends_on = [module.m]", MODULE, "data.terraform_remote_state.d")
    assert said == (
        "module.m.terraform_data.a, module.m.terraform_data.b[0], module.m.terraform_data.b[1], "
        "module.m.terraform_data.b[2] change first; it waits for all objects of module.m (depends_on)"
    ).replace(", module.m.terraform_data.b[2]", " and module.m.terraform_data.b[2]")
    document = json.loads(planner("why", "data.terraform_remote_state.d", "-var=v=2", "-json").out)
    rows = {tuple(step["tuple"][:2]) for step in document["proofs"].values()}
    assert ("awaited_changes", "data.terraform_remote_state.d") in rows


def test_a_single_resource(waiting):
    main = VARIABLE + 'resource "terraform_data" "r" { input = var.v }\n' + READ % "depends_on = [terraform_data.r]"
    assert waiting(main, "", "data.terraform_remote_state.d") == "terraform_data.r changes first"


def test_the_depends_on_of_the_call_around_it(waiting):
    calls = CALL + 'module "i" {\n  source = "./inner"\n  depends_on = [module.m]\n}\n'
    said = waiting(VARIABLE + calls, MODULE.replace("count = 5", "count = 1"), INNER, READ % "")
    assert said.endswith("b[0] change first; module.i waits for all objects of module.m (depends_on)")


INNER = "module.i.data.terraform_remote_state.d"


def test_other_instances_of_its_module_do_not_count(waiting):
    main = VARIABLE + 'module "m" {\n  source = "./m"\n  for_each = { x = var.v, y = var.v }\n  v = each.value\n}\n'
    module = (
        'variable "v" {}\nresource "terraform_data" "r" { input = var.v }\n' + READ % "depends_on = [terraform_data.r]"
    )
    name = 'module.m["x"].data.terraform_remote_state.d'
    assert waiting(main, module, name) == 'module.m["x"].terraform_data.r changes first'
