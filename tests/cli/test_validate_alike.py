"""What is validated once for all calls of a module is as if each call had been looked at."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from planner.engine.evaluation import variables
from planner.engine.validate import walk
from planner.engine.validate.walk import SharedValues

from .conftest import Ran

BUILTIN = 'terraform {\n  required_providers {\n    terraform = { source = "terraform.io/builtin/terraform" }\n  }\n}\n'
INSIDE = 'variable "a" {\n  type    = string\n  default = ""\n}\nvariable "n" {\n  default = 1\n}\n'
MADE = 'resource "terraform_data" "a" {\n  input = var.a\n}\n'
CALLS = "".join(f'module "m{i}" {{\n  source = "./m"\n  a      = "x{i}"\n}}\n' for i in range(3))
SAYS: dict[str, tuple[str, str]] = {
    "variables": ('output "o" { value = "${var.a}-${var.n}" }\n', CALLS),
    "local values of local values": (
        "locals {\n  b = upper(var.a)\n  c = [local.b, path.module, terraform.workspace]\n}\n"
        'output "o" { value = local.c }\n',
        CALLS,
    ),
    "a value that is wrong in each": ('output "o" { value = tonumber("x${length([1])}") }\n', CALLS),
    "a local value that is wrong in each": (
        'locals {\n  b = parseint("x", 10)\n}\noutput "o" { value = local.b }\n',
        CALLS,
    ),
    "a reference to nothing": ('output "o" { value = [var.a, var.nope, local.nope] }\n', CALLS),
    "one argument that is wrong": (
        'output "o" { value = var.n }\n',
        CALLS + 'module "m00" {\n  source = "./m"\n  a      = [1]\n}\n',
    ),
    "a resource": (MADE + 'output "o" { value = terraform_data.a.output }\n', CALLS),
    "an attribute that is none": (MADE + 'output "o" { value = terraform_data.a.nope }\n', CALLS),
    "a function of a provider": (BUILTIN + 'output "o" { value = provider::terraform::encode_expr(var.a) }\n', CALLS),
    "preconditions": (
        'output "o" {\n  value = var.a\n  precondition {\n'
        '    condition     = 1 == 2\n    error_message = "Never."\n  }\n}\n',
        CALLS,
    ),
    "depends_on": ('output "o" {\n  value      = var.a\n  depends_on = [terraform_data.nope]\n}\n', CALLS),
    "secrets": (
        'variable "s" {\n  default   = 1\n  ephemeral = true\n}\noutput "o" { value = var.s }\n'
        'output "p" {\n  value     = var.s\n  ephemeral = true\n}\n',
        CALLS,
    ),
    "what the caller reads": ('output "o" { value = var.a }\n', CALLS + 'output "r" { value = module.m2.nope }\n'),
}


def said(planner: Callable[..., Ran]) -> object:
    return json.loads(planner("validate", "-json").out)


@pytest.mark.parametrize("name", SAYS)
def test_the_same_is_said(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, planner: Callable[..., Ran]
) -> None:
    inside, calls = SAYS[name]
    monkeypatch.chdir(tmp_path)
    Path("m").mkdir()
    Path("m/main.tf").write_text(INSIDE + inside)
    Path("main.tf").write_text(calls)
    planner("init")
    once = said(planner)
    monkeypatch.setattr(SharedValues, "value", lambda self, module, decl, expr: None)
    assert said(planner) == once


@pytest.mark.parametrize(
    ("inside", "times"),
    [
        ('output "o" { value = var.a }\n', 1),
        ('locals {\n  b = var.a\n}\noutput "o" { value = local.b }\n', 1),
        (MADE + 'output "o" { value = terraform_data.a.output }\n', 3),
        (MADE + 'locals {\n  b = terraform_data.a\n}\noutput "o" { value = local.b }\n', 3),
        (BUILTIN + 'output "o" { value = provider::terraform::encode_expr(var.a) }\n', 3),
    ],
)
def test_only_what_is_made_of_variables_is_worked_out_once(
    inside: str, times: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, planner: Callable[..., Ran]
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("m").mkdir()
    Path("m/main.tf").write_text(INSIDE + inside)
    Path("main.tf").write_text(CALLS)
    planner("init")
    seen: list[str] = []

    def evaluate_output(module: object, decl: object) -> object:
        seen.append(str(decl))
        return variables.evaluate_output(module, decl)  # type: ignore[arg-type]

    monkeypatch.setattr(walk, "evaluate_output", evaluate_output)
    assert planner("validate").code == 0
    assert len(seen) == times
