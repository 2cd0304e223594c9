"""Parses configuration files, expressions and templates in native syntax. The functions never raise: they return the
problems with the result, and `parse_config` also returns the readable part of a file with mistakes."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any

from planner.foundation.vocabulary.diagnostic import Diagnostic, has_errors
from planner.foundation.vocabulary.span import Source
from planner.language.syntax import lexer
from planner.language.syntax.body import NativeBody
from planner.language.syntax.build import Builder
from planner.language.syntax.lexer import Token, tokenize
from planner.language.syntax.nodes import Expression
from planner.language.syntax.recover import ParseRecovery
from planner.language.syntax.tables import Row, Tables, load_tables, run

STARTS = ("file", "expression", "template")
FileBody = NativeBody
_CONTEXTUAL = dict.fromkeys(("FOR", "IN", "IF"), "NAME")  # keywords that are names where only a name is possible

_tables: Tables | None = None


def parse_config(source: Source, tokens: list[Token] | None = None) -> tuple[FileBody, list[Diagnostic]]:
    """The body of a configuration file. `tokens`: the tokens of the file, if they were already read. After a mistake,
    parsing continues, so that several mistakes are reported; the body contains all complete parts."""
    body, diagnostics = _parse(source, "file", 0, lexer.BODY, tokens)
    if body is None:
        body = NativeBody({}, [], source, 0, 0)
    return body, diagnostics


def parse_expression(source: Source, start: int = 0) -> tuple[Expression | None, list[Diagnostic]]:
    """The expression from an offset to the end of the text (None if there is a mistake), and the problems. Newlines are
    allowed anywhere."""
    expression, diagnostics = _parse(source, "expression", start, lexer.BRACKETS)
    return (None if has_errors(diagnostics) else expression), diagnostics


def parse_template(source: Source, start: int = 0) -> tuple[Expression | None, list[Diagnostic]]:
    """The template without quotes, as in a template file or a JSON string, from an offset to the end of the text (None
    if there is a mistake), and the problems."""
    expression, diagnostics = _parse(source, "template", start, lexer.BARE)
    return (None if has_errors(diagnostics) else expression), diagnostics


def _parse(
    source: Source, start: str, offset: int, mode: int, given: list[Token] | None = None
) -> tuple[Any, list[Diagnostic]]:
    global _tables
    with _without_gc():
        if _tables is None:
            _tables = load_tables("config.lark", STARTS, partial(getattr, Builder))
        builder = Builder(source)
        tokens = tokenize(source.text, offset, mode) if given is None else given
        recovery: ParseRecovery | None = None

        def mistake(number: int, states: list[Row], values: list[Any]) -> int:
            nonlocal recovery
            recovery = recovery or ParseRecovery(builder, tokens, states, values)
            return recovery.at(number)

        result = run(tokens, _tables.starts[start], builder, mistake, _CONTEXTUAL)
    return result, builder.diagnostics


@contextmanager
def _without_gc() -> Iterator[None]:
    """A context without garbage collection, because parsing creates many objects and no garbage."""
    paused = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if paused:
            gc.enable()
