"""Completion, documentation in place, signatures and values."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from provider.plugins import SOURCE, write_plugin

from editor.client import Document, Editor
from planner.world.provider.locate import own_platform
from planner.world.provider.plugin.provider import PluginProvider

MAIN = """\
terraform {
  required_providers {
    test = { source = "SOURCE" }
  }
}

variable "size" {
  description = "How large it is."
  type        = number
  default     = 3
}

variable "who" {
  type    = object({ name = string, tags = list(string) })
  default = { name = "a", tags = [] }
}

locals {
  twice = var.size * 2
}

data "terraform_remote_state" "far" {
  backend = "local"
}

resource "terraform_data" "one" {
  input = local.twice
}

resource "terraform_data" "many" {
  count = 2
}

module "child" {
  source = "./child"
  name   = "x"
}

resource "test_thing" "t" {
  name = "x"
}

output "twice" {
  value = local.twice
}
""".replace("SOURCE", SOURCE)
CHILD = """\
variable "name" {
  type        = string
  description = "The name."
}

variable "options" {
  type    = object({ deep = object({ a = number }), flat = bool })
  default = null
}

output "id" {
  description = "The identity."
  value       = var.name
}
"""


@pytest.fixture(scope="module")
def module(shared: tuple[Editor, Path]) -> Path:
    """A module with a provider whose schema is in the cache, and which cannot be started."""
    folder = shared[1] / "completion"
    (folder / "child").mkdir(parents=True)
    (folder / "child" / "main.tf").write_text(CHILD)
    (folder / "main.tf").write_text(MAIN)
    (folder / "terraform.tfvars").write_text("size = 4\n")
    host = folder / ".terraform" / "providers" / SOURCE / "1.0.0" / own_platform()
    host.mkdir(parents=True)
    program = host / f"terraform-provider-{SOURCE.rpartition('/')[2]}"
    program.write_bytes(b"\x7fELF")
    program.chmod(0o755)
    world = folder.parent / "world"
    world.mkdir()
    before = dict(os.environ)
    os.environ["TEST_PROVIDER_WORLD"] = str(world)
    plugin = PluginProvider(SOURCE, [str(write_plugin(folder.parent / "bin"))], str(program))
    try:
        plugin.schema()
    finally:
        plugin.close()
        os.environ.clear()
        os.environ.update(before)
    return folder


@pytest.fixture
def main(editor: Editor, module: Path) -> Iterator[Document]:
    document = editor.open(module / "main.tf")
    yield document
    document.close()


def _items(main: Document, end: str) -> dict[str, Any]:
    """The completions at the end of a text behind the file's own."""
    main.change(f"{MAIN}\n{end}")
    return {item["label"]: item for item in main.ask("completion", f"{end}|")["items"]}


def _value(main: Document, expression: str) -> dict[str, Any]:
    return _items(main, f"locals {{\n  x = {expression}")


def test_statements(main: Document) -> None:
    assert {"resource", "variable", "locals", "moved"} <= _items(main, "").keys()
    assert {"type", "default", "validation"} <= _items(main, 'variable "x" {\n  ').keys()
    assert {"create_before_destroy"} <= _items(main, 'resource "terraform_data" "x" {\n  lifecycle {\n    cr').keys()
    found = _items(main, 'resource "terraform_data" "x" {\n  ')
    assert {"input", "triggers_replace", "count", "lifecycle"} <= found.keys() and "id" not in found
    assert found["input"]["detail"].startswith("any, optional") and found["input"]["insertText"] == "input = "
    found = _items(main, 'module "child" {\n  source = "./child"\n  ')
    assert found["name"]["detail"] == "string, required" and found["name"]["documentation"]["value"] == "The name."


def test_schemas_of_providers_come_from_the_cache(main: Document) -> None:
    assert "test_thing" in _items(main, 'resource "test_')
    found = _items(main, 'resource "test_thing" "x" {\n  ')
    assert {"name", "rule"} <= found.keys()
    found = _items(main, 'resource "test_thing" "x" {\n  name = "a"\n  lifecycle {\n  }\n  ')
    assert "name" not in found and {"rule", "count"} <= found.keys()
    assert _items(main, 'resource "test_thing" "x" {\n  rule {\n    ').keys() - {"dynamic"}
    assert _items(main, 'provider "test" {\n  ').keys() >= {"alias", "prefix"}
    assert "terraform_remote_state" in _items(main, 'data "')
    assert "name" in _value(main, "test_thing.t.")
    main.change(MAIN)
    assert not [problem for problem in main.problems() if problem["severity"] == 1]


