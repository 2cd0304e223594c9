"""`test -generate`: a first test file for a module, which passes, or says why not."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

Planner = Callable[..., Any]
MAIN = """
variable "env" {
  type = string
  validation {
    condition     = contains(["dev", "prod"], var.env)
    error_message = "dev or prod"
  }
}
variable "size" {
  default = 1
  validation {
    condition     = var.size < 10
    error_message = "too big"
  }
}
variable "name" {
  type = string
  validation {
    condition     = can(regex("^[a-z]+-[0-9]+$", var.name))
    error_message = "letters-digits"
  }
}
variable "debug" {
  default = false
}
variable "text" {
  type      = object({ a = list(string), b = optional(number) })
  sensitive = true
}
locals {
  is_prod = var.env == "prod"
  both    = local.is_prod && var.size > 5 ? "much" : "little"
}
resource "terraform_data" "a" {
  count = local.is_prod ? 2 : 0
  input = var.size > 3 ? "big" : "small"
}
module "m" {
  source = "./m"
  flag   = var.debug
}
output "both" {
  value = "${local.both} $${x} %%{y} \\"z\\""
}
output "made" {
  value = length(terraform_data.a)
}
output "when" {
  value = "${timestamp()} ${var.env}"
}
"""
MODULE = """
variable "flag" {}
resource "terraform_data" "x" {
  count = var.flag ? 1 : 0
}
"""


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_what_is_generated_passes_and_reaches_everything(here: Path, planner: Planner) -> None:
    (here / "main.tf").write_text(MAIN)
    (here / "m").mkdir()
    (here / "m/main.tf").write_text(MODULE)
    (here / "root.tftest.hcl").write_text('run "never" {\n  command = nothing\n}\n')
    assert "Invalid" in planner("test", "-generate").err  # what is there is read first
    (here / "root.tftest.hcl").unlink()
    assert planner("init").code == 0
    ran = planner("test", "-generate", "-coverage", "-no-color")
    assert ran.code == 0, ran.out + ran.err
    assert "Success! 8 passed, 0 failed." in ran.out
    assert "Coverage: 23 of 23 (100%)." in ran.out
    text = (here / "tests/generated.tftest.hcl").read_text()
    names = re.findall(r'^run "(.*)" {$', text, re.MULTILINE)
    assert names == [
        "usual", "env_dev", "size_5", "size_6", "debug_true", "refuses_env", "refuses_size", "refuses_name"
    ]  # fmt: skip
    assert 'condition     = output.both == "little $${x} %%{y} \\"z\\""' in text
    assert "output.made" not in text and "output.when" not in text
    assert planner("fmt", "-check", "tests").code == 0
    again = planner("test", "-generate")
    assert again.code == 1 and "Test file already exists" in again.err
    assert (here / "tests/generated.tftest.hcl").read_text() == text


def test_values_of_two_variables_that_only_together_reach_something(here: Path, planner: Planner) -> None:
    (here / "main.tf").write_text(
        'variable "a" {\n  default = "x"\n}\nvariable "b" {\n  default = "x"\n}\n'
        'output "o" {\n  value = var.a == "one" && var.b == "two" ? 1 : 2\n}\n'
    )
    assert planner("test", "-generate", "-test-directory=.").code == 0
    text = (here / "generated.tftest.hcl").read_text()
    assert 'run "a_and_b" {\n  command = plan\n\n  variables {\n    a = "one"\n    b = "two"\n  }' in text


def test_other_values_are_taken_when_the_first_do_not_do(here: Path, planner: Planner) -> None:
    (here / "main.tf").write_text(
        'variable "a" {\n  type = string\n}\nresource "terraform_data" "a" {\n  lifecycle {\n    precondition {\n'
        '      condition     = startswith(var.a, "arn:")\n      error_message = "no arn"\n    }\n  }\n}\n'
    )
    assert planner("test", "-generate").code == 0
    assert 'a = "arn:' in (here / "tests/generated.tftest.hcl").read_text()


def test_what_does_not_pass_says_why(here: Path, planner: Planner) -> None:
    (here / "main.tf").write_text(
        'variable "v" {\n  type = string\n  validation {\n    condition     = var.v == "${upper("?")}!"\n'
        '    error_message = "never"\n  }\n}\n'
    )
    ran = planner("test", "-generate", "-no-color")
    assert ran.code == 1
    assert 'run "usual"... fail' in ran.out
    text = (here / "tests/generated.tftest.hcl").read_text()
    assert "# No value was found that the validations of var.v accept: fill in a value." in text
    assert "# This run does not pass yet:\n# Invalid value for variable: never" in text


def test_providers_are_mocked(here: Path, planner: Planner) -> None:
    (here / "main.tf").write_text(
        'data "terraform_remote_state" "s" {\n  backend = "local"\n  config  = { path = "nowhere" }\n}\n'
        'output "o" {\n  value = data.terraform_remote_state.s.outputs\n}\n'
    )
    ran = planner("test", "-generate", "-json")
    assert ran.code == 0, ran.out
    (summary,) = [e["test_summary"] for e in map(json.loads, ran.out.splitlines()) if e.get("type") == "test_summary"]
    assert summary["passed"] == 1
    text = (here / "tests/generated.tftest.hcl").read_text()
    assert 'mock_provider "terraform" {\n}\n\nrun "defaults" {\n  command = plan\n}\n' in text


def test_options_that_contradict_each_other(here: Path, planner: Planner) -> None:
    assert "Conflicting options" in planner("test", "-generate", "-filter=x").err
