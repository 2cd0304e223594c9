"""Code actions, and the lenses with what the plan does."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from editor.client import Document, Editor, applied


def _actions(document: Document, part: str, until: str = "") -> dict[str, Any]:
    """The actions at `|` in a part of the text, or for the text between it and a second `|`."""
    first, _, rest = part.partition("|")
    middle, found, last = rest.partition("|")
    begin = document.at(part if not found else f"{first}|{middle}{last}")
    end = document.at(f"{first}{middle}|{last}") if found else begin
    line = begin["line"]
    problems = [one for one in document.problems() if one["range"]["start"]["line"] == line] if not found else []
    params = {"range": {"start": begin, "end": end}, "context": {"diagnostics": problems}}
    return {action["title"]: action for action in document.ask("codeAction", **params)}


TEXT = """\
locals {
  a = 1
}

resource "terraform_data" "r" {
  input = [local.aa, var.missing, upper("x")]
}

module "m" {
  source = "./child"
}

output "o" {
  value = module.m.gone
}
"""


def test_missing_names(editor: Editor, folder: Path) -> None:
    child = folder / "child" / "main.tf"
    child.parent.mkdir()
    child.write_text('variable "need" {\n  type = list(string)\n}\n')
    (folder / "variables.tf").write_text('variable "first" {}\n')
    main = editor.open(folder / "main.tf", TEXT)
    found = _actions(main, "var.mis|sing")
    edit = applied(found['Declare variable "missing"']["edit"], folder)
    assert edit == {"variables.tf": 'variable "first" {}\n\nvariable "missing" {\n  type = string\n}\n'}
    edit = applied(_actions(main, "local.a|a")['Declare local value "aa"']["edit"], folder)
    assert edit["main.tf"].startswith("locals {\n  a = 1\n  aa = null\n}\n")
    edit = applied(_actions(main, "module.m.go|ne")['Declare output "gone" in child']["edit"], folder)
    assert edit == {"child/main.tf": child.read_text() + '\noutput "gone" {\n  value = null\n}\n'}
    edit = applied(_actions(main, 'module "|m"')["Add required arguments: need"]["edit"], folder)
    assert '  source = "./child"\n  need = []\n}' in edit["main.tf"]


def test_suggested_names(editor: Editor, folder: Path) -> None:
    document = editor.open(folder / "main.tf", 'variable "colour" {}\n\noutput "o" {\n  valeu = var.colour\n}\n')
    found = _actions(document, "val|eu")
    assert "value = var.colour" in applied(found['Change to "value"']["edit"], folder)["main.tf"]


def test_requirements_of_providers(editor: Editor, folder: Path) -> None:
    document = editor.open(folder / "main.tf", 'resource "acme_thing" "a" {\n  x = 1\n}\n')
    found = _actions(document, '"acme_th|ing"')['Require provider "acme"']
    (text,) = applied(found["edit"], folder).values()
    assert 'required_providers {\n    acme = {\n      source = "hashicorp/acme"\n    }\n  }\n' in text
    document.change(f"terraform {{\n  required_providers {{\n  }}\n}}\n\n{document.text}")
    found = _actions(document, '"acme_th|ing"')['Require provider "acme"']
    result = applied(found["edit"], folder)
    assert list(result) == ["main.tf"]


def test_extraction(editor: Editor, folder: Path) -> None:
    document = editor.open(folder / "main.tf", TEXT)
    found = _actions(document, '|upper("x")|]')
    assert found.keys() == {"Extract to local.input", "Extract to var.input"}
    (text,) = applied(found["Extract to local.input"]["edit"], folder).values()
    assert 'locals {\n  a = 1\n  input = upper("x")\n}' in text and "var.missing, local.input]" in text
    assert found["Extract to local.input"]["kind"] == "refactor.extract"
    assert _actions(document, "|var.missing|,").keys() >= {"Extract to local.input"}
    assert not [title for title in _actions(document, "|var.missing, up|per") if title.startswith("Extract")]
    document.change(
        'locals {\n  a = [for x in [1] : "${x}!"]\n}\n\n'
        'resource "terraform_data" "r" {\n  count = 1\n  input = count.index\n}\n'
    )
    assert not _actions(document, '|"${x}!"|') and not _actions(document, "|count.index|")


PLANNED = """\
variable "size" {
  default = 1
}

resource "terraform_data" "a" {
  input = var.size
}

resource "terraform_data" "b" {
  count            = 2
  triggers_replace = terraform_data.a.output
}

