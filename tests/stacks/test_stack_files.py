"""What stack files say, and what is wrong with them: texts, and the codes of what is said about them."""

from __future__ import annotations

import os
import posixpath
from pathlib import Path
from typing import Any

import pytest

from planner.foundation.vocabulary.diagnostic import Diagnostic, has_errors
from planner.language.config.model import ModuleCall, ModulePath
from planner.language.config.reading import Problems
from planner.language.config.stack_files.check import check_stack
from planner.language.config.stack_files.load import StackSources, load_stack
from planner.language.config.stack_files.model import StackConfig

MODULE = """
variable "name" { type = string }
variable "size" { default = 1 }
resource "terraform_data" "x" { input = var.name }
output "id" { value = terraform_data.x.id }
"""
PROVIDED = """
terraform {
  required_providers {
    cloud = {
      source                = "example.com/acme/cloud"
      configuration_aliases = [cloud.west]
    }
  }
}
resource "cloud_thing" "x" {}
"""
REQUIRED = """
required_providers {
  cloud = { source = "example.com/acme/cloud" }
  other = { source = "example.com/acme/other" }
}
provider "cloud" "this" {
  config { region = var.region }
}
provider "cloud" "each" {
  for_each = toset(["a"])
  config { region = each.value }
}
provider "other" "this" {}
variable "region" { type = string }
"""
COMPONENT = """
component "a" {
  source = "./m"
  inputs = { name = "x" }
}
"""
WEST = "cloud.west = provider.cloud.this"


def given(providers: str) -> str:
    return f'{REQUIRED}component "p" {{\n  source    = "./p"\n  providers = {{ {providers} }}\n}}\n'


def written(folder: Path, **texts: str) -> Path:
    for name, text in {"m": MODULE, "p": PROVIDED}.items():
        (folder / name).mkdir(exist_ok=True)
        (folder / name / "main.tf").write_text(text)
    for name, text in texts.items():
        ending = name if "_" in name else f"{name}_hcl"
        path = folder / f"x.tf{ending.replace('_', '.')}"
        path.write_text(text)
    return folder


def places(folder: Path) -> StackSources:
    """Everything is a directory."""

    def locate(path: ModulePath, call: ModuleCall, parent: str, problems: Problems) -> str | None:
        where = posixpath.normpath(posixpath.join(parent, call.source))
        if not os.path.isdir(folder / where):
            problems.error("missing", "Missing", where, call.span)
            return None
        return where

    return StackSources(locate, lambda path: locate)


def loaded(folder: Path) -> tuple[StackConfig, list[Diagnostic]]:
    stack, problems = load_stack(str(folder), places=places(folder))
    return stack, [*problems, *(() if has_errors(problems) else check_stack(stack))]


def test_everything_that_a_stack_may_say(tmp_path: Path) -> None:
    component = """
required_providers {
  cloud = { source = "example.com/acme/cloud", version = "~> 1.0" }
}
provider "cloud" "this" {
  for_each = var.regions
  config {
    region = each.value
    nested { a = local.b }
  }
}
locals { b = "b" }
variable "regions" { type = set(string) }
variable "token" {
  type      = string
  ephemeral = true
  default   = "t"
}
component "a" {
  for_each   = var.regions
  source     = "./m"
  inputs     = { name = each.value, size = 2 }
  depends_on = [stack.s]
}
component "p" {
  source    = "./p"
  providers = {
    cloud      = provider.cloud.this["a"]
    cloud.west = provider.cloud.this[local.b]
  }
}
component "q" {
  source    = "./p"
  providers = { cloud = provider.cloud.this["a"], "cloud.west" = provider.cloud.this["b"] }
}
stack "s" {
  source = "./s"
  inputs = { n = "n" }
}
removed {
  from   = component.old
  source = "./m"
  lifecycle { destroy = false }
}
removed {
  for_each = toset(["x"])
  from     = component.a[each.key]
  source   = "./m"
}
output "ids" {
  type  = map(string)
  value = { for k, c in component.a : k => c.id }
}
output "one" {
  type      = string
  value     = "${component.a["eu"].id}${stack.s.out}"
  sensitive = true
}
"""
    deploy = """
locals { region = "eu" }
identity_token "aws" { audience = ["sts"] }
store "varset" "keys" {
  id       = "varset-1"
  category = "terraform"
}
upstream_input "net" {
  type   = "stack"
  source = "app.example.com/org/project/net"
}
deployment "dev" {
  inputs           = { regions = [local.region, upstream_input.net.region], token = identity_token.aws.jwt }
  deployment_group = deployment_group.early
}
deployment "prod" {
  inputs           = { regions = ["eu"], token = store.varset.keys.token }
  deployment_group = "early"
  destroy          = true
}
deployment_group "early" { auto_approve_checks = [deployment_auto_approve.calm] }
deployment_auto_approve "calm" {
  check {
    condition = context.plan.changes.remove == 0 && context.plan.deployment != deployment.prod
    reason    = "It removes ${context.plan.changes.remove}."
  }
}
publish_output "one" { value = deployment.dev.one }
"""
    child = 'variable "n" { type = string }\noutput "out" {\n  type = string\n  value = component.c.id\n}\n'
    written(tmp_path, component=component, deploy=deploy)
    (tmp_path / "s").mkdir()
    (tmp_path / "s" / "x.tfcomponent.hcl").write_text(
        child + 'component "c" {\n source = "../m"\n inputs = {name = var.n}\n}'
    )
    stack, problems = loaded(tmp_path)
    assert problems == []
    root = stack.root
    assert sorted(root.components) == ["component.a", "component.p", "component.q", "stack.s"]
    assert [str(inner) for inner, _ in root.components["component.q"].providers] == ["cloud", "cloud.west"]
    assert root.children["s"].path == ("s",) and root.children["s"].directory == "s"
    assert [(r.name, r.destroy, r.key is None) for r in root.removed] == [("old", False, True), ("a", True, False)]
    assert root.components["component.a"].config is root.children["s"].components["component.c"].config
    deployments = stack.deployments
    assert {name: d.group for name, d in deployments.deployments.items()} == {"dev": "early", "prod": "early"}
    assert deployments.upstream["net"].source == "app.example.com/org/project/net"
    assert set(stack.files) == {
        *("m/main.tf", "p/main.tf", "s/x.tfcomponent.hcl", "x.tfcomponent.hcl", "x.tfdeploy.hcl"),
    }


