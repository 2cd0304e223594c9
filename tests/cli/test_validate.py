"""What is refused before anything is made: by validate, and by plan before it begins."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from .conftest import Ran

BUILTIN = 'terraform {\n  required_providers {\n    terraform = { source = "terraform.io/builtin/terraform" }\n  }\n}\n'
ALIASES = BUILTIN.replace('terraform" }', 'terraform", configuration_aliases = [terraform.west] }')
DATA = 'resource "terraform_data" "a" {\n  BODY\n}\n'
WEST = 'provider "terraform" {\n  alias = "west"\n}\n'
IMPORT = 'import {\n  to       = terraform_data.a\n  id       = "x"\n  provider = terraform\n}\n'
UNSUPPORTED, NO_FUNCTION = "Provisioner not supported", "Function not found in provider"
DIFFERENT, NO_BUILTIN = "Invalid import provider argument", "Invalid dependency on built-in provider"


def data(body: str) -> str:
    return DATA.replace("BODY", body)


REFUSED: dict[str, tuple[str, list[str]]] = {
    "an unknown provisioner": (data('provisioner "nope" {}'), [UNSUPPORTED]),
    "a file to nowhere": (data('provisioner "file" {}'), ["Missing required argument"]),
    "a file without contents": (
        data('provisioner "file" {\n  destination = ""\n}'),
        ["Invalid file provisioner configuration"] * 2,
    ),
    "two kinds of scripts": (
        data('provisioner "remote-exec" {\n  inline = ["true"]\n  script = "x"\n}'),
        ["Invalid remote-exec provisioner configuration"],
    ),
    "a connection by winrm": (
        data('provisioner "remote-exec" {\n  inline = ["true"]\n  connection {\n  type = "winrm"\n  host = "h"\n}\n}'),
        ["WinRM connections are not supported"],
    ),
    "connections that nothing can be reached by": (
        data('provisioner "remote-exec" {\n  inline = ["true"]\n  connection {\n  type = "telnet"\n  host = ""\n}\n}')
        + data(
            'provisioner "file" {\n  content = "x"\n  destination = "x"\n  connection {\n  host = "h"\n  port = 1.5\n'
            '  target_platform = "beos"\n  proxy_host = "h"\n  proxy_scheme = "socks5"\n}\n}'
        ).replace('"a"', '"b"'),
        ["Invalid connection"] * 5,
    ),
    "two resources": (
        data('provisioner "nope" {}') + data('provisioner "local-exec" {}').replace('"a"', '"b"'),
        [UNSUPPORTED, "Missing required argument"],
    ),
    "a command that is none": (data('provisioner "local-exec" { command = "" }'), ["Nothing to run"]),
    "an import through another provider": (WEST + data("provider = terraform.west") + IMPORT, [DIFFERENT]),
    "an import through a provider where the resource names none": (data("") + IMPORT, [DIFFERENT]),
    "a version of the builtin provider": (BUILTIN.replace('rm" }', 'rm", version = ">= 1" }'), [NO_BUILTIN]),
    "a builtin provider that is none": (BUILTIN.replace('builtin/terraform"', 'builtin/nope"'), ["Provider not found"]),
    "no such function": (BUILTIN + "locals { a = try(provider::terraform::nope(1), 2) }\n", [NO_FUNCTION]),
    "no such function in a branch": (
        BUILTIN + data("input = [for x in [1] : false ? provider::terraform::nope(x) : 1]"),
        [NO_FUNCTION],
    ),
    "a function of a provider that is not required": (
        'output "a" { value = can(provider::terraform::encode_expr(1)) }\n',
        ["Unknown function provider"],
    ),
    "a name that is none of a function": (
        BUILTIN + 'output "a" { value = can(provider::terraform(1)) }\n',
        ["Unable to parse provider function"],
    ),
}
VALID: dict[str, str] = {
    "a module that expects a provider from its caller": ALIASES + data("provider = terraform.west"),
    "one that also writes the configuration": ALIASES + WEST + data("provider = terraform.west"),
    "an import through the provider that the resource names": data("provider = terraform") + IMPORT,
    "an import where only the resource names a provider": (
        WEST + data("provider = terraform.west") + IMPORT.replace("  provider = terraform\n", "")
    ),
    "a command that is not known yet": 'variable "x" {}\n' + data('provisioner "local-exec" { command = var.x }'),
    "an unknown function that is not a provider's": "locals { a = can(nope()) }\n",
    "a function that is there": BUILTIN + "locals { a = try(provider::terraform::encode_expr(1), 2) }\n",
}


@pytest.fixture
def titles(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, planner: Callable[..., Ran]) -> Callable[[str], list[str]]:
    """The errors of a configuration, and whether plan gives the same."""
    monkeypatch.chdir(tmp_path)

    def titles(text: str) -> list[str]:
        Path("main.tf").write_text(text)
        said = json.loads(planner("validate", "-json").out)
        assert said["valid"] == (not said["error_count"])
        return [d["summary"] for d in said["diagnostics"] if d["severity"] == "error"]

    return titles


@pytest.mark.parametrize("name", REFUSED)
def test_what_syntax_tells_is_refused_at_once(
    name: str, titles: Callable[[str], list[str]], planner: Callable[..., Ran]
) -> None:
    text, expected = REFUSED[name]
    assert sorted(titles(text)) == sorted(expected)
    planned = planner("plan")
    assert planned.code == 1 and all(title in planned.err for title in expected)


def test_init_refuses_versions_of_the_builtin_provider(
    titles: Callable[[str], list[str]], planner: Callable[..., Ran]
) -> None:
    titles(REFUSED["a version of the builtin provider"][0])
    assert NO_BUILTIN in planner("init").err


@pytest.mark.parametrize("name", VALID)
def test_what_is_valid(name: str, titles: Callable[[str], list[str]]) -> None:
    assert titles(VALID[name]) == []


def test_a_module_to_be_called_cannot_be_planned_by_itself(
    titles: Callable[[str], list[str]], planner: Callable[..., Ran]
) -> None:
    assert titles(VALID["a module that expects a provider from its caller"]) == []
    assert "Provider configuration not present" in planner("plan").err


def test_a_mocked_provider_that_nothing_requires_is_not_installed(
    titles: Callable[[str], list[str]], planner: Callable[..., Ran]
) -> None:
    titles(data(""))
    run = 'run "a" {\n  assert {\n    condition     = terraform_data.a.id != ""\n    error_message = "no"\n  }\n}\n'
    Path("a.tftest.hcl").write_text('mock_provider "nowhere" {}\n' + run)
    assert planner("init").code == 0
    ran = planner("test")
    assert ran.code == 1
    assert "Missing required provider" in ran.out + ran.err


def test_what_validate_prints(titles: Callable[[str], list[str]], planner: Callable[..., Ran]) -> None:
    """One line; an error in an argument names its block, and no address."""
    titles(data(""))
    assert planner("validate").out == "Success! The configuration is valid.\n"
    titles(data("nope = 1"))
    ran = planner("validate")
    assert 'in resource "terraform_data" "a"' in ran.err
    assert "with terraform_data.a" not in ran.err