module "m" {
  source = "./m"
  x      = var.size
}
"""


def _lenses(document: Document) -> dict[int, str]:
    return {lens["range"]["start"]["line"]: lens["command"]["title"] for lens in document.ask("codeLens")}


def test_lenses_show_what_the_plan_does_and_why(tmp_path: Path) -> None:
    (tmp_path / "m").mkdir()
    child = 'variable "x" {}\n\nresource "terraform_data" "c" {\n  input = var.x\n}\n'
    (tmp_path / "m" / "main.tf").write_text(child)
    (tmp_path / "main.tf").write_text(PLANNED)
    for command in (["init"], ["apply", "-auto-approve"]):
        subprocess.run([sys.executable, "-m", "planner", *command], cwd=tmp_path, check=True, capture_output=True)
    text = PLANNED.replace("default = 1", "default = 2")
    capabilities = {"workspace": {"codeLens": {"refreshSupport": True}}}
    editor = Editor(tmp_path, more={"capabilities": capabilities})
    document = editor.open(tmp_path / "main.tf", text)
    while not any(message.get("method") == "workspace/codeLens/refresh" for message in editor.received):
        editor.receive()
    cause = "var.size 1 -> 2"
    assert _lenses(document) == {
        0: "causes ~ 2, -/+ 2",
        4: f"~ 1: {cause}",
        8: f"-/+ 2: {cause}",
        13: f"~ 1: {cause}",
    }
    assert _lenses(editor.open(tmp_path / "m" / "main.tf")) == {2: f"~ 1: {cause}"}
    shown = document.ask("hover", 'terraform_data" "|b"')["contents"]["value"]
    assert f"**Plan:** -/+ 2: {cause}" in shown and "default, main.tf:2" in shown and "`triggers_replace`" in shown
    why = editor.request(
        "workspace/executeCommand", {"command": "planner.why", "arguments": [document.uri, "terraform_data.a"]}
    )
    assert why.startswith(f"**Plan:** ~ 1: {cause}")
    document.edit("count            = 2", "count            = 3")
    assert _lenses(document)[8] == f"-/+ 2: {cause} (as saved)"
    # a plan follows what is saved
    (tmp_path / "main.tf").write_text(PLANNED)
    editor.received.clear()
    document.change(PLANNED)
    editor.notify("textDocument/didSave", {"textDocument": {"uri": document.uri}})
    while not any(message.get("method") == "workspace/codeLens/refresh" for message in editor.received):
        editor.receive()
    assert _lenses(document) == {}
    assert editor.close() == 0
    assert not (tmp_path / ".terraform.tfstate.lock.info").exists()


def test_constants_and_keys_are_not_extracted(editor: Editor, folder: Path) -> None:
    text = 'variable "v" {\n  type    = string\n  default = "d"\n}\n\nmodule "m" {\n  source = "./m"\n}\n\n'
    text += 'output "o" {\n  value       = { key = "w" }\n  sensitive   = true\n  description = "x"\n}\n'
    (folder / "m").mkdir()
    (folder / "m" / "main.tf").touch()
    document = editor.open(folder / "main.tf", text)
    for part in ("= |string|", '|"d"|', '|"./m"|', "|key|", "|true|", "sou|rce|"):
        assert not _actions(document, part), part
    assert "Extract to local.value" in _actions(document, '|"w"|')


@pytest.mark.parametrize(
    ("count", "key", "moves"),
    [
        ("length(local.names)", "local.names[count.index]", [("[0]", '["x"]'), ("[1]", '["y"]')]),
        ("2", "count.index", [("[0]", '["0"]'), ("[1]", '["1"]')]),
    ],
    ids=["list", "number"],
)
def test_count_becomes_for_each(
    editor: Editor, folder: Path, count: str, key: str, moves: list[tuple[str, str]]
) -> None:
    block = f'resource "terraform_data" "a" {{\n  count = {count}\n  input = {key}\n}}\n'
    text = f'locals {{\n  names = ["x", "y"]\n}}\n\n{block}'
    document = editor.open(folder / "main.tf", text)
    actions = _actions(document, 'data" "|a"')
    after = applied(actions["Turn count into for_each, with moved blocks"]["edit"], folder)["main.tf"]
    assert "for_each = toset(" in after and "count" not in after
    for old, new in moves:
        assert f"from = terraform_data.a{old}\n  to   = terraform_data.a{new}" in after
    assert not any(title.startswith("Turn") for title in _actions(document, "names = |["))


def test_values_without_a_variable_declare_it_with_their_type(editor: Editor, folder: Path) -> None:
    (folder / "main.tf").touch()
    document = editor.open(folder / "a.auto.tfvars", 'a = "x"\nb = 1\nc = [1]\nd = true\n')
    for name, kind in {"a": "string", "b": "number", "c": "any", "d": "bool"}.items():
        action = _actions(document, f"|{name} =")[f'Declare variable "{name}"']
        assert f'variable "{name}" {{\n  type = {kind}\n}}' in applied(action["edit"], folder)["main.tf"]


def test_blocks_are_extracted_to_a_module(editor: Editor, folder: Path) -> None:
    block = 'resource "terraform_data" "net" {\n  input = var.range\n}\n'
    rest = 'output "o" {\n  value = terraform_data.net.output\n}\n'
    document = editor.open(folder / "main.tf", f'variable "range" {{\n  type = string\n}}\n\n{block}\n{rest}')
    action = _actions(document, f"|{block}|")["Extract to module modules/net"]
    after = applied(action["edit"], folder)
    assert 'source = "./modules/net"' in after["main.tf"] and "value = module.net." in after["main.tf"]
    assert "to   = module.net.terraform_data.net" in after["main.tf"]
    assert block in after["modules/net/main.tf"] and 'variable "range"' in "".join(after.values())
    assert not any("module" in title for title in _actions(document, f"|{rest}|"))


def _planned(tmp_path: Path, text: str, more: dict[str, Any]) -> tuple[Editor, Document]:
    """An editor with a file that has a plan."""
    capabilities = {"workspace": {"codeLens": {"refreshSupport": True}, **more}}
    editor = Editor(tmp_path, more={"capabilities": capabilities})
    document = editor.open(tmp_path / "main.tf", text)
    while not any(message.get("method") == "workspace/codeLens/refresh" for message in editor.received):
        editor.receive()
    return editor, document


REPLACED = """\
variable "size" {
  default = 1
}

