"""Diagnostics as files are edited, positions, and the structure of files."""

from __future__ import annotations

import asyncio
import gc
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from editor.client import Editor, applied, edited, text_at
from planner.workflows.editor import schedule
from planner.workflows.editor.checking import Checking
from planner.workflows.editor.completion import completions
from planner.workflows.editor.texts import TextDocument, uri_of
from planner.workflows.editor.workspace import Workspace

MAIN = """\
variable "size" {
  type = number
}

locals {
  twice = var.size * 2
}

output "size" {
  value = local.twice
}
"""


def test_diagnostics_follow_the_edits(editor: Editor, folder: Path) -> None:
    main = editor.open(folder / "main.tf", MAIN)
    assert main.problems() == []
    main.edit("var.size *", "var.siez *")
    (problem,) = main.problems()
    assert problem["severity"] == 1 and 'variable "siez"' not in problem["message"] and "siez" in problem["message"]
    assert text_at(problem["range"], main.text) == "var.siez" and problem["source"] == "planner"
    main.edit("var.siez", "var.size")
    assert main.problems() == []


def test_open_texts_take_the_place_of_files(editor: Editor, folder: Path) -> None:
    main = editor.open(folder / "main.tf", MAIN)
    main.change(MAIN.replace("var.size", "var.more"))
    assert len(main.messages()) == 1
    more = editor.open(folder / "more.tf", "")
    more.edit("", 'variable "more" {\n  type = number\n}\n')  # not on the disk
    assert more.problems() == []
    editor.wait(main.uri, lambda problems: not problems)
    more.close()
    editor.wait(main.uri, bool)


def test_a_broken_file_does_not_hide_what_is_wrong_in_others(editor: Editor, folder: Path) -> None:
    editor.open(folder / "a.tf", 'output "a" {\n  value = local.nothing\n}\n').problems()
    broken = editor.open(folder / "b.tf", 'locals {\n  x = 1\n}\noutput "b" {\n  value = [local.x\n}\n')
    assert len(broken.messages()) >= 1
    (uri,) = [uri for uri in editor.diagnostics if uri.endswith(f"{folder.name}/a.tf")]
    assert [problem["code"] for problem in editor.diagnostics[uri]] == ["config.undeclared_local"]
    assert [symbol["name"] for symbol in broken.ask("documentSymbol")] == ["local.x", "output.b"]


def test_callers_are_checked_with_the_module(editor: Editor, folder: Path) -> None:
    child = folder / "child"
    child.mkdir()
    (child / "main.tf").write_text('variable "a" {\n  default = 1\n}\n\noutput "b" {\n  value = var.a\n}\n')
    (folder / "other").mkdir()
    (folder / "other" / "main.tf").write_text('output "x" {\n  value = 1\n}\n')
    root = editor.open(
        folder / "main.tf",
        'module "m" {\n  source = "./child"\n  a      = 1\n}\n\noutput "b" {\n  value = module.m.b\n}\n',
    )
    other = editor.open(folder / "other" / "main.tf")
    assert root.problems() == [] == other.problems()
    module = editor.open(child / "main.tf")
    assert module.problems() == []
    before = len(editor.received)
    module.edit('output "b"', 'output "c"')
    (problem,) = editor.wait(root.uri, bool)
    assert text_at(problem["range"], root.text) == "module.m.b" or ".b" in text_at(problem["range"], root.text)
    published = [
        m["params"]["uri"] for m in editor.received[before:] if m.get("method", "").endswith("publishDiagnostics")
    ]
    assert other.uri not in published


def test_values_of_variables_are_checked(editor: Editor, folder: Path) -> None:
    (folder / "main.tf").write_text(MAIN)
    values = editor.open(folder / "terraform.tfvars", 'size = "many"\nsiez = 3\n')
    found = {text_at(problem["range"], values.text): problem["severity"] for problem in values.problems()}
    assert found == {'"many"': 1, "3": 2}
    named = editor.open(folder / "prod.tfvars", "size = [1]\n")
    (problem,) = named.problems()
    assert text_at(problem["range"], named.text) == "[1]"
    json = editor.open(folder / "x.auto.tfvars.json", '{"size": {}}')
    assert any("does not match" in message for message in json.messages())


