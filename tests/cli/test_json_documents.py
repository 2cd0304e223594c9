"""Documents for programs, as OpenTofu 1.12.6 prints them where that is easily missed."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from provider.plugins import attached, write_plugin

from .conftest import Ran

Planner = Callable[..., Ran]
MAIN = """
terraform {
  required_providers {
    foo = {
      source  = "hashicorp/aws"
      version = "~> 4.0, > 4.1"
    }
    g = {
      source  = "acme/google"
      version = "1.2.3"
    }
  }
}
provider "foo" { version = "> 3" }
provider "null" { version = "~> 3" }
resource "g_thing" "a" {}
module "registry" {
  source  = "acme/mod/aws"
  version = "~> 1.0"
}
module "git" { source = "github.com/acme/x//y" }
module "local" { source = "./../m/" }
module "up" { source = "../..//m" }
"""


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "x" / "root"
    folder.mkdir(parents=True)
    monkeypatch.chdir(folder)
    return folder


def test_sources_and_constraints_of_a_configuration(here: Path, planner: Planner) -> None:
    (here / "main.tf").write_text(MAIN)
    document = json.loads(planner("show", "-json", "-module=.").out)
    calls = document["root_module"]["module_calls"]
    assert {name: call["source"] for name, call in calls.items()} == {
        "registry": "acme/mod/aws",
        "git": "github.com/acme/x//y",
        "local": "./../m/",
        "up": "../..//m",
    }
    found = {
        key: (entry["full_name"], entry.get("version_constraint")) for key, entry in document["provider_config"].items()
    }
    assert found == {
        "foo": ("registry.opentofu.org/hashicorp/aws", "> 3.0.0, ~> 4.0, > 4.1.0"),
        "aws": ("registry.opentofu.org/hashicorp/aws", None),
        "g": ("registry.opentofu.org/acme/google", "1.2.3"),
        "google": ("registry.opentofu.org/acme/google", None),
        "null": ("registry.opentofu.org/hashicorp/null", "~> 3.0"),
    }


def test_schemas_of_the_builtin_provider(here: Path, planner: Planner) -> None:
    (here / "main.tf").write_text('resource "terraform_data" "a" {}')
    schemas = json.loads(planner("providers", "schema", "-json").out)["provider_schemas"]
    assert schemas["terraform.io/builtin/terraform"]["provider"] == {"version": 0}


def test_a_provider_without_arguments_has_a_block() -> None:
    from planner.answers.documents.json_schemas import provider_json
    from planner.foundation.values.schema import BlockSchema
    from planner.world.provider.interface import ProviderSchema

    assert provider_json(ProviderSchema(BlockSchema(), {}, {}))["provider"]["block"] == {"description_kind": "plain"}


def test_a_pulled_state_is_one_line(here: Path, planner: Planner) -> None:
    (here / "main.tf").write_text('resource "terraform_data" "a" {}\noutput "o" { value = 1 }')
    assert planner("apply", "-auto-approve").code == 0
    out = planner("state", "pull").out
    assert out.count("\n") == 1
    assert out.startswith('{"version":4,"terraform_version":"1.12.6","serial":1,"lineage":"')
    assert json.loads(out) == json.loads((here / "terraform.tfstate").read_text())


@pytest.mark.parametrize(
    ("words", "operation", "has_outputs"),
    [(("apply", "-destroy"), "apply", True), (("destroy",), "destroy", False)],
)
def test_the_end_of_destroying(
    here: Path, planner: Planner, words: tuple[str, ...], operation: str, has_outputs: bool
) -> None:
    (here / "main.tf").write_text('resource "terraform_data" "a" {}\noutput "o" { value = 1 }')
    assert planner("apply", "-auto-approve").code == 0
    lines = [json.loads(line) for line in planner(*words, "-json", "-auto-approve").out.splitlines()]
    assert [line["changes"]["operation"] for line in lines if line["type"] == "change_summary"] == ["plan", operation]
    assert (lines[-1]["type"] == "outputs") == has_outputs


def test_a_saved_plan_is_shown_without_its_providers(tmp_path, planner, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "main.tf").write_text(
        'terraform {\n  required_providers {\n    test = { source = "example.com/test/test" }\n  }\n}\n'
        'provider "test" {}\nresource "test_thing" "a" {\n  name = "a"\n  tags = { t = "one" }\n}\n'
    )
    (tmp_path / "world").mkdir()
    plugin = {"test": write_plugin(tmp_path / "bin")}
    with attached(plugin, TEST_PROVIDER_WORLD=str(tmp_path / "world")) as reattach:
        monkeypatch.setenv("TF_REATTACH_PROVIDERS", reattach)
        assert planner("apply", "-auto-approve").code == 0
        assert planner("plan", "-out=p", "-replace=test_thing.a").code == 0
        text, document = planner("show", "p").out, planner("show", "-json", "p").out
    monkeypatch.delenv("TF_REATTACH_PROVIDERS")
    shown = planner("show", "-no-color", "p")
    assert (shown.code, shown.out) == (0, text) and "test_thing.a will be replaced" in text
    assert planner("show", "-json", "p").out == document
    applied = planner("apply", "p")  # which needs the provider itself
    assert applied.code == 1 and "example.com/test/test" in applied.err