def test_json(tmp_path: Path) -> None:
    component = """{
  "variable": {"n": {"type": "string"}},
  "component": {"a": {"source": "./m", "inputs": {"name": "${var.n}"}}},
  "output": {"id": {"type": "string", "value": "${component.a.id}"}}
}"""
    deploy = '{"deployment": {"dev": {"inputs": {"n": "x"}}}}'
    stack, problems = loaded(written(tmp_path, component_json=component, deploy_json=deploy))
    assert problems == []
    assert list(stack.root.components) == ["component.a"] and list(stack.deployments.deployments) == ["dev"]


@pytest.mark.parametrize("held", ["%s", "${%s}", "${ %s }"])
def test_references_in_json_stand_in_texts(held: str, tmp_path: Path) -> None:
    component = """{
  "required_providers": {"terraform": {"source": "terraform.io/builtin/terraform"}},
  "provider": {"terraform": {"x": {"for_each": ["a"]}}},
  "component": {
    "a": {"source": "./m", "inputs": {"name": "x"}},
    "b": {"source": "./m", "inputs": {"name": "x"}, "depends_on": ["@component.a@"],
          "providers": {"terraform": "@provider.terraform.x[\\"a\\"]@"}}
  },
  "removed": {"source": "./m", "from": "@component.old[\\"k\\"]@"}
}"""
    deploy = """{
  "deployment": {"dev": {"inputs": {}, "deployment_group": "@deployment_group.g@"}},
  "deployment_group": {"g": {"auto_approve_checks": ["@deployment_auto_approve.r@"]}},
  "deployment_auto_approve": {"r": {"check": {"condition": "${context.plan.changes.total == 1}"}}}
}"""

    def texts(text: str) -> str:
        parts = text.split("@")
        return "".join(held % part if number % 2 else part for number, part in enumerate(parts))

    folder = written(tmp_path, component_json=texts(component), deploy_json=texts(deploy))
    stack, problems = loaded(folder)
    assert problems == []
    b, (removed,) = stack.root.components["component.b"], stack.root.removed
    assert [getattr(ref.node, "root", "") for ref in b.depends_on] == ["component"]
    assert [(source.name, source.key is not None) for _, source in b.providers] == [("provider.terraform.x", True)]
    assert (removed.name, removed.key is not None) == ("old", True)
    assert stack.deployments.deployments["dev"].group == "g"
    assert [name for name, _ in stack.deployments.groups["g"].checks] == ["r"]


