"""Functions that a provider registers when it is configured, which its schema does not have."""

from __future__ import annotations

import io
import json
from pathlib import Path

import pytest
from provider.plugins import SOURCE, override

from planner.cli import main
from planner.render.terminal import Terminal

REQUIRED = f'terraform {{\n  required_providers {{\n    test = {{ source = "{SOURCE}" }}\n  }}\n}}\n'
BLOCK = 'provider "test" {\n  prefix = "main"\n}\n'
WEST = 'provider "test" {\n  alias  = "west"\n  prefix = "west"\n}\n'
MODULE = 'module "m" {\n  source    = "./m"\n  providers = { test = test.west }\n}\n'
BY_KEY = (
    'provider "test" {\n  alias    = "by"\n  for_each = toset(["a", "b"])\n  prefix   = each.key\n}\n'
    'module "m" {\n  source    = "./m"\n  for_each  = toset(["a", "b"])\n'
    "  providers = { test = test.by[each.key] }\n}\n"
)
CALLS = {
    "a resource": (
        BLOCK + 'resource "terraform_data" "t" { input = provider::test::prefixed("x") }\n'
        'output "o" { value = terraform_data.t.output }\n',
        "main-x",
    ),
    "a function of the schema": (BLOCK + 'output "o" { value = provider::test::double(4) }\n', 8),
    "another configuration": (
        BLOCK + WEST + 'output "o" { value = [for p in ["x"] : provider::test::west::prefixed(p)] }\n',
        ["west-x"],
    ),
    "a configuration that is passed": (BLOCK + WEST + MODULE + 'output "o" { value = module.m.x }\n', "west-y"),
    "one that is passed by its key": (
        BY_KEY + 'output "o" { value = { for k, m in module.m : k => m.x } }\n',
        {"a": "a-y", "b": "b-y"},
    ),
    "a validation rule": (
        BLOCK + 'variable "v" {\n  default = "x"\n  validation {\n'
        '    condition     = provider::test::prefixed(var.v) == "main-x"\n    error_message = "No."\n  }\n}\n'
        'output "o" { value = var.v }\n',
        "x",
    ),
}
NO_FUNCTION = "Function not found in provider"
MISSING = {
    "none of that name": (BLOCK + 'output "o" { value = try(provider::test::prefxed("x"), "") }\n', NO_FUNCTION),
    "a provider without a configuration": ('output "o" { value = can(provider::test::prefixed("x")) }\n', NO_FUNCTION),
    "another configuration registers it": (
        WEST + BLOCK.replace('"main"', "null") + 'output "o" { value = provider::test::prefixed("x") }\n',
        NO_FUNCTION,
    ),
    "the provider fails": (
        BLOCK.replace("main", "no functions") + 'output "o" { value = provider::test::prefixed("x") }\n',
        "No functions today",
    ),
}


def prepare(monkeypatch: pytest.MonkeyPatch, folder: Path, text: str) -> None:
    override(monkeypatch, folder)
    project = folder / "project"
    (project / "m").mkdir(parents=True)
    (project / "main.tf").write_text(REQUIRED + text)
    (project / "m" / "m.tf").write_text(REQUIRED + 'output "x" { value = provider::test::prefixed("y") }\n')
    monkeypatch.chdir(project)
    run("init")
    run("validate")
    run("graph")


def run(*words: str, code: int = 0) -> str:
    out = io.StringIO()
    assert main.dispatch(list(words), Terminal(io.StringIO(), out, out)) == code, out.getvalue()
    return out.getvalue()


@pytest.mark.parametrize("name", CALLS)
def test_calls(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    text, wanted = CALLS[name]
    prepare(monkeypatch, tmp_path, text)
    run("apply", "-auto-approve")
    state = json.loads(Path("terraform.tfstate").read_text())
    assert state["outputs"]["o"]["value"] == wanted
    run("plan", "-detailed-exitcode")


@pytest.mark.parametrize("name", MISSING)
def test_what_is_not_registered_is_an_error_wherever_it_is_called(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    text, summary = MISSING[name]
    prepare(monkeypatch, tmp_path, text)
    assert summary in run("plan", code=1)


def test_nothing_is_known_of_them_offline(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    prepare(monkeypatch, tmp_path, CALLS["a resource"][0])
    assert "known after apply" in run("plan", "-offline")


def test_only_the_caller_of_a_missing_function_fails(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    text = BLOCK + 'resource "test_thing" "t" {\n  name = "t"\n}\noutput "o" { value = provider::test::nope() }\n'
    prepare(monkeypatch, tmp_path, text)
    events = [json.loads(line) for line in run("plan", "-json", code=1).splitlines()]
    kinds = [e["type"] for e in events if e.get("@level") != "warn"]
    assert kinds == ["version", "planned_change", "change_summary", "diagnostic"]


def test_a_configuration_cannot_call_functions_of_its_own_provider(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    override(monkeypatch, tmp_path)
    monkeypatch.chdir(tmp_path)
    calls = 'provider "test" {\n  prefix = try(provider::test::double(1), "")\n}\n'
    Path("main.tf").write_text(REQUIRED + calls + 'resource "test_thing" "t" { name = "t" }\n')
    run("init")
    for command in ("validate", "plan"):
        assert "Error: Self reference" in run(command, code=1)
