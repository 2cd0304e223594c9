"""The Language Server Protocol for rule files, on pygls: positions and requests on one side, `requests.py` on the
other.

Offered: diagnostics as one types, completion, hover, declarations, references, an outline, formatting, and cases that
run in place (the command planner.runCase).
"""

from __future__ import annotations

import asyncio
import json
import logging
import os
from typing import Any, BinaryIO

from lsprotocol import types as lsp
from pygls.lsp.server import LanguageServer
from pygls.uris import from_fs_path, to_fs_path

from planner.answers.policy import rule_files
from planner.answers.policy.packs import gather
from planner.foundation.vocabulary.diagnostic import Diagnostic, Failure, has_errors
from planner.foundation.vocabulary.release import RELEASE
from planner.foundation.vocabulary.span import Source, Span
from planner.language.syntax.rule_format import format_rules
from planner.language.syntax.rule_parse import parse_rules
from planner.logic.datalog.tools.suite import run
from planner.operations import rule_tests
from planner.render.rules import tested_text
from planner.render.terminal import Paint, visible
from planner.workflows.editor import requests
from planner.workflows.editor.rule_index import Texts, book_of, folder_files, place, problems_of, shapes_near

DELAY = 0.15
"""seconds without a keystroke before a text is checked"""
RUN_CASE = "planner.runCase"
_KINDS = {
    "relation": lsp.CompletionItemKind.Class,
    "function": lsp.CompletionItemKind.Function,
    "directive": lsp.CompletionItemKind.Keyword,
    "variable": lsp.CompletionItemKind.Variable,
    "path": lsp.CompletionItemKind.Field,
    "word": lsp.CompletionItemKind.EnumMember,
}
_SYMBOLS = {"relation": lsp.SymbolKind.Class, "rule": lsp.SymbolKind.Function, "case": lsp.SymbolKind.Event}

server = LanguageServer("planner", RELEASE, text_document_sync_kind=lsp.TextDocumentSyncKind.Full)
_waiting: dict[str, asyncio.Task[None]] = {}


def serve() -> None:
    """Speak to an editor over standard input and output until it exits."""
    # copies: pygls closes what it writes to, and the command flushes its output at the end
    output = os.fdopen(os.dup(1), "wb")
    handler = logging.StreamHandler()
    handler.setFormatter(_InFewWords())
    logging.getLogger("pygls").addHandler(handler)
    server.start_io(Bounded(os.fdopen(os.dup(0), "rb"), output), output)  # type: ignore[arg-type]


class _InFewWords(logging.Formatter):
    """Shortens the protocol package's report on invalid messages to one line."""

    def format(self, record: logging.LogRecord) -> str:
        problem = record.exc_info[1] if record.exc_info else None
        why = f": {type(problem).__name__}" if problem is not None else ""
        return visible(f"planner language-server: {record.getMessage()[:200].partition(chr(10))[0]}{why}")


MOST_BYTES = 64 << 20
"""of one message"""
_LONGEST_HEADER = 1000


class Bounded:
    """The input from an editor, unless it announces more than is reasonable: that is answered with an error, and ends
    the connection."""

    def __init__(self, stream: BinaryIO, output: BinaryIO) -> None:
        self._stream, self._output = stream, output

    def readline(self) -> bytes:
        line = self._stream.readline(_LONGEST_HEADER + 1)
        return line if len(line) <= _LONGEST_HEADER else self._refuse("A header is too long.")

    def read(self, size: int) -> bytes:
        return self._stream.read(size) if size <= MOST_BYTES else self._refuse("The message is too long.")

    def close(self) -> None:
        self._stream.close()

    def _refuse(self, why: str) -> bytes:
        answer = {"jsonrpc": "2.0", "id": None, "error": {"code": lsp.ErrorCodes.InvalidRequest.value, "message": why}}
        text = json.dumps(answer).encode()
        self._output.write(b"Content-Length: %d\r\n\r\n%b" % (len(text), text))
        self._output.flush()
        return b""


# ---------------------------------------------------------------- texts and places


def _open_texts() -> dict[str, str]:
    """The texts in the editor, by absolute path."""
    result = {}
    for document in server.workspace.text_documents.values():
        path = to_fs_path(document.uri)
        if path is not None:
            result[os.path.normpath(path)] = document.source
    return result