def test_values(main: Document) -> None:
    found = _value(main, "")
    assert {"var", "local", "module", "data", "terraform_data", "test_thing", "true", "upper"} <= found.keys()
    assert found["upper"]["detail"] == "upper(str: string): string"
    found = _value(main, "var.")
    assert found["size"]["detail"] == "number" and found["size"]["documentation"]["value"] == "How large it is."
    expected: dict[str, set[str]] = {
        "local.t": {"twice", "x"},
        "module.": {"child"},
        "module.child.": {"id"},
        "data.": {"terraform_remote_state"},
        "data.terraform_remote_state.": {"far"},
        "data.terraform_remote_state.far.": {"backend", "config", "outputs", "defaults", "workspace"},
        "terraform_data.": {"one", "many"},
        "terraform_data.one.": {"id", "input", "output", "triggers_replace"},
        "terraform_data.many[0].": {"id", "input", "output", "triggers_replace"},
        "var.who.": {"name", "tags"},
        "path.": {"module", "root", "cwd"},
        "each.": {"key", "value"},
        'upper("a${var.': {"size", "who"},
        "[for x in var.who.tags : module.child.": {"id"},
    }
    for text, names in expected.items():
        labels = _value(main, text).keys()
        assert labels - {"store"} == names, text
    assert _value(main, "test_unknown.a.") == {}
    assert _value(main, '"var.') == {} == _value(main, "1 # var.")
    assert _items(main, 'module "child" {\n  source  = "./child"\n  options = {\n    ').keys() == {"deep", "flat"}
    assert _items(main, 'module "child" {\n  source = "./child"\n  options = {\n    deep = {\n      ').keys() == {"a"}
    assert {"string", "object"} <= _items(main, 'variable "x" {\n  type = ').keys()


def test_names_of_values_files(editor: Editor, module: Path) -> None:
    values = editor.open(module / "terraform.tfvars")
    values.change("size = 4\n\n")
    params = {"textDocument": {"uri": values.uri}, "position": {"line": 1, "character": 0}}
    items = editor.request("textDocument/completion", params)["items"]
    assert [(item["label"], item["insertText"]) for item in items] == [("size", "size = "), ("who", "who = ")]
    values.close()


def test_snippets_for_editors_that_have_them(tmp_path: Path) -> None:
    capabilities = {"textDocument": {"completion": {"completionItem": {"snippetSupport": True}}}}
    editor = Editor(tmp_path, more={"capabilities": capabilities})
    document = editor.open(tmp_path / "main.tf", "\n")
    items = {item["label"]: item for item in document.ask("completion", "|\n")["items"]}
    assert items["resource"]["insertText"] == 'resource "${1:name}" "${2:name}" {\n  $0\n}'
    assert editor.close() == 0


def _hover(document: Document, part: str) -> str:
    found = document.ask("hover", part)
    return found["contents"]["value"] if found is not None else ""


def test_hover(main: Document) -> None:
    main.change(MAIN)
    text = _hover(main, "var.si|ze * 2")
    assert 'variable "size": number' in text and "How large it is." in text and "value: `4`" in text
    assert "value: `8`" in _hover(main, "input = local.tw|ice")
    assert "`./child`: variables: 2, outputs: 1" in _hover(main, 'module "ch|ild"')
    assert 'variable "name": string' in _hover(main, "  na|me   =")
    text = _hover(main, 'resource "test_thing" "|t"')
    assert f"provider `{SOURCE}`" in text and 'resource "test_thing" "t"' in text
    assert "name: string" in _hover(main, 't" {\n  na|me')
    assert 'resource "terraform_data" "one"' in _hover(main, '"terraform|_data" "one"')
    main.change(
        f'{MAIN}\nlocals {{\n  a = upper("x")\n  b = terraform_data.one.id\n  c = terraform_data.many[0].input\n}}\n'
    )
    assert "upper(str: string): string" in _hover(main, "up|per(")
    assert "id: string, read-only" in _hover(main, "one.i|d")
    assert "input" in _hover(main, "[0].inp|ut")
    assert _hover(main, "|# nothing") == "" if "# nothing" in main.text else True


def test_signatures(main: Document) -> None:
    main.change(f'{MAIN}\nlocals {{\n  a = cidrsubnet("10.0.0.0/8", max(1, 2), 3)\n}}\n')
    found = main.ask("signatureHelp", "max(1, 2), |3")
    assert found["signatures"][0]["label"].startswith("cidrsubnet(") and found["activeParameter"] == 2
    found = main.ask("signatureHelp", "max(1, |2)")
    assert found["signatures"][0]["label"].startswith("max(") and found["activeParameter"] == 0
    assert main.ask("signatureHelp", "|locals {\n  a") is None