def test_tests_stacks_and_fleets_are_checked(editor: Editor, folder: Path) -> None:
    (folder / "main.tf").write_text(MAIN)
    test = editor.open(
        folder / "tests" / "a.tftest.hcl",
        'run "a" {\n  variables {\n    size = 1\n  }\n  assert {\n    condition     = output.size == 2\n'
        '    error_message = "no"\n  }\n  assrt {}\n}\n',
    )
    (problem,) = test.problems()
    assert text_at(problem["range"], test.text) == "assrt"
    test.edit("  assrt {}\n", "")
    assert test.problems() == []
    stack = editor.open(
        folder / "stack" / "a.tfcomponent.hcl",
        'component "c" {\n  source = "../"\n  inputs = { size = var.size }\n}\n',
    )
    assert any("size" in message for message in stack.messages())
    fleet = editor.open(folder / "fleet" / "planner.batch.hcl", 'unit "a" {\n  tgas = ["x"]\n}\n')
    assert any("tgas" in message for message in fleet.messages())
    assert not [path for path in (folder / "fleet").iterdir() if path.name != "planner.batch.hcl"]
    (edit,) = fleet.ask("formatting", options={"tabSize": 2, "insertSpaces": True}) or [None]
    assert edit is None or edit["newText"]


def test_a_fleet_file_in_the_editor_writes_nothing(editor: Editor, folder: Path) -> None:
    (folder / "u").mkdir()
    (folder / "u" / "main.tf").write_text('output "x" {\n  value = 1\n}\n')
    text = 'unit "u" {\n  file "made.tf" {\n    content = "locals {}"\n  }\n}\n'
    fleet = editor.open(folder / "planner.batch.hcl", text)
    fleet.problems()
    assert [path.name for path in (folder / "u").iterdir()] == ["main.tf"]


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
def test_positions_count_utf_16_units(editor: Editor, folder: Path, end: str) -> None:
    text = 'locals {\n  face = "\U0001f600\u2028\x0c é" # \U0001f600\n}\n'.replace("\n", end if end != "\r" else "\n")
    document = editor.open(folder / "main.tf", text)
    assert document.problems() == []
    line = text.split("\n")[1]
    start = len(line[: line.index("é")].encode("utf-16-le")) // 2
    for character, version in ((start, 2), (start + 9999, 3)):
        place = {"line": 1, "character": character}
        change = {"range": {"start": place, "end": place}, "text": "\U0001f601" if version == 2 else " // x"}
        params = {"textDocument": {"uri": document.uri, "version": version}, "contentChanges": [change]}
        editor.notify("textDocument/didChange", params)
        document.version = version
    assert document.problems() == []
    (symbol,) = document.ask("documentSymbol")
    assert symbol["range"]["end"]["character"] >= start + 4
    broken = {"start": {"line": 1, "character": start + 1}, "end": {"line": 99, "character": 0}}
    params = {"textDocument": {"uri": document.uri, "version": 4}, "contentChanges": [{"range": broken, "text": ""}]}
    editor.notify("textDocument/didChange", params)
    document.version = 4
    assert len(document.problems()) >= 1


