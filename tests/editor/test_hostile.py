"""Input that no editor sends: it is answered with an error, and the server stays."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from editor.client import Editor, LspError


def framed(message: Any) -> bytes:
    body = message if isinstance(message, bytes) else json.dumps(message).encode()
    return b"Content-Length: %d\r\n\r\n%b" % (len(body), body)


HELLO = framed({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {"capabilities": {}}})
SHUTDOWN = framed({"jsonrpc": "2.0", "id": 2, "method": "shutdown"})
GOODBYE = SHUTDOWN + framed({"jsonrpc": "2.0", "method": "exit"})


@pytest.mark.parametrize(
    "junk",
    [
        b"".join((
            framed(b"{{{"), framed(b"[1]"), framed(b"null"), framed(b"[" * 100_000), framed(b'{"jsonrpc": "1.0"}'),
            framed(b'{"jsonrpc": "2.0", "id": {"a": 1}, "method": 7}'), framed(b"\xff\xfe"), framed(b""),
        )),
        b"Content-Length: 100000000000000\r\n\r\n{}\r\nX: 1\r\n" + b"X" * 5000 + b"\r\nno header\r\n"
        + b"Content-Length: x\r\n\r\n" + b"Content-Length: 99999999999999999999999\r\n\r\n",
    ],
    ids=["bodies", "headers"],
)  # fmt: skip
def test_messages_that_are_none(junk: bytes) -> None:
    command = [sys.executable, "-m", "planner", "lsp"]
    ended = subprocess.run(command, input=HELLO + junk + GOODBYE, capture_output=True, timeout=60)
    assert ended.returncode == 0, ended.stderr
    assert b"capabilities" in ended.stdout and b'"error"' in ended.stdout and b'"id": 2' in ended.stdout
    assert b"Traceback" not in ended.stderr


def test_the_exit_code_says_whether_the_editor_said_goodbye() -> None:
    command = [sys.executable, "-m", "planner", "language-server"]
    late = framed({"jsonrpc": "2.0", "id": 3, "method": "workspace/symbol", "params": {"query": ""}})
    cancel = framed({"jsonrpc": "2.0", "method": "$/cancelRequest", "params": {"id": 9}})
    said = HELLO + cancel + SHUTDOWN + late + GOODBYE.removeprefix(SHUTDOWN)
    ended = subprocess.run(command, input=said, capture_output=True, timeout=60)
    assert (ended.returncode, ended.stderr) == (0, b"")
    assert b'"id": 3, "error": {"code": -32600' in ended.stdout
    ended = subprocess.run(command, input=HELLO + framed({"jsonrpc": "2.0", "method": "exit"}), capture_output=True)
    assert ended.returncode == 1


def test_requests_without_a_document_are_refused(editor: Editor, folder: Path) -> None:
    (folder / "shut.tf").write_text("locals {}\n")
    place = {"line": 0, "character": 0}
    for uri in ((folder / "shut.tf").as_uri(), "file:///etc/passwd", "untitled:1", "", "file://%00", "x" * 5000):
        for method in ("definition", "completion", "hover", "documentSymbol", "formatting", "foldingRange"):
            params = {"textDocument": {"uri": uri}, "position": place, "options": {"tabSize": 2, "insertSpaces": True}}
            with pytest.raises(LspError, match="is not open"):
                editor.request(f"textDocument/{method}", params)
    document = editor.open(folder / "a.tf", "locals {\n  a = 1\n}\n")
    for bad in (
        {"line": -1, "character": 0},
        {"line": 0, "character": 1 << 40},
        {"line": "x", "character": 0},
        None,
        7,
    ):
        with pytest.raises(LspError, match="not valid"):
            editor.request("textDocument/hover", {"textDocument": {"uri": document.uri}, "position": bad})
    with pytest.raises(LspError):
        editor.request("textDocument/rename", {"textDocument": {"uri": document.uri}})
    with pytest.raises(LspError):
        editor.request("textDocument/nothing", {})
    params = {"textDocument": {"uri": (folder / "shut.tf").as_uri(), "version": 2}, "contentChanges": [{"text": "x"}]}
    editor.notify("textDocument/didChange", params)
    editor.notify("textDocument/didClose", {"textDocument": {"uri": "file:///nowhere.tf"}})
    editor.notify("textDocument/didOpen", {"textDocument": 3})
    editor.notify("$/nothing", {})
    assert document.ask("hover", "locals| ") is None or True
    assert document.problems() == []


def test_a_pipe_does_not_hold_the_server_up(editor: Editor, folder: Path) -> None:
    os.mkfifo(folder / "pipe.tf")
    document = editor.open(folder / "main.tf", 'variable "a" {}\n')
    assert document.messages() == ["Failed to read file\npipe.tf: Not a regular file."]
    assert len(document.ask("references", '"|a', context={"includeDeclaration": True})) == 1


@pytest.mark.parametrize("uri", ["untitled:main.tf", "git:/x/main.tf?y", "file://host/x/main.tf", "file:///x/%00y.tf"])
def test_a_document_that_is_not_a_file_is_a_module_of_its_own(editor: Editor, uri: str) -> None:
    text = 'variable "a" {}\noutput "a" {\n  value = [var.a, var.b]\n}\n'
    item = {"uri": uri, "languageId": "terraform", "version": 1, "text": text}
    editor.notify("textDocument/didOpen", {"textDocument": item})
    assert [problem["code"] for problem in editor.wait(uri, bool)] == ["plan.undeclared_variable"]
    place = {"textDocument": {"uri": uri}, "position": {"line": 0, "character": 10}}
    assert [*editor.request("textDocument/rename", place | {"newName": "c"})["changes"]] == [uri]
    assert editor.request("textDocument/hover", place)
    editor.notify("textDocument/didClose", {"textDocument": {"uri": uri}})


def test_a_selection_in_a_deep_text_is_answered(editor: Editor, folder: Path) -> None:
    document = editor.open(folder / "main.tf", f"locals {{\n  a = {'1+' * 2000}1\n}}\n")
    around, *_ = document.ask("selectionRange", positions=[document.at("a = |1")])
    while "parent" in around:
        around = around["parent"]
    assert around["range"]["end"] == {"line": 3, "character": 0}


@pytest.mark.parametrize(
    "name", ["main.tf", "main.tf.json", "terraform.tfvars", "a.tftest.hcl", "a.tfdeploy.hcl", "planner.batch.hcl"]
)
def test_any_text_is_borne(editor: Editor, folder: Path, name: str) -> None:
    document = editor.open(folder / name, "")
    texts = [
        "{", '"', "a = ${", "<<E\n", "resource", 'resource "', "x" * 20_000, "[" * 3000, "\ud7ff\ufeff", "\x00",
        "a = [for x in", 'output "a" {\n  value = "${upper("', '{"resource": {"a": {"b": ',
        "variable a {\n  default = -",
    ]  # fmt: skip
    for text in texts:
        document.change(text)
        document.problems()
        for line, column in ((0, 0), (0, 9), (1, 99)):
            params = {"textDocument": {"uri": document.uri}, "position": {"line": line, "character": column}}
            for method in ("completion", "hover", "definition", "signatureHelp"):
                editor.request(f"textDocument/{method}", params)
        for method in ("documentSymbol", "foldingRange", "semanticTokens/full", "codeLens"):
            document.ask(method)
        ends = {"start": {"line": 0, "character": 0}, "end": {"line": 99, "character": 0}}
        document.ask("inlayHint", range=ends)
        document.ask("codeAction", range=ends, context={"diagnostics": editor.diagnostics[document.uri]})
