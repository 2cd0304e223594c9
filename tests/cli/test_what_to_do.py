"""Common mistakes: the message names the cure, such as the nearest correct word or what to write instead."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

WEB = 'resource "terraform_data" "web" {}\n'
COUNTED = 'resource "terraform_data" "web" { count = 2 }\n'
KEYED = 'resource "terraform_data" "web" { for_each = toset(["blue", "green"]) }\n'
SHOWN = 'output "o" {{ value = {} }}\n'


def shown(expression: str) -> str:
    return SHOWN.format(expression)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        # names
        ("locals { test = true }\n" + shown("locals.test"), 'Did you mean "local.test"?'),
        ('variable "a" { default = 1 }\n' + shown("vars.a"), 'Did you mean "var.a"?'),
        ('variable "a" { type = strng }\n', '"strng" is not a type. Did you mean "string"?'),
        ('variable "a" { type = str }\n', 'Did you mean "string"?'),
        ('variable "a" { type = varchar }\n', "The types are string, number, bool, any, list,"),
        ('variable "a" { default = hello }\n', 'For a string, write double quotes: "hello".'),
        ('variable "a" { default = var.b }\n', "the value must be a constant"),
        # attributes and elements
        ("locals { o = { dev = 1, prod = 2 } }\n" + shown('local.o["pord"]'), 'named "pord". Did you mean "prod"?'),
        ("locals { o = { dev = 1, prod = 2 } }\n" + shown("local.o.qa"), 'named "qa". It has dev, prod.'),
        ("locals { o = { dev = 1 } }\n" + shown("local.o[terraform.workspace]"), 'named "default". It has dev.'),
        ("locals { m = tomap({ dev = 1, prod = 2 }) }\n" + shown('local.m["pord"]'), 'Did you mean "prod"?'),
        ("locals { m = tomap({ dev = 1 }) }\n" + shown("local.m.dve"), 'Did you mean "dev"?'),
        ("locals { l = [{ a = 1 }] }\n" + shown("local.l.a"), "the attribute of all elements by [*]"),
        (KEYED + shown('terraform_data.web["bleu"].id'), 'named "bleu". Did you mean "blue"?'),
        # instances
        (WEB + shown("terraform_data.web[0].id"), "so it has a single instance: remove the index."),
        (COUNTED + shown("terraform_data.web.id"), "or terraform_data.web[*] for all."),
        (KEYED + shown("terraform_data.web.id"), "or values(terraform_data.web)[*] for all."),
        ('resource "terraform_data" "a" { for_each = toset([1, 2]) }\n', "toset([for item in ... : tostring(item)])"),
        ('resource "terraform_data" "a" { for_each = toset([{ a = 1 }]) }\n', "item.ATTRIBUTE => item"),
        (WEB + 'resource "terraform_data" "a" { for_each = toset([terraform_data.web.id]) }\n', "a map with constant"),
        # functions
        (shown('list("a")'), "write tolist([...]), or only the brackets."),
        (shown('map("a", 1)'), "write tomap({...}), or only the braces."),
        (shown("max([1, 2])"), "write ... after the last argument."),
        (shown('lookup({ a = 1 }, "b")'), "the call has no default as its third argument."),
        (shown('file("man.tf")'), 'Did you mean "main.tf"?'),
        # references in lists and blocks
        (WEB + 'resource "terraform_data" "b" { depends_on = terraform_data.web }\n', "Write [terraform_data.web]."),
        (WEB + 'import {\n  to = "terraform_data.web"\n  id = "x"\n}\n', "names a resource instance without quotes"),
        (WEB + 'import {\n  to = terraform_data.wbe\n  id = "x"\n}\n', 'Did you mean "terraform_data.web"?'),
        (
            WEB + 'resource "terraform_data" "b" {\n  lifecycle { replace_triggered_by = [terraform_data.wbe] }\n}\n',
            'does not declare it. Did you mean "terraform_data.web"?',
        ),
        # blocks
        ('output "o" { value = 1 }\noutput "o" { value = 2 }\n', "There is already an output definition for o"),
        ('provider "terraform" {}\nprovider "terraform" {}\n', "give each additional one an alias."),
        (
            'resource "terraform_data" "a" { provider = terraform.west }\n',
            'Add a provider block with alias = "west", or change the argument provider.',
        ),
        ('terraform {\n  required_providers {\n    aws {\n    }\n  }\n}\n', "write aws = { ... }."),
        (
            'terraform {\n  required_providers {\n    aws = { version = "5.x" }\n  }\n}\n',
            "Constraints are written like",
        ),
    ],
)  # fmt: skip
def test_plan(text: str, words: str, planner: Callable[..., Any], tmp_path: Path, monkeypatch: Any) -> None:
    monkeypatch.chdir(tmp_path)
    Path("main.tf").write_text(text)
    ran = planner("plan", "-input=false", "-no-color")
    assert ran.code == 1
    assert words in " ".join((ran.out + ran.err).split())


def test_a_sensitive_object_does_not_show_its_names(
    planner: Callable[..., Any], tmp_path: Path, monkeypatch: Any
) -> None:
    monkeypatch.chdir(tmp_path)
    text = 'variable "s" {\n  default   = { hidden = 1 }\n  sensitive = true\n}\n'
    Path("main.tf").write_text(text + 'output "o" {\n  sensitive = true\n  value = var.s["hiden"]\n}\n')
    ran = planner("plan", "-input=false", "-no-color")
    assert ran.code == 1 and "no attribute of that name." in " ".join(ran.err.split())
    assert '"hidden"' not in ran.err


@pytest.mark.parametrize(
    ("files", "words", "argument"),
    [
        ({"terraform.tfvars": "imagee = 1\n"}, 'does not declare this variable. Did you mean "image"?', ""),
        ({"terraform.tfvars": "other = 1\n"}, 'To use it, add variable "other" {} to the configuration.', ""),
        ({"terraform.tfvars": "image = x\n"}, 'For a string, write double quotes: "x".', ""),
        ({}, 'declares no variable imagee. Did you mean "image"?', "-var=imagee=x"),
    ],
)
def test_values_of_variables(
    files: dict[str, str], words: str, argument: str, planner: Callable[..., Any], tmp_path: Path, monkeypatch: Any
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("main.tf").write_text('variable "image" { default = "v1" }\n')
    for name, text in files.items():
        Path(name).write_text(text)
    ran = planner("plan", "-input=false", "-no-color", *filter(None, [argument]))
    assert words in " ".join((ran.out + ran.err).split())


@pytest.mark.parametrize(
    ("source", "words"),
    [
        ('source = "./modules/vpcc"', 'Did you mean "modules/vpc"?'),
        ('source = "modules/vpc"', 'write "./modules/vpc".'),
        ('source = "./modules/vpc"\n  version = "1.0.0"', "have versions: remove the argument version."),
    ],
)
def test_sources_of_modules(
    source: str, words: str, planner: Callable[..., Any], tmp_path: Path, monkeypatch: Any
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("modules/vpc").mkdir(parents=True)
    Path("modules/vpc/main.tf").write_text("")
    Path("main.tf").write_text(f'module "m" {{\n  {source}\n}}\n')
    ran = planner("init", "-no-color")
    assert ran.code == 1
    assert words in " ".join((ran.out + ran.err).split())


@pytest.mark.parametrize(
    ("command", "words"),
    [
        (("state", "rm", "terraform_data.wbe"), "terraform_data are terraform_data.web[0], terraform_data.web[1]."),
        (("state", "mv", "terraform_data.one", "terraform_data.two"), "terraform_data are terraform_data.web[0]"),
        (("state", "show", "terraform_data.one"), "The objects of type terraform_data are terraform_data.web[0]"),
        (("state", "list", "null_resource.one"), "To list its content: planner state list."),
        (("workspace", "select", "defaul"), 'Did you mean "default"?'),
        (("taint", "terraform_data.web"), 'terraform_data.web[0]'),
        (("state", "rm", "terraform_data.web[a]"), "'terraform_data.web[\"a\"]'"),
    ],
)  # fmt: skip
def test_addresses_in_states(
    command: tuple[str, ...], words: str, planner: Callable[..., Any], tmp_path: Path, monkeypatch: Any
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("main.tf").write_text(COUNTED)
    assert planner("apply", "-auto-approve", "-no-color").code == 0
    ran = planner(*command)
    assert ran.code == 1
    assert words in " ".join((ran.out + ran.err).split())


@pytest.mark.parametrize(
    "text",
    [
        "<<<<<<< HEAD\n",
        'provider "registry.opentofu.org/hashicorp/http" {\n  version = "~> 2.0"\n}\n',
        'provider "http" {\n  version = "2.0.0"\n}\n',
        2 * 'provider "registry.opentofu.org/hashicorp/http" {\n  version = "2.0.0"\n}\n',
    ],
)
@pytest.mark.parametrize("command", ["plan", "validate", "init"])
def test_a_damaged_lock_file_is_refused_by_configurations_that_need_no_provider(
    text: str, command: str, planner: Callable[..., Any], tmp_path: Path, monkeypatch: Any
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("main.tf").write_text(WEB)
    Path(".terraform.lock.hcl").write_text(text)
    ran = planner(command, "-no-color")
    assert ran.code == 1
    assert ".terraform.lock.hcl" in ran.out + ran.err


def test_new_selections_that_may_not_be_recorded(planner: Callable[..., Any], tmp_path: Path, monkeypatch: Any) -> None:
    monkeypatch.chdir(tmp_path)
    Path("main.tf").write_text(WEB)
    ran = planner("init", "-upgrade", "-lockfile=readonly", "-no-color")
    assert ran.code == 1 and "Conflicting options" in ran.out + ran.err


@pytest.mark.parametrize("value", ['[for x in ["a"] x]', 'local.l."k"', "var.a?.b", '{ for x in ["a"] : x = 1 }'])
def test_a_mistake_on_one_line_is_one_error(
    value: str, planner: Callable[..., Any], tmp_path: Path, monkeypatch: Any
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("main.tf").write_text(shown(value))
    ran = planner("validate", "-no-color")
    assert (ran.out + ran.err).count("Error: ") == 1