def _path(uri: str) -> str:
    return os.path.normpath(to_fs_path(uri) or uri)


def _text(uri: str) -> str:
    return server.workspace.get_text_document(uri).source


def position(source: Source, offset: int) -> lsp.Position:
    """A code point offset as line and UTF-16 column."""
    line = source.line_number(offset)
    start = source.text.rfind("\n", 0, offset) + 1
    return lsp.Position(line - 1, len(source.text[start:offset].encode("utf-16-le")) // 2)


def offset_of(text: str, at: lsp.Position) -> int:
    """Line and UTF-16 column as a code point offset; the end of what there is for a place beyond it."""
    lines = text.split("\n")
    if at.line >= len(lines):
        return len(text)
    line = lines[at.line]
    start = sum(len(before) + 1 for before in lines[: at.line])
    units = line.encode("utf-16-le")[: 2 * at.character]
    return start + len(units.decode("utf-16-le", "ignore"))


def _range(span: Span) -> lsp.Range:
    return lsp.Range(position(span.source, span.start), position(span.source, span.end))


def _location(span: Span) -> lsp.Location:
    return lsp.Location(from_fs_path(place(span)) or "", _range(span))


# ---------------------------------------------------------------- diagnostics


@server.feature(lsp.TEXT_DOCUMENT_DID_OPEN)
@server.feature(lsp.TEXT_DOCUMENT_DID_SAVE)
async def _did_open(params: lsp.DidOpenTextDocumentParams | lsp.DidSaveTextDocumentParams) -> None:
    _check_soon(params.text_document.uri, 0)


@server.feature(lsp.TEXT_DOCUMENT_DID_CHANGE)
async def _did_change(params: lsp.DidChangeTextDocumentParams) -> None:
    _check_soon(params.text_document.uri, DELAY)


@server.feature(lsp.TEXT_DOCUMENT_DID_CLOSE)
async def _did_close(params: lsp.DidCloseTextDocumentParams) -> None:
    task = _waiting.pop(params.text_document.uri, None)
    if task is not None:
        task.cancel()
    _publish(params.text_document.uri, [])


def _check_soon(uri: str, delay: float) -> None:
    """Check all open texts of the directory: what one declares, another reads."""
    folder = os.path.dirname(_path(uri))
    for other in list(server.workspace.text_documents):
        if os.path.dirname(_path(other)) == folder:
            before = _waiting.pop(other, None)
            if before is not None:
                before.cancel()
            _waiting[other] = asyncio.ensure_future(_check(other, delay))


async def _check(uri: str, delay: float) -> None:
    await asyncio.sleep(delay)
    _publish(uri, problems_of(_path(uri), _open_texts()))
    _waiting.pop(uri, None)


def _publish(uri: str, problems: list[Diagnostic]) -> None:
    told = [_lsp_diagnostic(problem) for problem in problems]
    server.text_document_publish_diagnostics(lsp.PublishDiagnosticsParams(uri, told))


def _lsp_diagnostic(problem: Diagnostic) -> lsp.Diagnostic:
    start = lsp.Position(0, 0)
    return lsp.Diagnostic(
        range=_range(problem.subject) if problem.subject is not None else lsp.Range(start, start),
        severity=lsp.DiagnosticSeverity.Error if problem.is_error else lsp.DiagnosticSeverity.Warning,
        code=problem.code,
        source="planner",
        message=f"{problem.summary}\n{problem.detail}".strip(),
    )


# ---------------------------------------------------------------- questions


@server.feature(
    lsp.TEXT_DOCUMENT_COMPLETION, lsp.CompletionOptions(trigger_characters=['"', ".", "(", "@"], resolve_provider=False)
)
def _completion(params: lsp.CompletionParams) -> lsp.CompletionList:
    uri = params.text_document.uri
    text, path = _text(uri), _path(uri)
    offset = offset_of(text, params.position)
    result = requests.completions(book_of(path, _open_texts()), text, offset, lambda: shapes_near(path))
    items = [
        lsp.CompletionItem(
            label=choice.label,
            kind=_KINDS[choice.kind],
            detail=choice.detail or None,
            documentation=choice.doc or None,
            insert_text=choice.insert or None,
            sort_text=f"{number:05}",
        )
        for number, choice in enumerate(result)
    ]
    return lsp.CompletionList(is_incomplete=False, items=items)


@server.feature(lsp.TEXT_DOCUMENT_HOVER)
def _hover(params: lsp.HoverParams) -> lsp.Hover | None:
    uri = params.text_document.uri
    text = _text(uri)
    result = requests.hover(book_of(_path(uri), _open_texts()), text, offset_of(text, params.position))
    if result is None:
        return None
    said, start, end = result
    return lsp.Hover(lsp.MarkupContent(lsp.MarkupKind.Markdown, said), _range(Span(Source(uri, text), start, end)))


@server.feature(lsp.TEXT_DOCUMENT_DEFINITION)
def _definition(params: lsp.DefinitionParams) -> lsp.Location | None:
    uri = params.text_document.uri
    text = _text(uri)
    result = requests.declaration(book_of(_path(uri), _open_texts()), text, offset_of(text, params.position))
    return _location(result) if result is not None else None


@server.feature(lsp.TEXT_DOCUMENT_REFERENCES)
def _references(params: lsp.ReferenceParams) -> list[lsp.Location]:
    uri = params.text_document.uri
    text = _text(uri)
    return [
        _location(span)
        for span in requests.mentions(book_of(_path(uri), _open_texts()), text, offset_of(text, params.position))
    ]


@server.feature(lsp.TEXT_DOCUMENT_DOCUMENT_SYMBOL)
def _symbols(params: lsp.DocumentSymbolParams) -> list[lsp.DocumentSymbol]:
    text = _text(params.text_document.uri)
    return [
        lsp.DocumentSymbol(name or kind, _SYMBOLS[kind], _range(span), _range(span))
        for kind, name, span in requests.outline(params.text_document.uri, text)
    ]


@server.feature(lsp.TEXT_DOCUMENT_FORMATTING)
def _formatting(params: lsp.DocumentFormattingParams) -> list[lsp.TextEdit]:
    uri = params.text_document.uri
    text = _text(uri)
    if has_errors(parse_rules(uri, text)[1]):
        return []
    laid_out = format_rules(text)
    return [lsp.TextEdit(_range(Span(Source(uri, text), 0, len(text))), laid_out)] if laid_out != text else []


@server.feature(lsp.TEXT_DOCUMENT_CODE_LENS)
def _lenses(params: lsp.CodeLensParams) -> list[lsp.CodeLens]:
    """A lens above each case that runs it."""
    uri = params.text_document.uri
    return [
        lsp.CodeLens(_range(span), lsp.Command("Run case", RUN_CASE, arguments=[uri, name]))
        for kind, name, span in requests.outline(uri, _text(uri))
        if kind == "case"
    ]


@server.command(RUN_CASE)
def _run_case(uri: str, name: str = "") -> dict[str, Any]:
    """Run a case of an open file, or all of them: {"passed": bool, "text": the result of each}."""
    passed, text = ran(_path(uri), _open_texts(), name)
    kind = lsp.MessageType.Info if passed else lsp.MessageType.Warning
    server.window_show_message(lsp.ShowMessageParams(kind, text))
    return {"passed": passed, "text": text}


# Cases run from the editor, with the texts as they are there.


def ran(path: str, opened: Texts, name: str) -> tuple[bool, str]:
    """Whether a case of a file passes (all of them if none is named), and the diagnostics."""
    text = opened.get(path, "")
    files = folder_files(path, opened)
    try:
        rules = rule_files.about((path, text), files)
        program, problems = rule_files.load(rules, rule_files.choose([*rules, (path, text)]))
        if program is None:
            return False, _cases_told(problems)
        cases, problems = rule_tests.cases_of(program, path, text, gather(tuple(rules)))
        if has_errors(problems):
            return False, _cases_told(problems)
        chosen = [case for case in cases if name in ("", case.name)]
        if not chosen:
            return False, f"There is no case {name!r} in {path}."
        outcomes = run(program, chosen, rule_tests.CASE_SECONDS)
    except Failure as failure:
        return False, _cases_told(failure.diagnostics)
    tested = rule_tests.Tested({path: outcomes})
    return tested.passed, tested_text(tested, Paint(False))


def _cases_told(problems: list[Diagnostic] | tuple[Diagnostic, ...]) -> str:
    return "\n".join(f"{problem.subject or ''} {problem.summary}: {problem.detail}".strip() for problem in problems)
