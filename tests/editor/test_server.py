"""The language server driven by a real client, over pipes, as an editor does it."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any, TypeVar

import pytest
from lsprotocol import types as lsp
from pygls.lsp.client import LanguageClient
from pygls.uris import from_fs_path
from thinned import thinned

T = TypeVar("T")

RULES = """\
/// large(addr): the object is large. Example: large("terraform_data.a")
.decl large(addr: instance)
large(A) :- planned(A, "input.size", N), is_number(N), N > 10.

@name("house.size")
deny("size", A, "is too large") :- large(A), acts(A, "create").
"""
CASES = """\
.case "large ones are denied"
planned("a", "input.size", 11). change("a", "t", "a", "", "p", "managed"). action("a", "create").
.want deny("size", "a", "is too large").

.case "small ones are not"
planned("a", "input.size", 10). action("a", "create").
.want deny("size", "a", "is too large").
"""


class Client(LanguageClient):
    """A client that keeps the diagnostics that it is sent."""

    def __init__(self) -> None:
        super().__init__("test", "1")
        self.told: dict[str, list[lsp.Diagnostic]] = {}
        self.news = asyncio.Event()
        self.feature(lsp.TEXT_DOCUMENT_PUBLISH_DIAGNOSTICS)(lambda params: self._publish(params))
        self.feature(lsp.WINDOW_SHOW_MESSAGE)(lambda params: None)

    def _publish(self, params: lsp.PublishDiagnosticsParams) -> None:
        self.told[params.uri] = list(params.diagnostics)
        self.news.set()

    async def diagnostics(self, uri: str, wanted: Callable[[list[lsp.Diagnostic]], bool]) -> list[lsp.Diagnostic]:
        """Wait for diagnostics of a file that are as wanted."""
        while uri not in self.told or not wanted(self.told[uri]):
            self.news.clear()
            await self.news.wait()
        return self.told[uri]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "main.tf").write_text('resource "terraform_data" "a" {\n  input = { size = 1 }\n}\n')
    policies = tmp_path / ".planner" / "policies"
    policies.mkdir(parents=True)
    (policies / "house.dl").write_text(RULES)
    (policies / "house.case").write_text(CASES)
    return policies


def converse(talk: Callable[[Client], Awaitable[T]]) -> T:
    """Start a server, talk to it, and see it end well."""

    async def conversation() -> T:
        client = Client()
        await client.start_io(sys.executable, "-m", "planner", "language-server")
        try:
            await client.initialize_async(lsp.InitializeParams(capabilities=lsp.ClientCapabilities()))
            client.initialized(lsp.InitializedParams())
            return await talk(client)
        finally:
            await client.shutdown_async(None)
            client.exit(None)
            await client.stop()

    return asyncio.run(asyncio.wait_for(conversation(), 120))


def opened(client: Client, path: Path, text: str | None = None) -> str:
    uri = from_fs_path(str(path))
    assert uri is not None
    item = lsp.TextDocumentItem(uri, "planner-rules", 1, path.read_text() if text is None else text)
    client.text_document_did_open(lsp.DidOpenTextDocumentParams(item))
    return uri


def changed(client: Client, uri: str, text: str, number: int = 2) -> None:
    document = lsp.VersionedTextDocumentIdentifier(number, uri)
    change = lsp.TextDocumentContentChangeWholeDocument(text)
    client.text_document_did_change(lsp.DidChangeTextDocumentParams(document, [change]))


def at(text: str, part: str, more: int = 0) -> lsp.Position:
    before = text[: text.index(part) + more]
    return lsp.Position(before.count("\n"), len(before) - before.rfind("\n") - 1)


def test_diagnostics_follow_what_is_typed(folder: Path) -> None:
    async def talk(client: Client) -> None:
        rules = opened(client, folder / "house.dl")
        assert await client.diagnostics(rules, lambda told: True) == []
        changed(client, rules, RULES.replace("acts(A", "actz(A"))
        (told,) = await client.diagnostics(rules, bool)
        assert "actz" in told.message and "acts" in told.message and told.severity == lsp.DiagnosticSeverity.Error
        assert (told.range.start.line, told.range.start.character) == (5, 45)
        changed(client, rules, RULES, 3)
        await client.diagnostics(rules, lambda told: not told)
        # paths that no such object has, by the schemas of the configuration around
        bad = RULES + 'deny("x", A, "no") :- change(A, "terraform_data", _, _, _, _), planned(A, "inptu.x", 1).\n'
        changed(client, rules, bad, 4)
        (told,) = await client.diagnostics(rules, bool)
        assert 'there is no inptu. Did you mean "input"?' in told.message and told.range.start.line == 6
        changed(client, rules, RULES, 5)
        await client.diagnostics(rules, lambda told: not told)
        # what one file declares, another reads
        cases = opened(client, folder / "house.case")
        assert await client.diagnostics(cases, lambda told: True) == []
        changed(client, cases, CASES.replace("planned(", "plannd("))
        assert "plannd" in (await client.diagnostics(cases, bool))[0].message

    converse(talk)


@pytest.mark.slow
def test_completion(folder: Path) -> None:
    async def talk(client: Client) -> None:
        async def complete(line: str) -> dict[str, lsp.CompletionItem]:
            text = f"{RULES}\n{line}"
            changed(client, rules, text)
            params = lsp.CompletionParams(lsp.TextDocumentIdentifier(rules), at(text + "\0", "\0"))
            found = await client.text_document_completion_async(params)
            assert isinstance(found, lsp.CompletionList)
            return {item.label: item for item in found.items}

        rules = opened(client, folder / "house.dl")
        found = await complete('deny("x", A, "y") :- pl')
        assert found["planned"].detail == "planned(addr: address, path: text, value: any)"
        assert found["planned"].insert_text == "planned(Addr, Path, Value)"
        assert "large" in found and "lower" in found and "unit_planned" not in found
        assert {"create", "delete", "replace"} <= (await complete('warn("x", A, "y") :- acts(A, "')).keys()
        assert ".decl" in await complete(".d")
        found = await complete('deny("x", A, "y") :- change(A, "terraform_data", _, _, _, _), planned(A, "in')
        assert list(found) == ["input"]
        found = await complete('deny("x", A, "y") :- stays(A, "terraform_data"), planned(A, "in')
        assert list(found) == ["input"]
        assert list(await complete('deny("x", A, "y") :- stays(A, "terr')) == ["terraform_data"]

    converse(talk)


@pytest.mark.slow
def test_documentation_declarations_and_references(folder: Path) -> None:
    async def talk(client: Client) -> None:
        rules = opened(client, folder / "house.dl")
        document = lsp.TextDocumentIdentifier(rules)
        said = await client.text_document_hover_async(lsp.HoverParams(document, at(RULES, "planned(", 2)))
        assert said is not None and isinstance(said.contents, lsp.MarkupContent)
        assert "the object (or root output) will have this value at this path" in said.contents.value
        assert await client.text_document_hover_async(lsp.HoverParams(document, at(RULES, "10"))) is None
        found: Any = await client.text_document_definition_async(
            lsp.DefinitionParams(document, at(RULES, "large(A), "))
        )
        assert found.uri == rules and found.range.start == lsp.Position(1, 6)
        found = await client.text_document_definition_async(lsp.DefinitionParams(document, at(RULES, "acts(A")))
        assert found.uri.endswith("rules/policy/verdicts.dl")
        context = lsp.ReferenceContext(include_declaration=True)
        params = lsp.ReferenceParams(context, document, at(RULES, "large(A), "))
        assert [x.range.start.line for x in await client.text_document_references_async(params) or ()] == [1, 2, 5]
        symbols = await client.text_document_document_symbol_async(lsp.DocumentSymbolParams(document))
        assert [symbol.name for symbol in symbols or ()] == ["large", "large(A)", "house.size"]

    converse(talk)


@pytest.mark.slow
def test_formatting_and_cases(folder: Path) -> None:
    async def talk(client: Client) -> None:
        rules = opened(client, folder / "house.dl", "advice( A,B,C ):-b(A,B,C).\n")
        options = lsp.FormattingOptions(tab_size=4, insert_spaces=True)
        params = lsp.DocumentFormattingParams(lsp.TextDocumentIdentifier(rules), options)
        (edit,) = await client.text_document_formatting_async(params) or ()
        assert edit.new_text == "advice(A, B, C) :- b(A, B, C).\n"
        changed(client, rules, RULES)
        cases = opened(client, folder / "house.case")
        lenses = await client.text_document_code_lens_async(lsp.CodeLensParams(lsp.TextDocumentIdentifier(cases)))
        names = [list(lens.command.arguments or ()) for lens in lenses or () if lens.command is not None]
        assert names == [[cases, "large ones are denied"], [cases, "small ones are not"]]
        ran = []
        for arguments in names:
            command = lsp.ExecuteCommandParams("planner.runCase", arguments)
            ran.append(await client.workspace_execute_command_async(command))
        assert [result["passed"] for result in ran] == [True, False]
        assert "missing" in ran[1]["text"]

    converse(talk)


def test_texts_with_characters_of_two_units(folder: Path) -> None:
    text = RULES.replace("is too large", "\U0001f600 is too large").replace("acts(A", "actz(A")

    async def talk(client: Client) -> None:
        rules = opened(client, folder / "house.dl", text)
        (told,) = await client.diagnostics(rules, bool)
        assert told.range.start.character == 48  # a column more than in code points
        params = lsp.HoverParams(lsp.TextDocumentIdentifier(rules), lsp.Position(5, 39))
        said = await client.text_document_hover_async(params)
        assert said is not None and "large(addr: instance)" in str(said.contents)

    converse(talk)


@pytest.mark.parametrize("text", thinned(["((((", "", '"', "/// x", "a(\U0001f600", ".decl", "x" * 100_000, "/*"], 4))
def test_any_text_is_borne(folder: Path, text: str) -> None:
    async def talk(client: Client) -> None:
        rules = opened(client, folder / "house.dl", text)
        await client.diagnostics(rules, lambda told: True)
        document = lsp.TextDocumentIdentifier(rules)
        for line, column in ((0, 0), (0, 3), (7, 99)):
            place = lsp.Position(line, column)
            await client.text_document_completion_async(lsp.CompletionParams(document, place))
            await client.text_document_hover_async(lsp.HoverParams(document, place))
            await client.text_document_definition_async(lsp.DefinitionParams(document, place))
        await client.text_document_document_symbol_async(lsp.DocumentSymbolParams(document))

    converse(talk)


def test_a_goodbye_ends_without_an_error() -> None:
    said = [
        {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {"capabilities": {}}},
        {"jsonrpc": "2.0", "id": 2, "method": "shutdown"},
        {"jsonrpc": "2.0", "method": "exit"},
    ]
    texts = [json.dumps(message).encode() for message in said]
    data = b"".join(b"Content-Length: %d\r\n\r\n%b" % (len(text), text) for text in texts)
    ended = subprocess.run(
        [sys.executable, "-m", "planner", "language-server"], input=data, capture_output=True, check=False
    )
    assert ended.returncode == 0, ended.stderr
    assert b"Error" not in ended.stderr


@pytest.mark.parametrize("sent", [b"Content-Length: 100000000000000\r\n\r\n", b"X" * 5000])
def test_what_no_editor_can_mean_is_answered_with_an_error(sent: bytes) -> None:
    run = subprocess.run(
        [sys.executable, "-m", "planner", "language-server"], input=sent, capture_output=True, timeout=60
    )
    assert b'"error"' in run.stdout and b"is too long" in run.stdout
    assert not run.stderr


@pytest.mark.parametrize("text", [b"{{{", b"[1]", b"null", b"[" * 100_000])
def test_messages_that_make_no_sense_are_told_in_few_words(text: bytes) -> None:
    goodbye = [{"jsonrpc": "2.0", "id": 2, "method": "shutdown"}, {"jsonrpc": "2.0", "method": "exit"}]
    hello = {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {"capabilities": {}}}
    texts = [text, *(json.dumps(message).encode() for message in (hello, *goodbye))]
    data = b"".join(b"Content-Length: %d\r\n\r\n%b" % (len(text), text) for text in texts)
    ended = subprocess.run(
        [sys.executable, "-m", "planner", "language-server"], input=data, capture_output=True, timeout=60
    )
    assert ended.returncode == 0 and b"capabilities" in ended.stdout
    assert b"Traceback" not in ended.stderr and b"planner language-server: " in ended.stderr
