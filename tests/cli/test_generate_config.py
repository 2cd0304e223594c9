"""`plan -generate-config-out`: blocks for import targets that have none, on real files."""

from __future__ import annotations

import json

import pytest

IMPORTS = """import {
  to = terraform_data.new
  id = "abc"
}
provider "terraform" { alias = "two" }
import {
  to       = terraform_data.other
  id       = "o\\"x"
  provider = terraform.two
}
"""
GENERATED = """# __generated__ by OpenTofu
# Please review these resources and move them into your main configuration files.

# __generated__ by OpenTofu from "abc"
resource "terraform_data" "new" {
  input            = null
  triggers_replace = null
}

# __generated__ by OpenTofu from "o\\"x"
resource "terraform_data" "other" {
  provider         = terraform.two
  input            = null
  triggers_replace = null
}
"""


@pytest.fixture
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "main.tf").write_text(IMPORTS)
    return tmp_path


def test_file_and_plan(planner, here):
    ran = planner("plan", "-no-color", "-generate-config-out=g.tf", "-out=p")
    assert ran.code == 0, ran.err
    assert (here / "g.tf").read_text() == GENERATED
    assert "Plan: 2 to import, 0 to add, 0 to change, 0 to destroy." in ran.out
    lines = ran.out.split("\n")
    at = lines.index("  # terraform_data.new will be imported")
    assert lines[at + 1 : at + 3] == ["  # (config will be generated)", '  # (imported from "abc")']
    changes = json.loads(planner("show", "-json", "p").out)["resource_changes"]
    assert [c["change"]["generated_config"] for c in changes] == [
        text.split("\n", 1)[1].rstrip("\n") for text in GENERATED.split("\n\n")[1:]
    ]


def test_what_was_generated_can_be_kept(planner, here):
    assert planner("plan", "-generate-config-out=g.tf").code == 0
    ran = planner("apply", "-auto-approve", "-no-color")
    assert "Apply complete! Resources: 2 imported, 0 added, 0 changed, 0 destroyed." in ran.out
    assert planner("plan", "-detailed-exitcode").code == 0


def test_saved_plan_imports_without_the_file(planner, here):
    planner("plan", "-generate-config-out=g.tf", "-out=p")
    (here / "g.tf").unlink()
    assert planner("apply", "p").code == 0
    assert planner("state", "list").out.split() == ["terraform_data.new", "terraform_data.other"]


@pytest.mark.parametrize(
    ("words", "code"),
    [
        (["-generate-config-out=there.tf"], "plan.generate_exists"),
        (["-generate-config-out=nowhere/g.tf"], "plan.generate_write"),
        (["-generate-config-out=g.tf", "-destroy"], "plan.generate_mode"),
        (["-generate-config-out=g.tf", "-refresh-only"], "plan.generate_mode"),
    ],
)
def test_refused(planner, here, words, code):
    (here / "there.tf").write_text("# mine\n")
    ran = planner("plan", "-json", *words)
    assert ran.code == 1
    found = [json.loads(line) for line in ran.out.splitlines()]
    assert code in [line["diagnostic"]["code"] for line in found if line.get("type") == "diagnostic"]
    assert (here / "there.tf").read_text() == "# mine\n"


@pytest.mark.parametrize(
    ("to", "code"),
    [
        ('terraform_data.k["x"]', "plan.generate_repeated"),
        ("terraform_data.k[0]", "plan.generate_repeated"),
        ("module.m.terraform_data.x", "plan.generate_module"),
    ],
)
def test_only_single_resources_of_the_root_module(planner, here, to, code):
    (here / "m").mkdir()
    (here / "m" / "m.tf").write_text("")
    (here / "main.tf").write_text(f'module "m" {{\n  source = "./m"\n}}\nimport {{\n  to = {to}\n  id = "x"\n}}\n')
    assert planner("init").code == 0
    ran = planner("plan", "-json", "-generate-config-out=g.tf")
    diagnostics = [line["diagnostic"] for line in map(json.loads, ran.out.splitlines()) if "diagnostic" in line]
    assert [(d["code"], d["range"]["start"]["line"]) for d in diagnostics] == [(code, 4)]
    assert ran.code == 1
    assert not (here / "g.tf").exists()


def test_a_configuration_that_declares_everything_generates_nothing(planner, here):
    (here / "main.tf").write_text(
        'resource "terraform_data" "new" {}\nimport {\n  to = terraform_data.new\n  id = "x"\n}\n'
    )
    assert planner("plan", "-generate-config-out=g.tf").code == 0
    assert not (here / "g.tf").exists()