WRONG: dict[str, tuple[str, str]] = {
    # ------------------------------------------------ components
    "no source": ('component "a" {}', "syntax.missing_argument"),
    "source with a version": ('component "a" {\n source = "./m"\n version = "1"\n}', "invalid_source"),
    "source that is computed": ('component "a" { source = "./${var.m}" }', "variables_not_allowed"),
    "twice": (COMPONENT * 2, "duplicate"),
    "bad name": (COMPONENT.replace('"a"', '"1 a"'), "invalid_name"),
    "missing input": ('component "a" { source = "./m" }', "missing_input"),
    "missing inputs": ('component "a" {\n source = "./m"\n inputs = { size = 1 }\n}', "missing_input"),
    "depends on a variable": (COMPONENT.replace("inputs", "depends_on = [var.x]\ninputs"), "invalid_dependency"),
    "depends on nothing": (
        COMPONENT.replace("inputs", "depends_on = [component.b]\ninputs"),
        "undeclared_reference",
    ),
    "a directory without a module": ('component "a" { source = "./." }', "empty_module"),
    "a directory without a stack": ('stack "a" { source = "./m" }', "empty_stack"),
    "a stack in itself": ('stack "a" { source = "./." }', "cyclic_stack"),
    "a block that modules have": ('resource "a" "b" {}', "syntax.unsupported_block"),
    # ------------------------------------------------ references
    "variable": (COMPONENT.replace('"x"', "var.nothing"), "undeclared_reference"),
    "local value": (COMPONENT.replace('"x"', "local.nothing"), "undeclared_reference"),
    "component": (COMPONENT.replace('"x"', "component.b.id"), "undeclared_reference"),
    "output": (
        COMPONENT + COMPONENT.replace('"a"', '"b"').replace('"x"', "component.a.no"),
        "undeclared_output",
    ),
    "key of a single one": (
        COMPONENT + COMPONENT.replace('"a"', '"b"').replace('"x"', 'component.a["k"].id'),
        "unexpected_key",
    ),
    "each without for_each": (COMPONENT.replace('"x"', "each.key"), "each_without_for_each"),
    "what modules have": (COMPONENT.replace('"x"', "path.module"), "unknown_reference"),
    # ------------------------------------------------ variables and outputs
    "variable without a type": ('variable "a" { default = 1 }', "syntax.missing_argument"),
    "variable with a validation": ('variable "a" {\n type = string\n validation {}\n}', "syntax.unsupported_block"),
    "output without a type": ('output "a" { value = 1 }', "syntax.missing_argument"),
    "output with a condition": (
        'output "a" {\n type = number\n value = 1\n precondition {}\n}',
        "syntax.unsupported_block",
    ),
    "output of no type": ('output "a" {\n type = what\n value = 1\n}', "language.type_constraint"),
    # ------------------------------------------------ providers
    "provider that is not required": ('provider "x" "y" {}', "provider_not_required"),
    "two configurations": (
        REQUIRED.replace("config { region = var.region }", "config {}\nconfig {}"),
        "duplicate_config",
    ),
    "no such provider": (
        given(f"cloud = provider.cloud.no, {WEST}"),
        "undeclared_provider",
    ),
    "provider without its key": (
        given(f"cloud = provider.cloud.each, {WEST}"),
        "provider_key",
    ),
    "key of a single provider": (
        given(f'cloud = provider.cloud.this["a"], {WEST}'),
        "provider_key",
    ),
    "another provider": (
        given(f"cloud = provider.other.this, {WEST}"),
        "other_provider",
    ),
    "a provider too few": (given("cloud = provider.cloud.this"), "missing_provider"),
    "an alias that the module has not": (
        given(f"cloud = provider.cloud.this, {WEST}, cloud.no = provider.cloud.this"),
        "unexpected_provider",
    ),
    "no provider at all": (given("cloud = var.region"), "invalid_provider_reference"),
    # ------------------------------------------------ removed
    "removed and declared": (
        COMPONENT + 'removed {\n from = component.a\n source = "./m"\n}',
        "removed_still_declared",
    ),
    "removed what": ('removed {\n from = var.a\n source = "./m"\n}', "invalid_removed"),
    "removed with keys that name nothing": (
        'removed {\n for_each = ["k"]\n from = component.a\n source = "./m"\n}',
        "invalid_removed",
    ),
    "removed without a source": ("removed { from = component.a }", "syntax.missing_argument"),
}
DEPLOYED = 'deployment "d" { inputs = {} }\n'
WRONG_DEPLOYMENTS: dict[str, tuple[str, str]] = {
    "input that is missing": (DEPLOYED, "missing_input"),
    "no inputs": ('deployment "d" {}', "missing_input"),
    "input that the stack has not": ('deployment "d" { inputs = { n = 1, m = 1 } }', "undeclared_input"),
    "twice": ('deployment "d" { inputs = { n = 1 } }\n' * 2, "duplicate"),
    "group": (
        'deployment "d" {\n inputs = { n = 1 }\n deployment_group = deployment_group.g\n}',
        "undeclared_reference",
    ),
    "group that is none": (
        'deployment "d" {\n inputs = { n = 1 }\n deployment_group = local.g\n}',
        "reference_required",
    ),
    "rule": (
        'deployment_group "g" { auto_approve_checks = [deployment_auto_approve.r] }',
        "undeclared_reference",
    ),
    "rule without a check": ('deployment_auto_approve "r" {}', "rule_without_check"),
    "context": ('deployment_auto_approve "r" {\n check { condition = context.what }\n}', "unknown_reference"),
    "context in inputs": ('deployment "d" { inputs = { n = context.operation } }', "unknown_reference"),
    "variables of the stack": ('deployment "d" { inputs = { n = var.n } }', "unknown_reference"),
    "token": ('deployment "d" { inputs = { n = identity_token.t.jwt } }', "undeclared_reference"),
    "store": ('deployment "d" { inputs = { n = store.varset.t.key } }', "undeclared_reference"),
    "store type": ('store "file" "s" { id = "1" }', "store_type"),
    "store without a name": ('store "varset" "s" { category = "env" }', "store_name"),
    "category": ('store "varset" "s" {\n id = "1"\n category = "x"\n}', "store_category"),
    "no category": ('store "varset" "s" { id = "1" }', "store_category"),
    "upstream": ('upstream_input "u" {\n type = "x"\n source = "y"\n}', "upstream_type"),
    "published": ('publish_output "p" { value = deployment.no.x }', "undeclared_reference"),
    "orchestration": ('orchestrate "what" "x" {\n check { condition = true }\n}', "orchestration"),
    "inputs twice": ('deployment "d" {\n inputs = { n = 1 }\n variables = { n = 1 }\n}', "duplicate"),
    "meta-argument": ('deployment "d" {\n inputs = { n = 1 }\n for_each = []\n}', "syntax.unsupported_argument"),
}