resource "terraform_data" "a" {
  triggers_replace = var.size
}
"""
RULE = 'deny("no_replace", A, "no") :- action(A, "delete-then-create").\n'
CREATES = {"workspaceEdit": {"documentChanges": True, "resourceOperations": ["create"]}}


def _applied_with(tmp_path: Path, text: str) -> str:
    """The text with another size, after an apply of the first one and with a policy."""
    (tmp_path / "main.tf").write_text(text)
    subprocess.run(
        [sys.executable, "-m", "planner", "apply", "-auto-approve"], cwd=tmp_path, check=True, capture_output=True
    )
    (tmp_path / ".planner" / "policies").mkdir(parents=True)
    (tmp_path / ".planner" / "policies" / "a.dl").write_text(RULE)
    return text.replace("default = 1", "default = 2")


def test_a_denial_is_waived(tmp_path: Path) -> None:
    text = _applied_with(tmp_path, REPLACED)
    editor, document = _planned(tmp_path, text, CREATES)
    assert _lenses(document)[4] == "-/+ 1: var.size 1 -> 2; denied by no_replace"
    action = _actions(document, 'data" "|a"')["Waive policy no_replace for terraform_data.a for 30 days"]
    created, edit = action["edit"]["documentChanges"]
    file = tmp_path / ".planner" / "waivers.toml"
    assert created == {"kind": "create", "uri": file.as_uri()} and edit["textDocument"]["uri"] == file.as_uri()
    file.write_text(edit["edits"][0]["newText"])
    assert editor.close() == 0
    plan = subprocess.run([sys.executable, "-m", "planner", "plan"], cwd=tmp_path, capture_output=True, text=True)
    assert plan.returncode == 0 and "1 waived" in plan.stdout, plan.stdout + plan.stderr


def test_a_change_is_avoided(tmp_path: Path) -> None:
    text = _applied_with(tmp_path, REPLACED)
    editor, document = _planned(tmp_path, text, CREATES)
    title = "Find edits that avoid the change of terraform_data.a (planner why -fix)"
    command = _actions(document, 'data" "|a"')[title]["command"]
    editor.chosen = "Do 1"
    params = {"command": command["command"], "arguments": command["arguments"]}
    (fix,) = editor.request("workspace/executeCommand", params)
    assert fix["text"].startswith("set var.size back to 1 (main.tf:2)")
    assert applied(editor.edits[-1], tmp_path)["main.tf"] == REPLACED
    assert editor.close() == 0