def test_structure(editor: Editor, folder: Path) -> None:
    text = """\
# one
# two
locals {
  a = [
    1,
  ]
  b = upper("x")
}

resource "terraform_data" "r" {
  input = local.a
}
"""
    document = editor.open(folder / "main.tf", text)
    folds = {(fold["startLine"], fold["endLine"]) for fold in document.ask("foldingRange")}
    assert folds == {(0, 1), (2, 6), (3, 4), (9, 10)}
    names = [symbol["name"] for symbol in document.ask("documentSymbol")]
    assert names == ["local.a", "local.b", "terraform_data.r"]
    legend = editor.capabilities["semanticTokensProvider"]["legend"]["tokenTypes"]
    data = document.ask("semanticTokens/full")["data"]
    lines, line, column, tokens = text.split("\n"), 0, 0, []
    for number in range(0, len(data), 5):
        down, right, length, kind, _ = data[number : number + 5]
        line, column = line + down, right if down else column + right
        tokens.append((lines[line][column : column + length], legend[kind]))
    assert {("upper", "function"), ("locals", "keyword"), ("terraform_data", "type"), ("r", "variable")} <= set(tokens)
    assert {("local", "namespace"), ("input", "property"), ("1", "number"), ('"x"', "string")} <= set(tokens)
    ranges = document.ask("selectionRange", positions=[document.at('upper("|x")')])
    here, widths = ranges[0], []
    while here:
        widths.append(here["range"]["end"]["line"] - here["range"]["start"]["line"])
        here = here.get("parent")
    assert widths == sorted(widths) and len(widths) >= 4
    document.edit("  input = local.a", "  input=local.a")
    edits = document.ask("formatting", options={"tabSize": 2, "insertSpaces": True})
    assert edited(document.text, edits) == text


def test_json_files(editor: Editor, folder: Path) -> None:
    text = '{\n  "locals": {"a": "x"},\n  "output": {"b": {"value": "${local.a}"}, "c": {"value": "${local.b}"}}\n}\n'
    document = editor.open(folder / "main.tf.json", text)
    (problem,) = document.problems()
    assert "local.b" in text_at(problem["range"], text)
    (found,) = document.ask("definition", "${local.|a}")
    assert text_at(found["range"], text) == "a" and found["range"]["start"]["line"] == 1
    for method in ("hover", "documentHighlight"):
        document.ask(method, '"loc|als"')
    assert document.ask("selectionRange", positions=[document.at('"loc|als"')])
    document.edit('"output"', '"output')
    assert document.problems()


JSON = r"""{
  "//": "a comment",
  "variable": {"size": {"type": "number", "default": 1}},
  "locals": {"a": "${upper(\"x\")}-${var.size}"},
  "resource": {"terraform_data": {
    "one": {
      "input": "${var.size}"
    },
    "two": {"input": "${[for v in module.m : v.id]}", "lifecycle": {"ignore_changes": ["input"]}}
  }},
  "module": {"m": {"source": "./m", "for_each": "${toset([\"a\"])}"}}
}
"""


def test_json_files_have_hover_symbols_and_renames(editor: Editor, folder: Path) -> None:
    editor.open(folder / "m" / "main.tf", 'output "id" {\n  value = 1\n}\n').close()
    document = editor.open(folder / "main.tf.json", JSON)
    assert document.problems() == []
    shown = {
        "upp|er": "upper(str: string): string",
        "${var.si|ze}": 'variable "size": number',
        '"inp|ut"': "input: any",
    }
    for part, text in shown.items():
        assert text in document.ask("hover", part)["contents"]["value"], part
    ranges = {one["name"]: one["range"] for one in document.ask("documentSymbol")}
    assert ranges["terraform_data.one"]["end"]["line"] < ranges["terraform_data.two"]["start"]["line"]
    assert any(one["startLine"] == 5 for one in document.ask("foldingRange"))
    (place,) = document.ask("definition", "v.i|d")
    assert place["uri"].endswith("/m/main.tf")
    after = applied(document.ask("rename", '"si|ze"', newName="amount"), folder)["main.tf.json"]
    assert after == JSON.replace('"size"', '"amount"').replace("var.size", "var.amount")


def test_providers_and_modules_that_are_not_installed_leave_the_rest(editor: Editor, folder: Path) -> None:
    text = """\
resource "acme_thing" "a" {
  size = local.size
  part {
    x = 1
  }
}

module "m" {
  source = "acme/m/acme"
  given  = 1
}

locals {
  size = 1
  id   = acme_thing.a.arn
  out  = module.m.anything
  bad  = upper(1, 2)
}
"""
    document = editor.open(folder / "main.tf", text)
    by_code = {problem["code"]: problem for problem in document.problems()}
    assert by_code["provider.schema_not_cached"]["severity"] == 2
    assert by_code["config.module_not_installed"]["severity"] == 2
    errors = [problem for problem in document.problems() if problem["severity"] == 1]
    assert len(errors) == 1 and "upper" in errors[0]["message"]