def codes(problems: list[Diagnostic]) -> list[str]:
    return [d.code.removeprefix("config.") for d in problems if d.is_error]


@pytest.mark.parametrize("name", WRONG)
def test_what_is_wrong_with_components(name: str, tmp_path: Path) -> None:
    text, code = WRONG[name]
    _, problems = loaded(written(tmp_path, component=text))
    assert code in codes(problems)
    assert all(d.subject is not None for d in problems)


@pytest.mark.parametrize("name", WRONG_DEPLOYMENTS)
def test_what_is_wrong_with_deployments(name: str, tmp_path: Path) -> None:
    text, code = WRONG_DEPLOYMENTS[name]
    _, problems = loaded(written(tmp_path, component='variable "n" { type = number }', deploy=text))
    assert code in codes(problems)
    assert all(d.subject is not None for d in problems)


REMARKED: dict[str, tuple[dict[str, Any], str]] = {
    "input for nothing": ({"component": COMPONENT.replace("name =", "what = 1, name =")}, "config.undeclared_input"),
    "old ending": ({"stack": COMPONENT}, "config.old_ending"),
    "old orchestration": (
        {"component": "", "deploy": 'orchestrate "auto_approve" "x" {\n check { condition = context.success }\n}'},
        "config.old_orchestrate",
    ),
    "old variables": ({"component": "", "deploy": 'deployment "d" { variables = {} }'}, "config.old_variables"),
}


@pytest.mark.parametrize("name", REMARKED)
def test_what_is_warned_about(name: str, tmp_path: Path) -> None:
    texts, code = REMARKED[name]
    _, problems = loaded(written(tmp_path, **texts))
    assert [(d.severity, d.code) for d in problems] == [("warning", code)]


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ('provider "terraform" {}', "provider_in_component"),
        ('terraform {\n  backend "local" {}\n}', "backend_in_component"),
        ("terraform {\n  encryption {}\n}", "encryption_in_component"),
    ],
)
def test_what_modules_of_components_may_not_have(text: str, code: str, tmp_path: Path) -> None:
    written(tmp_path, component=COMPONENT)
    (tmp_path / "m" / "more.tf").write_text(text)
    assert codes(loaded(tmp_path)[1]) == [code]


def test_stacks_that_are_nested_too_deeply(tmp_path: Path) -> None:
    for number in range(40):
        folder = tmp_path.joinpath(*["s"] * number)
        folder.mkdir(exist_ok=True)
        (folder / "main.tfcomponent.hcl").write_text('stack "s" {\n  source = "./s"\n}\n' if number < 39 else "")
    _, problems = loaded(tmp_path)
    assert [(d.code, d.summary) for d in problems] == [("config.cyclic_stack", "Stacks are nested too deeply")]
