"""`stacks from-modules`: what becomes of a root module, proven and written; and what has no place in a stack."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from cli.conftest import Ran
from provider.plugins import SOURCE, override
from state.test_state_lock import holding

from planner.world.provider.plugin.process import end_all

Planner = Callable[..., Ran]
ROOT = f"""
terraform {{
  required_providers {{
    test = {{ source = "{SOURCE}" }}
  }}
  backend "local" {{ path = "old.tfstate" }}
}}
variable "name" {{}}
variable "zones" {{
  type    = map(object({{ size = number, note = optional(string, "n") }}))
  default = {{ a = {{ size = 1 }}, b = {{ size = 2 }} }}
}}
locals {{
  prefix = "p-${{var.name}}"
  ids    = {{ for k, m in module.zone : k => m.id }}
}}
provider "test" {{
  prefix = local.prefix
}}
provider "test" {{
  alias  = "west"
  prefix = "west"
}}
module "net" {{
  source = "./net"
  name   = local.prefix
}}
module "zone" {{
  source   = "./zone"
  for_each = var.zones
  name     = "${{module.net.id}}-${{each.key}}-${{each.value.size}}"
}}
module "west" {{
  source     = "./zone"
  name       = "west"
  providers  = {{ test = test.west }}
  depends_on = [module.zone]
}}
output "ids" {{ value = local.ids }}
output "secret" {{
  value     = module.west.id
  sensitive = true
}}
"""
NET = """
variable "name" { type = string }
resource "terraform_data" "x" { input = var.name }
module "inner" { source = "./inner" }
output "id" { value = terraform_data.x.output }
"""
INNER = 'resource "terraform_data" "deep" { count = 2 }\n'
ZONE = f"""
terraform {{
  required_providers {{
    test = {{ source = "{SOURCE}" }}
  }}
}}
variable "name" {{ type = string }}
resource "test_thing" "t" {{ name = var.name }}
resource "terraform_data" "after" {{ input = test_thing.t.id }}
output "id" {{ value = test_thing.t.id }}
"""


@pytest.fixture
def folder(tmp_path: Path, planner: Planner, monkeypatch: pytest.MonkeyPatch) -> Path:
    override(monkeypatch, tmp_path)
    made = tmp_path / "root"
    for name, text in {"main.tf": ROOT, "net/main.tf": NET, "net/inner/main.tf": INNER, "zone/main.tf": ZONE}.items():
        (made / name).parent.mkdir(parents=True, exist_ok=True)
        (made / name).write_text(text)
    (made / "terraform.tfvars").write_text('name = "n${1 + 1}"\n')
    monkeypatch.chdir(made)
    assert planner("init").code == 0
    return made


def test_a_root_module_becomes_a_stack(folder: Path, planner: Planner) -> None:
    applied = planner("apply", "-auto-approve")
    assert applied.code == 0, applied.err
    ids = json.loads(planner("output", "-json").out)["ids"]["value"]
    before = sorted(path.name for path in folder.iterdir())
    ran = planner("stacks", "from-modules")
    assert ran.code == 0, ran.out + ran.err
    assert "Verified, but not written" in ran.out
    assert sorted(path.name for path in folder.iterdir()) == before
    assert "The backend is not converted" in ran.out
    ran = planner("stacks", "from-modules", "-write", "-deployment=prod")
    assert ran.code == 0, ran.out + ran.err
    assert planner("stacks", "fmt", "-check").code == 0
    assert planner("stacks", "validate").code == 0
    ran = planner("stacks", "plan", "-detailed-exitcode")
    assert ran.code == 0 and "prod: no changes." in ran.out, ran.out + ran.err
    names = {path.name for path in (folder / "stack-states").iterdir()}
    assert names == {"prod.net", "prod.zone~a", "prod.zone~b", "prod.west"}
    west = json.loads((folder / "stack-states/prod.west/terraform.tfstate").read_text())
    assert {r["provider"] for r in west["resources"] if r["type"] == "test_thing"} == {f'provider["{SOURCE}"]'}
    assert json.loads((folder / "old.tfstate").read_text())["resources"] == []
    assert "no changes" in planner("stacks", "apply", "-auto-approve").out
    assert json.loads(planner("stacks", "output", "-json").out)["prod"]["ids"]["value"] == ids
    ran = planner("stacks", "from-modules")
    assert ran.code == 1 and "this directory is a stack" in ran.err
    assert planner("stacks", "destroy", "-auto-approve").code == 0
    end_all()


def test_secrets_are_written_and_not_shown(folder: Path, planner: Planner) -> None:
    text = ROOT.replace('variable "name" {}', 'variable "name" { sensitive = true }')
    text = text.replace("local.ids }", "nonsensitive(local.ids) }")
    (folder / "main.tf").write_text(text)
    (folder / "terraform.tfvars").write_text('name = "hidden"\n')
    assert planner("apply", "-auto-approve").code == 0
    ran = planner("stacks", "from-modules", "-write", "-deployment=prod")
    assert ran.code == 0, ran.out + ran.err
    assert "name = (sensitive)" in ran.out and "hidden" not in ran.out
    assert "planner plan would" in ran.out
    assert 'name = "hidden"' in (folder / "main.tfdeploy.hcl").read_text()
    assert planner("stacks", "apply", "-auto-approve").code == 0
    ran = planner("stacks", "to-modules", "-deployment=prod", "-out=../again", "-write")
    assert ran.code == 0, ran.out + ran.err
    assert "name = (sensitive)" in ran.out and "hidden" not in ran.out
    assert 'name = "hidden"' in (folder.parent / "again" / "terraform.tfvars").read_text()
    end_all()


@pytest.mark.slow
@pytest.mark.parametrize("gone", [["main.tfdeploy.hcl", "stack-states/prod.net"], ["main.tfcomponent.hcl"], []])
def test_what_was_interrupted_is_done_again(gone: list[str], folder: Path, planner: Planner) -> None:
    assert planner("apply", "-auto-approve").code == 0
    before = (folder / "old.tfstate").read_bytes()
    assert planner("stacks", "from-modules", "-write", "-deployment=prod").code == 0
    (folder / "old.tfstate").write_bytes(before)
    for name in gone:
        path = folder / name
        shutil.rmtree(path) if path.is_dir() else path.unlink()
    ran = planner("stacks", "from-modules", "-write", "-deployment=prod")
    assert ran.code == 0, ran.out + ran.err
    assert json.loads((folder / "old.tfstate").read_text())["resources"] == []
    ran = planner("stacks", "plan", "-detailed-exitcode")
    assert ran.code == 0 and "prod: no changes." in ran.out, ran.out + ran.err
    end_all()


@pytest.mark.slow
def test_what_cannot_be_written_is_said(folder: Path, planner: Planner) -> None:
    assert planner("apply", "-auto-approve").code == 0
    before = (folder / "old.tfstate").read_bytes()
    (folder / "stack-states" / "main.west").mkdir(parents=True)
    with holding(Path("stack-states/main.west/terraform.tfstate")):
        ran = planner("stacks", "from-modules", "-write")
    assert ran.code == 1 and "would change objects" not in ran.out
    assert "it continues from there" in " ".join(ran.err.split())
    assert (folder / "old.tfstate").read_bytes() == before
    (folder / "main.tfdeploy.hcl").mkdir()
    ran = planner("stacks", "from-modules", "-write")
    assert ran.code == 1 and "this directory is a stack" in ran.err
    (folder / "main.tfdeploy.hcl").rmdir()
    assert planner("stacks", "from-modules", "-write").code == 0
    end_all()


@pytest.mark.slow
def test_other_objects_are_not_written_over(folder: Path, planner: Planner) -> None:
    assert planner("apply", "-auto-approve").code == 0
    before = (folder / "old.tfstate").read_bytes()
    assert planner("stacks", "from-modules", "-write").code == 0
    (folder / "old.tfstate").write_bytes(before)
    path = folder / "stack-states" / "main.net" / "terraform.tfstate"
    path.write_text(path.read_text().replace('"p-n', '"q-n'))
    others = path.read_bytes()
    ran = planner("stacks", "from-modules", "-write")
    assert ran.code == 1 and "The state of component.net in the deployment main already exists here" in " ".join(
        ran.err.split()
    )
    assert path.read_bytes() == others and (folder / "old.tfstate").read_bytes() == before
    (folder / "main.tfdeploy.hcl").write_text("")
    ran = planner("stacks", "from-modules", "-write", "-deployment=other")
    assert ran.code == 1 and "main.tfcomponent.hcl" not in ran.err and "this directory is a stack" in ran.err
    end_all()


def test_what_would_change_something_is_not_written(folder: Path, planner: Planner) -> None:
    assert planner("apply", "-auto-approve").code == 0
    (folder / "zone" / "main.tf").write_text(ZONE.replace("input = test_thing.t.id", "input = 1"))
    ran = planner("stacks", "from-modules", "-write")
    assert ran.code == 1 and "nothing is written" in ran.out
    assert not (folder / "main.tfcomponent.hcl").exists()
    assert len(json.loads((folder / "old.tfstate").read_text())["resources"]) > 3
    end_all()


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('resource "terraform_data" "x" {}', "Stacks do not support resource"),
        ('data "terraform_remote_state" "x" {\n  backend = "local"\n}', "Stacks do not support data"),
        ('module "m" {\n  source = "./net/inner"\n  count  = 2\n}', "Stacks do not support count"),
        ("locals { x = path.module }", "path is not available in a stack"),
        ("locals { x = terraform.workspace }", "terraform is not available in a stack"),
        (
            'check "x" {\n  assert {\n    condition     = var.name == ""\n    error_message = "x"\n  }\n}',
            "Stacks do not support check",
        ),
        ("moved {\n  from = module.a\n  to   = module.net\n}", "Stacks do not support moved"),
    ],
)
def test_what_has_no_place_in_a_stack(text: str, said: str, folder: Path, planner: Planner) -> None:
    (folder / "more.tf").write_text(text + "\n")
    assert planner("init").code == 0
    ran = planner("stacks", "from-modules", "-write")
    assert ran.code == 1 and said in " ".join(ran.err.split()), ran.out + ran.err
    assert not (folder / "main.tfcomponent.hcl").exists()
    end_all()


@pytest.mark.slow
def test_there_and_back_again(folder: Path, planner: Planner) -> None:
    assert planner("apply", "-auto-approve").code == 0
    before = json.loads((folder / "old.tfstate").read_text())["resources"]
    assert planner("stacks", "from-modules", "-write", "-deployment=prod").code == 0
    assert planner("stacks", "apply", "-auto-approve").code == 0
    ran = planner("stacks", "to-modules", "-deployment=prod")
    assert ran.code == 0 and "Verified, but not written" in ran.out, ran.out + ran.err
    assert not (folder / "prod").exists()
    ran = planner("stacks", "to-modules", "-deployment=prod", "-out=../again", "-write")
    assert ran.code == 0, ran.out + ran.err
    again = folder.parent / "again"
    assert planner("-chdir=../again", "fmt", "-check").code == 0
    assert planner("-chdir=../again", "init").code == 0
    ran = planner("-chdir=../again", "plan", "-detailed-exitcode")
    assert "0 to add" not in ran.out and "will be" not in ran.out, ran.out + ran.err
    after = json.loads((again / "terraform.tfstate").read_text())["resources"]
    assert [(r.get("module"), r["type"], r["name"]) for r in after] == [
        (r.get("module"), r["type"], r["name"]) for r in before
    ]
    assert [[i.get("dependencies") for i in r["instances"]] for r in after if r["name"] == "after"] == [
        [
            i.get("dependencies") and [d for d in i["dependencies"] if d.startswith(r["module"].partition("[")[0])]
            for i in r["instances"]
        ]
        for r in before
        if r["name"] == "after"
    ]
    assert {path.name for path in (folder / "stack-states").iterdir()} == {"prod"}
    ran = planner("stacks", "to-modules", "-deployment=prod", "-out=../again")
    assert ran.code == 1 and "The directory exists" in ran.err
    end_all()
