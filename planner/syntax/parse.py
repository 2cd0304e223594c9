"""Text in native syntax to typed syntax: configuration files, expressions and templates.

Every function gives what it could read and the problems; it never raises.
"""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from planner.syntax import lexer
from planner.syntax.build import Builder
from planner.syntax.lexer import Token, tokenize
from planner.syntax.native_body import NativeBody
from planner.syntax.nodes import Expression
from planner.syntax.recover import Recovery
from planner.syntax.tables import Row, Tables, load_tables
from planner.vocabulary.diagnostic import Diagnostic, has_errors
from planner.vocabulary.span import Source

STARTS = ("file", "expression", "template")
FileBody = NativeBody

_tables: Tables | None = None


def parse_config(source: Source) -> tuple[FileBody, list[Diagnostic]]:
    """A configuration file. After a mistake reading goes on, so several are reported; what was whole is in the body."""
    body, diagnostics = _parse(source, "file", 0, lexer.BODY)
    if body is None:
        body = NativeBody({}, [], source, 0, 0)
    return body, diagnostics


def parse_expression(source: Source, start: int = 0) -> tuple[Expression | None, list[Diagnostic]]:
    """One expression from an offset to the end of the text, newlines allowed anywhere. None when it has a mistake."""
    expression, diagnostics = _parse(source, "expression", start, lexer.BRACKETS)
    return (None if has_errors(diagnostics) else expression), diagnostics


def parse_template(source: Source, start: int = 0) -> tuple[Expression | None, list[Diagnostic]]:
    """A template without quotes around it, as in a template file or a JSON string. None when it has a mistake."""
    expression, diagnostics = _parse(source, "template", start, lexer.BARE)
    return (None if has_errors(diagnostics) else expression), diagnostics


def _parse(source: Source, start: str, offset: int, mode: int) -> tuple[Any, list[Diagnostic]]:
    global _tables
    with _without_gc():
        if _tables is None:
            _tables = load_tables("config.lark", STARTS, Builder)
        builder = Builder(source)
        tokens = tokenize(source.text, offset, mode)
        result = run(tokens, _tables.starts[start], builder)
    return result, builder.diagnostics


def run(tokens: list[Token], start: Row, builder: Builder) -> Any:
    """Run the tables over tokens: shift, or reduce with the production's action. None when nothing could be read."""
    row = start
    states, values = [row], []  # type: ignore[var-annotated]
    recovery: Recovery | None = None
    iterator: Any = iter(tokens)
    for token in iterator:
        kind = token[0]
        while True:
            try:
                action = row[kind]
            except KeyError:
                if (kind == "FOR" or kind == "IN" or kind == "IF") and "NAME" in row:
                    kind = "NAME"
                    continue
                recovery = recovery or Recovery(builder, tokens, states, values)
                index = recovery.at(len(tokens) - iterator.__length_hint__() - 1)
                if index < 0:
                    return None
                iterator.__setstate__(index)
                row = states[-1]
                break
            if action.__class__ is dict:
                row = action
                states.append(row)
                values.append(token)
                break
            size, make, origin = action
            if size == 1:
                if make is not None:
                    values[-1] = make(builder, [values[-1]])
                states[-1] = row = states[-2][origin]
            elif size:
                children = values[-size:]
                del values[-size:], states[-size:]
                values.append(make(builder, children))
                row = states[-1][origin]
                states.append(row)
            else:
                values.append(make(builder, []))
                row = row[origin]
                states.append(row)
    return values[-2]


@contextmanager
def _without_gc() -> Iterator[None]:
    """A parse makes many objects and no garbage: collections during it are in vain."""
    paused = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if paused:
            gc.enable()
