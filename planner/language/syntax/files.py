"""Reads configuration and variables files through the parse cache. The file name determines whether the syntax is
native or JSON."""

from __future__ import annotations

import os
from typing import Any

from planner.foundation.support.disk import read_given, read_whole
from planner.foundation.support.store import Shelf
from planner.foundation.vocabulary.diagnostic import Diagnostic, error
from planner.foundation.vocabulary.span import Source, Span
from planner.language.syntax.body import Body

PARSED = Shelf("syntax", 8192, made_by=("language/syntax", "config.lark"))
"""a cache of the bodies and sources of files without syntax errors; the key is the text of the file"""


def load_file(
    path: str | os.PathLike[str], display_name: str, given: bool = False, keep: bool = True
) -> tuple[Body | None, Source, list[Diagnostic]]:
    """The body of a file, its source, and the problems. If the file has mistakes, the body contains the readable parts;
    it is None if the file cannot be read, is not UTF-8, or is JSON without a readable object or array. `display_name`:
    the file name in diagnostics. `given`: whether the user named the file explicitly, so that it may be a pipe. `keep`:
    whether the content may be stored in the cache."""
    try:
        data = (read_given if given else read_whole)(path)
    except (OSError, ValueError) as problem:
        reason = getattr(problem, "strerror", None) or str(problem)
        detail = f"The file {display_name} cannot be read: {reason}."
        return None, Source(display_name, ""), [error("file.unreadable", "File cannot be read", detail)]
    return load_text(data, display_name, keep)


def load_text(data: bytes, display_name: str, keep: bool = True) -> tuple[Body | None, Source, list[Diagnostic]]:
    """The result of `load_file` for a file with this content."""
    source, wrong = decode(data, display_name)
    if wrong:
        return None, source, wrong
    text = source.text
    json = display_name.endswith(".json")
    name = PARSED.name("json" if json else "native", text)
    known: list[Any] | None = PARSED.value(name)
    if known is not None:
        body, kept = known
        kept.filename, kept.text = display_name, text
        return body, kept, []
    if json:
        from planner.language.syntax.json_body import parse_json

        body, diagnostics = parse_json(source)
    else:
        from planner.language.syntax.parse import parse_config

        body, diagnostics = parse_config(source)
    if keep and not diagnostics:
        PARSED.keep(name, [body, source])
    return body, source, diagnostics


def decode(data: bytes, display_name: str) -> tuple[Source, list[Diagnostic]]:
    try:
        return Source(display_name, data.decode("utf-8")), []
    except UnicodeDecodeError as problem:
        source = Source(display_name, data.decode("utf-8", "replace"))
        at = len(data[: problem.start].decode("utf-8", "replace"))
        detail = "The file is not valid UTF-8: invalid byte here. Save the file in that encoding."
        return source, [error("file.encoding", "Not UTF-8", detail, Span(source, at, at + 1))]
