"""Answers requests about rule files and case files in LSP JSON: completion, hover, outline, formatting and running
cases. `requests.py` computes most of the answers."""

from __future__ import annotations

from typing import Any

from planner.answers.policy import rule_files
from planner.answers.policy.packs import gather
from planner.foundation.vocabulary.diagnostic import Diagnostic, Failure, has_errors
from planner.foundation.vocabulary.span import Span
from planner.language.syntax.rule_format import format_rules
from planner.language.syntax.rule_parse import parse_rules
from planner.logic.datalog.tools.suite import run
from planner.operations import rule_tests
from planner.render.rules import tested_text
from planner.render.terminal import Paint
from planner.workflows.editor import requests
from planner.workflows.editor.rule_index import Texts, book_of, folder_files, place, shapes_near
from planner.workflows.editor.texts import Json, TextDocument, span_range, uri_of

RUN_CASE = "planner.runCase"
_KINDS = {"relation": 7, "function": 3, "directive": 14, "variable": 6, "path": 5, "word": 20}
"""{kind of a Choice: LSP's kind of completion}"""
_SYMBOLS = {"relation": 5, "rule": 12, "case": 24}


def completion(path: str, opened: Texts, offset: int) -> Json:
    choices = requests.completions(book_of(path, opened), opened[path], offset, lambda: shapes_near(path))
    items = []
    for number, choice in enumerate(choices):
        item: Json = {"label": choice.label, "kind": _KINDS[choice.kind], "sortText": f"{number:05}"}
        more = (("detail", choice.detail), ("documentation", choice.doc), ("insertText", choice.insert))
        items.append({**item, **{name: text for name, text in more if text}})
    return {"isIncomplete": False, "items": items}


def hover(path: str, opened: Texts, offset: int) -> Json | None:
    hit = requests.hover(book_of(path, opened), opened[path], offset)
    if hit is None:
        return None
    text, start, end = hit
    return {"contents": {"kind": "markdown", "value": text}, "range": TextDocument(opened[path]).range(start, end)}


def definition(path: str, opened: Texts, offset: int) -> list[Json]:
    span = requests.declaration(book_of(path, opened), opened[path], offset)
    return [_location(span)] if span is not None else []


def references(path: str, opened: Texts, offset: int) -> list[Json]:
    return [_location(span) for span in requests.mentions(book_of(path, opened), opened[path], offset)]


def _location(span: Span) -> Json:
    return {"uri": uri_of(place(span)), "range": span_range(span)}


def outline(path: str, text: str) -> list[Json]:
    return [
        {"name": name or kind, "kind": _SYMBOLS[kind], "range": span_range(span), "selectionRange": span_range(span)}
        for kind, name, span in requests.outline(path, text)
    ]


def formatted(path: str, text: str) -> str | None:
    """The text in standard layout; None if it is invalid."""
    return None if has_errors(parse_rules(path, text)[1]) else format_rules(text)


def lenses(uri: str, path: str, text: str) -> list[Json]:
    """A code lens for each case, with which the user can run it."""
    return [
        {"range": span_range(span), "command": {"title": "Run case", "command": RUN_CASE, "arguments": [uri, name]}}
        for kind, name, span in requests.outline(path, text)
        if kind == "case"
    ]


def ran(path: str, opened: Texts, name: str) -> tuple[bool, str]:
    """Run the case `name` of a file, or all cases if `name` is "". Returns whether they pass, and their results or
    errors as text."""
    text = opened.get(path, "")
    files = folder_files(path, opened)
    try:
        rules = rule_files.about((path, text), files)
        program, problems = rule_files.load(rules, rule_files.choose([*rules, (path, text)]))
        if program is None:
            return False, _summary(problems)
        cases, problems = rule_tests.cases_of(program, path, text, gather(tuple(rules)))
        if has_errors(problems):
            return False, _summary(problems)
        chosen = [case for case in cases if name in ("", case.name)]
        if not chosen:
            return False, f"There is no case {name!r} in {path}."
        outcomes = run(program, chosen, rule_tests.CASE_SECONDS)
    except Failure as failure:
        return False, _summary(failure.diagnostics)
    tested = rule_tests.Tested({path: outcomes})
    return tested.passed, tested_text(tested, Paint(False))


def _summary(problems: list[Diagnostic] | tuple[Diagnostic, ...] | Any) -> str:
    return "\n".join(f"{problem.subject or ''} {problem.summary}: {problem.detail}".strip() for problem in problems)
