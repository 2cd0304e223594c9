"""`vars`: values, where they come from, what they override, and what reads them."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from jsonschema import Draft202012Validator

from cli.conftest import Ran
from planner.api.schemas import schema

MODULE = """variable "image" {
  type    = string
  default = "web:1"
}

variable "password" {
  type      = string
  sensitive = true
  default   = "hunter2"
}

variable "zones" {
  type = object({ names = list(string), count = optional(number, 3) })
}

locals {
  release = "shop-${var.image}"
}
"""


@pytest.fixture
def module(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "main.tf").write_text(MODULE)
    (tmp_path / "terraform.tfvars").write_text('image = "web:2"\nzones = { names = ["a"] }\n')
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_each_source_and_what_it_overrides(
    module: Path, planner: Callable[..., Ran], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TF_VAR_image", "web:0")
    ran = planner("vars", "-var=image=web:3", "image")
    assert ran.code == 0
    assert ran.out == (
        "var.image\n"
        '  value      "web:3"\n'
        "  type       string\n"
        "  from       -var=image=...\n"
        '  overrides  "web:2"   terraform.tfvars:1\n'
        '  overrides  "web:0"   the environment variable TF_VAR_image\n'
        '  overrides  "web:1"   default, main.tf:3\n'
        "  read by    local.release   main.tf:17\n"
    )


def test_secrets_are_hidden(module: Path, planner: Callable[..., Ran]) -> None:
    for words in (["vars"], ["vars", "-json"], ["vars", "-var=password=hunter2"]):
        ran = planner(*words)
        assert ran.code == 0
        assert "hunter2" not in ran.out + ran.err
    assert '"hunter2"' in planner("vars", "-show-sensitive", "password").out


def test_the_document(module: Path, planner: Callable[..., Ran]) -> None:
    document = json.loads(planner("vars", "-json").out)
    Draft202012Validator(schema("vars")).validate(document)
    by_name = {one["name"]: one for one in document["variables"]}
    assert by_name["zones"]["value"] == {"count": 3, "names": ["a"]}
    assert by_name["zones"]["type"] == "object({ count = number, names = list(string) })"
    assert by_name["image"]["read_by"] == [{"address": "local.release", "place": "main.tf:17"}]
    assert "value" not in by_name["password"]


def test_a_missing_value_and_an_unknown_name(module: Path, planner: Callable[..., Ran]) -> None:
    (module / "terraform.tfvars").unlink()
    ran = planner("vars")
    assert ran.code == 1
    assert "value      (not set)" in ran.out
    assert "The variable zones has no default" in ran.err
    assert 'Did you mean "image"?' in planner("vars", "imag").err