def test_the_whole_tree_is_checked_when_nothing_is_typed(editor: Editor, folder: Path) -> None:
    deep = folder / "child" / "deep"
    deep.mkdir(parents=True)
    (deep / "main.tf").write_text('output "x" {\n  value = local.nothing\n}\n')
    (folder / "child" / "main.tf").write_text('module "deep" {\n  source = "./deep"\n}\n')
    root = editor.open(folder / "main.tf", 'module "child" {\n  source = "./child"\n}\n')
    assert root.problems() == []
    uri = (deep / "main.tf").as_uri()
    (problem,) = editor.wait(uri, bool)
    assert "nothing" in problem["message"]
    (deep / "main.tf").write_text('output "x" {\n  value = 1\n}\n')
    changes = [{"uri": uri, "type": 2}]
    editor.notify("workspace/didChangeWatchedFiles", {"changes": changes})
    editor.wait(uri, lambda problems: not problems)


def test_arguments_of_modules_are_checked(editor: Editor, folder: Path) -> None:
    child = folder / "child" / "main.tf"
    child.parent.mkdir()
    child.write_text(
        'variable "size" {\n  type = number\n  validation {\n    condition     = var.size < 9\n'
        '    error_message = "It is too large."\n  }\n}\n'
    )
    root = editor.open(folder / "main.tf", 'module "m" {\n  source = "./child"\n  size   = 10\n}\n')
    assert any("It is too large." in message for message in root.messages())
    root.edit("10", '"many"')
    (problem,) = editor.wait(child.as_uri(), bool)  # at the declaration, as validate prints it
    assert "given at main.tf:3 does not match its type" in problem["message"]
    root.edit('  size   = "many"\n', "  sice   = 1\n")
    texts = root.messages()
    assert any('Did you mean "size"?' in text for text in texts) and any('"size" is required' in text for text in texts)
    root.edit("sice", "size")
    assert root.problems() == []


def test_values_of_a_module_elsewhere_are_left_alone(editor: Editor, folder: Path) -> None:
    values = editor.open(folder / "data" / "x.tfvars", "anything = 1\n")
    assert values.problems() == []
    values.edit("= 1", "= [")
    assert values.problems()


def test_large_files_are_checked_in_another_process(editor: Editor, folder: Path) -> None:
    filler = f"# {'x' * 97}\n" * 10_001
    text = f'{filler}resource "terraform_data" "a" {{\n  input = var.gone\n}}\n'
    document = editor.open(folder / "main.tf", text)
    (problem,) = document.problems()
    assert "gone" in problem["message"]
    document.edit("  input = var.gone", "  other = 1")
    assert document.problems() == []  # at a glance
    (problem,) = editor.wait(document.uri, lambda problems: len(problems) == 1)
    assert 'An argument named "other" is not expected here' in problem["message"]
    document.edit("  other = 1", "  input = [")
    assert any(problem["severity"] == 1 for problem in document.problems())
    document.close()


def test_edits_leave_nothing_behind(tmp_path: Path) -> None:
    def edited_to(number: int) -> None:
        text = f'{given}\nresource "azurerm_x" "a" {{\n  size  = {number}\n  inner {{\n    a = local.b\n  }}\n}}\n'
        path = workspace.opened.put(uri_of(str(tmp_path / "main.tf")), TextDocument(text, number))
        checking.forget(path)
        assert [len(of) for of in checking.check(("module", str(tmp_path))).values()] == [1]  # no schema is known

    def kept() -> Counter[str]:
        gc.collect()
        kinds = map(type, gc.get_objects())
        return Counter(kind.__name__ for kind in kinds if str(kind.__module__).startswith("planner."))

    given = "locals {\n  b = 1\n}\n"
    workspace = Workspace()
    checking = Checking(workspace)
    for number in range(3):
        edited_to(number)
    before = kept()
    for number in range(3, 9):
        edited_to(number)
    assert kept() - before == Counter()


