"""Definitions, references, symbols and rename across the modules of a workspace."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from editor.client import Document, Editor, LspError, applied, text_at

CHILD = """\
variable "name" {
  type = string
}

resource "terraform_data" "thing" {
  input = var.name
}

output "id" {
  value = terraform_data.thing.id
}
"""
ROOT = """\
locals {
  base = "x"
}

module "one" {
  source = "./child"
  name   = local.base
}

module "two" {
  source   = "./child"
  for_each = toset(["a"])
  name     = "${local.base}-${each.key}"
}

resource "terraform_data" "all" {
  input = [module.one.id, module.two["a"].id, local.base]
}

moved {
  from = terraform_data.old
  to   = terraform_data.all
}
"""


@pytest.fixture
def tree(folder: Path) -> Path:
    (folder / "child").mkdir()
    (folder / "child" / "main.tf").write_text(CHILD)
    (folder / "main.tf").write_text(ROOT)
    (folder / "more.tf").write_text('output "more" {\n  value = terraform_data.all.output\n}\n')
    (folder / "child" / "tests").mkdir()
    (folder / "child" / "tests" / "a.tftest.hcl").write_text('variables {\n  name = "x"\n}\n\nrun "a" {}\n')
    return folder


def _places(found: Any, folder: Path) -> list[tuple[str, str]]:
    texts = {}
    for place in found:
        path = Path(place["uri"].removeprefix("file://"))
        texts[place["uri"]] = path.read_text()
    return [
        (str(Path(p["uri"].removeprefix("file://")).relative_to(folder)), text_at(p["range"], texts[p["uri"]]))
        for p in found
    ]


def test_definitions(editor: Editor, tree: Path) -> None:
    main = editor.open(tree / "main.tf")
    expected = {
        "name   = local.|base": [("main.tf", "base")],
        "module.|one.id": [("main.tf", "one")],
        "module.one.|id": [("child/main.tf", "id")],
        'module.two["a"].|id': [("child/main.tf", "id")],
        "  |name   =": [("child/main.tf", "name")],
        'source = "./ch|ild"': [("child/main.tf", "")],
        "to   = terraform_data.|all": [("main.tf", "all")],
        "for_|each": [],
    }
    for part, places in expected.items():
        assert _places(main.ask("definition", part), tree) == places, part


def _references(document: Document, part: str, folder: Path, declared: bool = False) -> list[str]:
    found = document.ask("references", part, context={"includeDeclaration": declared})
    return [name for name, _ in _places(found, folder)]


def test_references(editor: Editor, tree: Path) -> None:
    main, child = editor.open(tree / "main.tf"), editor.open(tree / "child" / "main.tf")
    assert _references(main, "  ba|se =", tree) == ["main.tf"] * 3
    assert _references(child, 'output "i|d"', tree, True) == ["child/main.tf", "main.tf", "main.tf"]
    assert _references(child, 'variable "na|me"', tree) == [
        "child/main.tf",
        "child/tests/a.tftest.hcl",
        "main.tf",
        "main.tf",
    ]
    assert _references(main, 'terraform_data" "a|ll"', tree) == ["main.tf", "more.tf"]
    assert _references(main, 'module "o|ne"', tree) == ["main.tf"]
    kinds = [one["kind"] for one in main.ask("documentHighlight", "  ba|se =")]
    assert kinds == [3, 2, 2, 2]


def test_symbols_of_the_workspace(editor: Editor, tree: Path) -> None:
    editor.open(tree / "main.tf")
    found = editor.request("workspace/symbol", {"query": "tformdathing"})
    names = {one["name"] for one in found if tree.name in one["location"]["uri"]}
    assert names == {"terraform_data.thing"}
    everything = editor.request("workspace/symbol", {"query": ""})
    keys = {one["name"] for one in everything if f"/{tree.name}/" in one["location"]["uri"]}
    assert {"var.name", "output.id", "module.one", "local.base", "terraform_data.all"} <= keys


def _renamed(document: Document, part: str, name: str, folder: Path) -> dict[str, str]:
    return applied(document.ask("rename", part, newName=name), folder)


def test_renames_follow_modules(editor: Editor, tree: Path) -> None:
    child = editor.open(tree / "child" / "main.tf")
    result = _renamed(child, "input = var.na|me", "title", tree)
    assert result == {
        "child/main.tf": CHILD.replace('"name"', '"title"').replace("var.name", "var.title"),
        "child/tests/a.tftest.hcl": 'variables {\n  title = "x"\n}\n\nrun "a" {}\n',
        "main.tf": ROOT.replace("  name ", "  title "),
    }
    result = _renamed(editor.open(tree / "main.tf"), "module.one.i|d", "number", tree)
    assert result == {
        "child/main.tf": CHILD.replace('output "id"', 'output "number"'),
        "main.tf": ROOT.replace("one.id", "one.number").replace('["a"].id', '["a"].number'),
    }


def test_renamed_objects_are_moved(editor: Editor, tree: Path) -> None:
    main = editor.open(tree / "main.tf")
    result = _renamed(main, "module.|two", "second", tree)
    block = "moved {\n  from = module.two\n  to   = module.second\n}\n"
    assert result["main.tf"].count("module.second") == 2 and block in result["main.tf"]
    result = _renamed(main, 'terraform_data" "a|ll"', "every", tree)
    assert "  to   = terraform_data.all\n" in result["main.tf"]  # the history stays
    assert "moved {\n  from = terraform_data.all\n  to   = terraform_data.every\n}" in result["main.tf"]
    assert result["more.tf"] == 'output "more" {\n  value = terraform_data.every.output\n}\n'
    for path, text in result.items():
        (tree / path).write_text(text)
    main.close()
    again = editor.open(tree / "main.tf")
    assert again.problems() == []
    with pytest.raises(LspError, match=r"names terraform_data\.old"):
        again.ask("rename", 'terraform_data" "every|"', newName="old")


@pytest.mark.parametrize(
    ("part", "name", "message"),
    [
        ("  ba|se =", "1x", "not a valid name"),
        ("  ba|se =", "", "not a valid name"),
        ('module "o|ne"', "two", "already declared"),
        ("for_|each", "x", "no name here"),
        ("each.|key", "x", "no name here"),
    ],
)
def test_renames_that_are_refused(editor: Editor, tree: Path, part: str, name: str, message: str) -> None:
    main = editor.open(tree / "main.tf")
    with pytest.raises(LspError, match=message):
        main.ask("rename", part, newName=name)


def test_the_range_of_a_name(editor: Editor, tree: Path) -> None:
    main = editor.open(tree / "main.tf")
    assert text_at(main.ask("prepareRename", "module.one.|id"), ROOT) == "id"
    with pytest.raises(LspError):
        main.ask("prepareRename", "|locals")


def test_folders_are_added_and_removed(editor: Editor, folder: Path, tmp_path: Path) -> None:
    document = editor.open(folder / "main.tf", 'variable "size" {}\n')
    source = os.path.relpath(folder, tmp_path)
    (tmp_path / "main.tf").write_text(f'module "x" {{\n  source = "{source}"\n  size   = 1\n}}\n')
    other = [{"uri": tmp_path.as_uri(), "name": "other"}]
    for added, removed, count in (([], [], 1), (other, [], 2), ([], other, 1)):
        editor.notify("workspace/didChangeWorkspaceFolders", {"event": {"added": added, "removed": removed}})
        assert len(document.ask("references", '"|size', context={"includeDeclaration": True})) == count


def test_edits_have_the_line_ends_of_their_file(editor: Editor, folder: Path) -> None:
    document = editor.open(folder / "main.tf", 'resource "terraform_data" "a" {\r\n}\r\n')
    text = applied(document.ask("rename", '"|a"', newName="b"), folder)["main.tf"]
    assert "moved" in text and "\n" not in text.replace("\r\n", "")


def test_outputs_after_any_key_are_references(editor: Editor, folder: Path) -> None:
    (folder / "m").mkdir()
    (folder / "m" / "main.tf").write_text('output "id" {\n  value = 1\n}\n')
    text = 'module "m" {\n  source   = "./m"\n  for_each = toset(["a"])\n}\n\n'
    text += 'locals {\n  k = "a"\n  a = module.m[local.k].id\n}\n'
    document = editor.open(folder / "main.tf", text + 'output "b" {\n  value = module.m[*].id\n}\n')
    after = applied(editor.open(folder / "m" / "main.tf").ask("rename", '"|id"', newName="key"), folder)["main.tf"]
    assert "module.m[local.k].key" in after and "module.m[*].key" in after
    assert _references(document, "module.m[local.k].|id", folder) == ["main.tf"] * 2


@pytest.mark.parametrize("repeated", ["  for_each = local.all\n", ""], ids=["repeated", "single"])
@pytest.mark.parametrize(
    "use",
    [
        "[for v in module.m : v.{}]",
        "{{ for k, v in module.m : v.{} => k if v.{} != null }}",
        "[for v in values(module.m) : v.{}]",
        "values(module.m)[*].{}",
        '"%{{ for v in module.m }}${{v.{}}}%{{ endfor }}"',
        "[for v in module.m : [for w in [v] : v.{}]]",
    ],
    ids=["for", "object", "values", "splat", "template", "nested"],
)
def test_outputs_of_instances_are_references(editor: Editor, folder: Path, repeated: str, use: str) -> None:
    other = "[for v in local.all : [v.out, [for w in module.m : [for w in local.all : w.out]]]]"
    call = f'module "m" {{\n{repeated}  source = "./m"\n}}\n\n'
    text = f"{call}locals {{\n  a = {use.format('out', 'out')}\n  b = {other}\n}}\n"
    (folder / "main.tf").write_text(text)
    output = editor.open(folder / "m" / "m.tf", 'output "out" {\n  value = 1\n}\n')
    after = applied(output.ask("rename", '"o|ut"', newName="new"), folder)
    expected = text.replace(use.format("out", "out"), use.format("new", "new"))
    assert after.get("main.tf") == (expected if repeated else None)


def test_attributes_of_a_value_are_defined_where_its_type_has_them(editor: Editor, folder: Path) -> None:
    text = 'variable "net" {\n  type = object({\n    size = number\n    zone = object({ size = string })\n  })\n}\n\n'
    text += 'output "o" {\n  value = [var.net.size, var.net.zone.size, var.net["x"].gone, 1]\n}\n'
    document = editor.open(folder / "main.tf", text)
    lines = {"var.net.si|ze": 2, "var.net.zo|ne": 3, "var.net.zone.si|ze": 3, 'net["x"].go|ne': 0}
    for part, line in lines.items():
        (place,) = document.ask("definition", part)
        assert place["range"]["start"]["line"] == line, part
    assert document.ask("definition", "|1]") == []