def test_inlay_hints_show_values(main: Document) -> None:
    main.change(MAIN.replace("sensitive", ""))
    everything = {"start": {"line": 0, "character": 0}, "end": {"line": 999, "character": 0}}
    hints = {(hint["position"]["line"], hint["label"]) for hint in main.ask("inlayHint", range=everything)}
    lines = MAIN.split("\n")
    assert {(lines[line].strip(), label) for line, label in hints} == {
        ('variable "size" {', " = 4"),
        ("twice = var.size * 2", " = 8"),
        ("value = local.twice", " = 8"),
    }
    top = {"start": {"line": 0, "character": 0}, "end": {"line": 2, "character": 0}}
    assert main.ask("inlayHint", range=top) == []


def test_sensitive_values_are_not_shown(editor: Editor, folder: Path) -> None:
    text = 'variable "key" {\n  sensitive = true\n  default   = "hush"\n}\n\nlocals {\n  a = "${var.key}!"\n}\n'
    document = editor.open(folder / "main.tf", text)
    everything = {"start": {"line": 0, "character": 0}, "end": {"line": 99, "character": 0}}
    shown = (
        repr(document.ask("inlayHint", range=everything)) + _hover(document, "var.k|ey") + _hover(document, "  |a =")
    )
    assert "hush" not in shown and "sensitive" in shown


def test_words_of_the_language_have_hover(editor: Editor, folder: Path) -> None:
    text = 'resource "terraform_data" "a" {\n  for_each = toset(["x"])\n  input = [each.key, path.module]\n'
    text += "  lifecycle {\n    ignore_changes = [input]\n  }\n}\n"
    document = editor.open(folder / "main.tf", text)
    shown = {"for|_each": "each.value", "ea|ch.key": "for_each", "each.k|ey": "for_each", "path.mo|dule": "path.root"}
    for part, word in {**shown, "life|cycle": "replaced", "ignore|_ch": "differences"}.items():
        assert word in document.ask("hover", part)["contents"]["value"], part


JSON = """\
{
  "variable": {"size": {"type": "number", "default": 3}},
  "locals": {"twice": "${var.size * 2}"},
  "module": {"child": {"source": "./child", "name": "x"}},
  "resource": {
    "terraform_data": {
      "one": {
        "input": "HERE"
      }
    }
  },
  "output": {"id": {"value": "OUT"}}
}
"""


def test_files_in_json(editor: Editor, folder: Path) -> None:
    (folder / "child").mkdir()
    (folder / "child" / "main.tf").write_text(CHILD)
    main = editor.open(folder / "main.tf.json", JSON)
    main.problems()

    def names(old: str, part: str) -> dict[str, Any]:
        """The completions at `|` of a part that takes the place of an old one."""
        main.change(JSON.replace(old, part.replace("|", "")))
        items = main.ask("completion", part)["items"]
        return {one["label"]: one.get("insertText", one["label"]) for one in items}

    assert {"var", "local", "module"} < set(names("HERE", "${|}")) and names("HERE", "${max(|}")["min"] == "min("
    assert names("HERE", "a ${var.|}") == {"size": "size"} and names("HERE", "${local.|") == {"twice": "twice"}
    assert names("HERE", "|") == {} == names("HERE", "${var.size} and |") == names("HERE", "$${|")
    assert names('"OUT"', '"${module.child.|}"') == {"id": "id"}
    assert names('"OUT"', '"${module.child.|') == {"id": "id"}  # the rest of the file is not valid
    arguments = names('"input": "HERE"', '"input": "a", "|"')
    assert {"triggers_replace", "lifecycle", "count"} < set(arguments) and "input" not in arguments
    assert arguments["lifecycle"] == "lifecycle" and arguments["count"] == "count"
    assert "prevent_destroy" in names('"input": "HERE"', '"lifecycle": {"|"}')
    assert set(names('"name": "x"', '"|"')) >= {"name", "options", "for_each"}
    assert set(names('"name": "x"', '"options": {"|"}')) == {"deep", "flat"}
    assert set(names('"name": "x"', '"options": [{"deep": {"|"}}]')) == {"a"}
    assert "terraform_data" in names('"terraform_data": {', '"|": {')
    blocks = names('"output"', '"|"')
    assert {"data", "check", "output"} <= set(blocks) and "resource" not in blocks  # one name for all of them
    assert "string" in names('"type": "number"', '"type": "|"')
    assert names('"input": "HERE"', '"depends_on": ["module.|"]') == {"child": "child"}
    values = editor.open(folder / "terraform.tfvars.json", '{"": 1}')
    assert [one["label"] for one in values.ask("completion", '{"|"')["items"]] == ["size"]