def test_a_glance_keeps_other_problems_at_their_lines(tmp_path: Path) -> None:
    path = str(tmp_path / "main.tf")
    workspace = Workspace()
    checking, subject = Checking(workspace), ("module", str(tmp_path))

    def put(text: str) -> None:
        workspace.opened.put(uri_of(path), TextDocument(text))
        checking.forget(path)

    def lines(found: dict[str, list[Any]]) -> list[tuple[int, str]]:
        return sorted((one["range"]["start"]["line"], one["code"].rpartition(".")[2]) for one in found[path])

    wrong = 'output "a" {\n  value = var.no\n}\noutput "b" {\n  value = 1\n  valeu = 2\n}\n'
    put(wrong)
    complete = lines(checking.check(subject))
    assert (5, "unsupported_argument") in complete
    put(f"# one\n\n{wrong.replace('var.no', '3')}")
    glance = lines(checking.glance(subject))
    assert glance == [(7, "unsupported_argument")]
    assert checking.glance(subject) == {}  # nothing was edited since
    put(wrong.replace("  valeu = 2\n", ""))
    assert lines(checking.glance(subject)) == [(1, "undeclared_variable")]
    fork = checking.start_check(subject)
    result = fork.result()
    fork.end()
    assert result and lines(checking.keep(subject, result)) == [(1, "undeclared_variable")]


def test_called_modules_are_read_when_they_are_needed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    calls = ""
    for name in ("a", "b", "c"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "main.tf").write_text(f'output "of_{name}" {{\n  value = 1\n}}\n')
        calls += f'module "{name}" {{\n  source = "./{name}"\n}}\n'
    text = f'{MAIN}{calls}output "b" {{\n  value = module.b.of_c\n}}\n'
    workspace, main, reads = Workspace(), tmp_path / "main.tf", list[str]()
    original = Workspace.single_module

    def single_module(self: Workspace, root: str, directory: str) -> Any:
        reads.append(directory)
        return original(self, root, directory)

    monkeypatch.setattr(Workspace, "single_module", single_module)
    workspace.folders = [str(tmp_path)]
    path = workspace.opened.put(uri_of(str(main)), TextDocument(text, 1))
    checking = Checking(workspace)

    def names(beginning: str) -> set[str]:
        typed = f'{text}output "x" {{\n  value = {beginning}'
        model = checking.recent_model(path)
        return {one["label"] for one in completions(model, path, f"{typed}\n}}\n", len(typed), False)}

    assert names("var.") == {"size"} and reads == []
    assert names("module.b.") == {"of_b"} and set(reads) == {"b"}
    assert {str(tmp_path / name) for name in ("a", "b", "c")} < checking.model(path).directories
    assert len(list(checking.read_called(("module", str(tmp_path))))) == 3 and set(reads) == {"a", "b", "c"}
    (problem,) = checking.check(("module", str(tmp_path)))[path]
    assert "of_c" in problem["message"]


def test_the_next_check_runs_in_another_process_if_reading_called_modules_takes_long(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "main.tf").write_text(MAIN)
    clock = [0.0]

    def read_called(self: Checking, subject: tuple[str, str]) -> Iterator[None]:
        clock[0] += 2 * schedule.SLOW
        yield

    monkeypatch.setattr(Checking, "read_called", read_called)
    monkeypatch.setattr(schedule, "time", SimpleNamespace(monotonic=lambda: clock[0]))
    server, subject = SimpleNamespace(tell=lambda *_: None), ("module", str(tmp_path))

    async def checked() -> bool:
        checks = schedule.CheckSchedule(server, Checking(Workspace()))  # type: ignore[arg-type]
        checks.check_soon(subject, 0.0)
        await checks._waiting[subject]
        return checks._is_slow(subject)

    assert asyncio.run(checked())
