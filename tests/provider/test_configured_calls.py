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


BY = 'provider "test" {\n  alias    = "by"\n  for_each = toset(%s)\n  prefix   = each.key\n}\n'
ONE_BY = 'provider "test" {\n  alias  = "by"\n  prefix = "one"\n}\n'
MODULE = 'module "m" {\n  source    = "./m"\n  for_each  = toset(%s)\n  providers = { test = test.%s }\n}\n'


def things(keys: str, provider: str) -> str:
    lines = f"  for_each = toset({keys})\n  name     = each.key\n  provider = {provider}\n"
    return 'resource "test_thing" "t" {\n' + lines + "}\n"


BOTH, FIRST, NONE = '["a", "b"]', '["a"]', "[]"
KEYED = BY % BOTH + things(BOTH, "test.by[each.key]")
KEYED_MODULES = BY % BOTH + MODULE % (BOTH, "by[each.key]")
MISSING = "Provider instance not present"
ENDS: dict[str, tuple[str, str, str, str | list[str]]] = {
    "the block has no key any more": (KEYED, BY % BOTH + WEST + things(FIRST, "test.west"), "apply", ["west"]),
    "the block has no key and no instance": (KEYED, BY % BOTH + WEST + things(NONE, "test.west"), "apply", ["west"]),
    "the configuration has no for_each any more": (KEYED, ONE_BY + things(FIRST, "test.by"), "apply", ["one"]),
    "everything is destroyed without a key": (KEYED, WEST + things(FIRST, "test.west"), "destroy", ["west"]),
    "the block is gone": (KEYED, BY % BOTH, "apply", ["a", "b"]),
    "another configuration has the keys": (
        KEYED,
        (BY % BOTH).replace('"by"', '"other"') + things(FIRST, "test.other[each.key]"),
        "apply",
        ["a", "b"],
    ),
    "the call has no key any more": (
        KEYED_MODULES,
        BY % BOTH + WEST + MODULE % (FIRST, "west"),
        "apply",
        ["west"],
    ),
    "everything below a call is destroyed without a key": (
        KEYED_MODULES,
        WEST + MODULE % (FIRST, "west"),
        "destroy",
        ["west"],
    ),
    "the key is gone": (KEYED, BY % FIRST + things(FIRST, "test.by[each.key]"), "apply", MISSING),
    "the block and for_each are gone": (KEYED, ONE_BY, "apply", MISSING),
    "the configuration has for_each now": (
        ONE_BY + things(BOTH, "test.by"),
        BY % BOTH + things(FIRST, "test.by[each.key]"),
        "apply",
        "now has for_each",
    ),
}


@pytest.mark.parametrize("name", ENDS)
def test_the_configuration_of_objects_that_end(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """`configured`: the prefixes of the configurations that the last command uses, or what it says when it cannot."""
    before, after, command, configured = ENDS[name]
    world = override(monkeypatch, tmp_path)
    folder = tmp_path / "project"
    (folder / "m").mkdir(parents=True)
    (folder / "m" / "m.tf").write_text(REQUIRED + THING)
    monkeypatch.chdir(folder)
    out = io.StringIO()
    for text, words in ((before, ["init"]), (before, ["apply", "-auto-approve"]), (after, [command, "-auto-approve"])):
        (world / "configured").unlink(missing_ok=True)
        (folder / "main.tf").write_text(REQUIRED + text)
        code = main.dispatch(words, Terminal(io.StringIO(), out, out))
    if isinstance(configured, str):
        assert code == 1
        assert configured in out.getvalue().replace("\n", " ")
    else:
        assert code == 0, out.getvalue()
        assert sorted({json.loads(line) for line in (world / "configured").read_text().splitlines()}) == configured
