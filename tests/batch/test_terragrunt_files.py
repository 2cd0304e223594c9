"""What Terragrunt's files can look like: JSON, parts that other files look at, names that are said twice, links."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from batch.fleets import batch, write

MAIN = """
variable "name" { default = "none" }
variable "tags" {
  type    = any
  default = {}
}
terraform {
  backend "local" {}
}
resource "terraform_data" "x" { input = jsonencode([var.name, var.tags]) }
output "name" { value = var.name }
"""


def made(folder: Path) -> Any:
    """The inputs that a unit was made with."""
    state = json.loads((folder / "terraform.tfstate").read_text())
    return json.loads(state["resources"][0]["instances"][0]["attributes"]["input"]["value"])


def edges(root: Path) -> list[list[str]]:
    found: list[list[str]] = batch(root, "graph", "-json").json["edges"]
    return found


# ---------------------------------------------------------------- JSON

INCLUDES: dict[str, Any] = {
    "an object": {"path": "../common.hcl.json"},
    "a list": [{"path": "../common.hcl.json"}],
    "with a name": {"common": {"path": "${get_terragrunt_dir()}/../common.hcl.json", "merge_strategy": "deep"}},
    "without one": {"": {"path": "../common.hcl.json"}},
}


@pytest.mark.parametrize("form", INCLUDES)
def test_files_in_json(tmp_path: Path, form: str) -> None:
    unit: dict[str, Any] = {
        "include": INCLUDES[form],
        "dependency": {"a": {"config_path": "../a", "mock_outputs": {"name": "mock"}}},
        "inputs": {"name": "b of ${dependency.a.outputs.name}"},
    }
    common = {"locals": {"team": "core"}, "inputs": {"tags": {"team": "${local.team}"}}}
    files = {
        "common.hcl.json": json.dumps(common),
        "a/terragrunt.hcl.json": '{"inputs": {"name": "a"}}',
        "b/terragrunt.hcl.json": json.dumps(unit),
    }
    write(tmp_path, {**files, "a/main.tf": MAIN, "b/main.tf": MAIN})
    assert edges(tmp_path) == [["b", "a"]]
    assert batch(tmp_path, "apply", "-auto-approve").code == 0
    assert made(tmp_path / "b") == ["b of a", {"team": "core"}]


def test_what_is_a_block_or_an_argument_is_a_block_in_json(tmp_path: Path) -> None:
    generate = {"one": {"path": "one.tf", "if_exists": "overwrite", "contents": 'output "one" { value = 1 }\n'}}
    state = {"backend": "local", "config": {"path": "here.tfstate"}, "generate": {"path": "b.tf", "if_exists": "skip"}}
    write(tmp_path, {"a/terragrunt.hcl.json": json.dumps({"generate": generate, "remote_state": state})})
    write(tmp_path, {"a/main.tf": 'resource "terraform_data" "x" {}\n'})
    assert batch(tmp_path, "apply", "-auto-approve").code == 0
    assert (tmp_path / "a/one.tf").is_file() and (tmp_path / "a/here.tfstate").is_file()


def test_of_two_files_the_native_one_counts(tmp_path: Path) -> None:
    write(tmp_path, {"a/terragrunt.hcl": 'inputs = { name = "native" }\n', "a/main.tf": MAIN})
    write(tmp_path, {"a/terragrunt.hcl.json": '{"inputs": {"name": "json"}}'})
    assert batch(tmp_path, "apply", "-auto-approve").code == 0
    assert made(tmp_path / "a")[0] == "native"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('{"inputz": {}}', 'No argument or block type is named "inputz"'),
        ('{"include": {"path": "x", "other": 1}}', "JSON object"),
        ('{"inputs": ', "JSON"),
    ],
)
def test_what_is_wrong_in_json(tmp_path: Path, text: str, said: str) -> None:
    write(tmp_path, {"a/terragrunt.hcl.json": text, "a/main.tf": MAIN})
    ran = batch(tmp_path, "plan")
    assert ran.code == 1 and said in " ".join(ran.errors.split())


# ---------------------------------------------------------------- parts that others look at

EXPOSED = """
include "common" {
  path           = "../common.hcl"
  expose         = true
  merge_strategy = "no_merge"
}
dependency "a" {
  config_path  = include.common.dependency.a.config_path
  skip_outputs = true
  mock_outputs = merge(include.common.dependency.a.mock_outputs, { more = "more" })
}
inputs = {
  name = dependency.a.outputs.more
  tags = { seen = include.common.dependency.a.mock_outputs.name }
}
"""


def test_a_dependency_can_be_made_of_that_of_an_exposed_include(tmp_path: Path) -> None:
    common = 'dependency "a" {\n  config_path = "../a"\n  mock_outputs = { name = "mock" }\n}\n'
    write(tmp_path, {"common.hcl": common, "b/terragrunt.hcl": EXPOSED, "b/main.tf": MAIN})
    write(tmp_path, {"a/terragrunt.hcl": "", "a/main.tf": MAIN})
    assert edges(tmp_path) == [["b", "a"]]
    assert batch(tmp_path, "apply", "-auto-approve").code == 0
    assert made(tmp_path / "b") == ["more", {"seen": "mock"}]


OTHER = """
terraform {
  source = "./x"
  after_hook "h" {
    commands = ["plan"]
    execute  = ["true"]
  }
  extra_arguments "e" { commands = ["plan"] }
}
generate "g" {
  path      = "g.tf"
  if_exists = "skip"
  contents  = ""
}
exclude {
  if      = true
  actions = ["plan"]
}
errors {
  retry "r" {
    retryable_errors   = ["x"]
    max_attempts       = 3
    sleep_interval_sec = 4
  }
  ignore "i" { ignorable_errors = ["y"] }
}
"""
SHOWN = {
    "local.other.terraform.include_in_copy": None,
    "local.other.terraform.before_hook": {},
    "local.other.terraform.after_hook.h.run_on_error": None,
    "local.other.terraform.after_hook.h.name": "h",
    "local.other.terraform.extra_arguments.e.env_vars": None,
    "local.other.generate.g.comment_prefix": "# ",
    "local.other.generate.g.disable": False,
    "local.other.exclude.no_run": False,
    "local.other.errors.retry[0].name": "r",
    "local.other.errors.ignore[0].message": "",
    "local.other.inputs": None,
    "local.other.locals": None,
    "local.other.iam_role": "",
    "local.other.dependency": {},
    'try(local.other.exclude.nothing, "none")': "none",
}


@pytest.mark.parametrize("expression", SHOWN)
def test_what_a_file_does_not_say_is_there_for_others(tmp_path: Path, expression: str) -> None:
    unit = f'locals {{\n  other = read_terragrunt_config("../other.hcl")\n}}\ninputs = {{ tags = [{expression}] }}\n'
    write(tmp_path, {"other.hcl": OTHER, "a/terragrunt.hcl": unit, "a/main.tf": MAIN})
    assert batch(tmp_path, "apply", "-auto-approve").code == 0
    assert made(tmp_path / "a")[1] == [SHOWN[expression]]


# ---------------------------------------------------------------- names, links, lists


def test_hooks_of_one_name_all_run(tmp_path: Path) -> None:
    hook = 'before_hook "h" {{\n    commands = ["plan"]\n    execute = ["sh", "-c", "echo {0} >> log"]\n  }}\n'
    text = f"terraform {{\n  {hook.format('one')}  {hook.format('$TG_CTX_HOOK_NAME')}}}\n"
    write(tmp_path, {"a/terragrunt.hcl": text, "a/main.tf": MAIN})
    assert batch(tmp_path, "plan").code == 0
    assert (tmp_path / "a/log").read_text() == "one\nh\n"


def test_a_dependency_through_a_link_is_the_unit_behind_it(tmp_path: Path) -> None:
    write(tmp_path, {"a/terragrunt.hcl": "", "a/main.tf": MAIN, "b/main.tf": MAIN, "c/main.tf": MAIN})
    write(tmp_path, {"b/terragrunt.hcl": 'dependency "x" {\n  config_path = "../link"\n}\n'})
    write(tmp_path, {"c/terragrunt.hcl": 'dependencies {\n  paths = ["../link"]\n}\n'})
    (tmp_path / "link").symlink_to("a")
    assert edges(tmp_path) == [["b", "a"], ["c", "a"]]


def test_the_file_of_those_that_are_left_out(tmp_path: Path) -> None:
    write(tmp_path, {f"{name}/{file}": "" for name in "abc" for file in ("terragrunt.hcl", "main.tf")})
    write(tmp_path, {".terragrunt-excludes": "# those of others\n\na/\n#b/\nc*\n"})
    assert batch(tmp_path, "plan", "-json").outcomes == {"b": "unchanged"}
    (tmp_path / ".terragrunt-excludes").unlink()
    (tmp_path / ".terragrunt-excludes").mkdir()
    ran = batch(tmp_path, "plan")
    assert ran.code == 1 and ".terragrunt-excludes" in ran.errors


# ---------------------------------------------------------------- inputs


@pytest.mark.parametrize(
    ("text", "seen"),
    [
        ('{"a": "of ${nobody} and %{ if }"}', {"a": "of ${nobody} and %{ if }"}),
        ('["x", 1]', ["x", 1]),
        ("no expression", "no expression"),
    ],
)
def test_a_text_for_a_variable_of_any_type_is_an_expression(tmp_path: Path, text: str, seen: Any) -> None:
    write(tmp_path, {"a/x.json": text, "a/main.tf": MAIN})
    write(tmp_path, {"a/terragrunt.hcl": 'inputs = {\n  tags = file("x.json")\n}\n'})
    assert batch(tmp_path, "apply", "-auto-approve").code == 0
    assert made(tmp_path / "a")[1] == seen


# ---------------------------------------------------------------- files over files


def test_an_included_file_includes_nothing(tmp_path: Path) -> None:
    include = 'include "x" {{\n  path = "../{}.hcl"\n}}\n'
    write(tmp_path, {"a/terragrunt.hcl": include.format("root"), "a/main.tf": MAIN})
    write(tmp_path, {"root.hcl": include.format("other"), "other.hcl": 'inputs = { name = "other" }\n'})
    ran = batch(tmp_path, "plan")
    assert ran.code == 1 and "Terragrunt supports only one level of includes" in " ".join(ran.errors.split())


def reads(*names: str) -> str:
    """A file that reads others, and hands out what they have one behind the other."""
    read = "".join(f'  l{i} = read_terragrunt_config("../{name}/terragrunt.hcl")\n' for i, name in enumerate(names))
    whole = "".join(f"${{local.l{i}.inputs.name}}" for i in range(len(names)))
    return f'locals {{\n{read}}}\ninputs = {{ name = "{whole}" }}\n'


def test_a_file_is_read_as_a_value_once_whoever_reads_it(tmp_path: Path) -> None:
    """Else it would be so two to the power of forty times."""
    for i in range(40):
        write(tmp_path, {f"d{i}/terragrunt.hcl": reads(f"d{i + 1}", f"d{i + 1}")})
    write(tmp_path, {"d40/terragrunt.hcl": 'inputs = { name = "" }\n', "d0/main.tf": MAIN})
    assert batch(tmp_path, "plan").code == 0


def test_files_that_read_each_other_are_an_error(tmp_path: Path) -> None:
    write(tmp_path, {"a/terragrunt.hcl": reads("b"), "a/main.tf": MAIN, "b/terragrunt.hcl": reads("a")})
    ran = batch(tmp_path, "plan")
    assert ran.code == 1 and "reads itself, directly or through other files" in " ".join(ran.errors.split())
