"""Which provider configurations a plan makes of provider blocks, told by the calls that the plugin gets."""

from __future__ import annotations

import io
import json
from pathlib import Path

import pytest
from provider.plugins import SOURCE, override

from planner.cli import main
from planner.render.terminal import Terminal

REQUIRED = f'terraform {{\n  required_providers {{\n    test = {{ source = "{SOURCE}" }}\n  }}\n}}\n'
THING = 'resource "test_thing" "t" { name = "t" }\n'
WEST = 'provider "test" {\n  alias  = "west"\n  prefix = "west"\n}\n'
BY_KEY = 'provider "test" {\n  alias    = "by"\n  for_each = { a = 1, b = 2 }\n  prefix   = each.key\n}\n'

CASES: dict[str, tuple[str, str, list[str | None]]] = {
    "an empty block takes what is passed": (
        WEST + 'module "m" {\n  source    = "./m"\n  providers = { test = test.west }\n}\n',
        'provider "test" {}\n' + THING,
        ["west"],
    ),
    "an empty block with an alias takes what is passed": (
        WEST + 'module "m" {\n  source    = "./m"\n  providers = { test.x = test.west }\n}\n',
        'provider "test" {\n  alias = "x"\n}\nresource "test_thing" "t" {\n  name     = "t"\n  provider = test.x\n}\n',
        ["west"],
    ),
    "an empty block takes one of several": (
        BY_KEY + 'module "m" {\n  source    = "./m"\n  for_each  = toset(["a", "b"])\n'
        "  providers = { test = test.by[each.key] }\n}\n",
        'provider "test" {}\n' + THING,
        ["a", "b"],
    ),
    "an empty block that nothing is passed for is a configuration": (
        WEST + 'module "m" {\n  source = "./m"\n}\n',
        'provider "test" {}\n' + THING,
        [None],
    ),
    "a block in the module is its own": (
        WEST + 'module "m" {\n  source = "./m"\n}\n',
        'provider "test" {\n  prefix = "mine"\n}\n' + THING,
        ["mine"],
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_calls_of_configure(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    root, module, prefixes = CASES[name]
    world = override(monkeypatch, tmp_path)
    folder = tmp_path / "project"
    (folder / "m").mkdir(parents=True)
    (folder / "main.tf").write_text(REQUIRED + root)
    (folder / "m" / "m.tf").write_text(REQUIRED + module)
    monkeypatch.chdir(folder)
    for words in (["init"], ["plan"]):
        out = io.StringIO()
        assert main.dispatch(words, Terminal(io.StringIO(), out, out)) == 0, out.getvalue()
    asked = [json.loads(line) for line in (world / "configured").read_text().splitlines()]
    assert sorted(asked, key=str) == prefixes
