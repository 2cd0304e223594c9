"""Diagnostics in OpenTofu's and Terraform's JSON format (1.0), for `validate -json`, UI lines, editors and CI
annotations.

Columns count grapheme clusters from 1; bytes and snippet offsets count UTF-8 bytes from 0 (see vocabulary.span).
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from planner.foundation.values.paths import sensitive_structure, unknown_structure
from planner.foundation.values.value import Unknown, Value, is_wholly_known, unmark, unmark_deep
from planner.foundation.vocabulary.diagnostic import Diagnostic, Failure
from planner.foundation.vocabulary.span import Source, Span


def diagnostic_json(diagnostic: Diagnostic) -> dict[str, Any]:
    """A diagnostic with range and snippet. The keys `because` and `code` are planner's own."""
    answer: dict[str, Any] = {
        "severity": diagnostic.severity,
        "summary": diagnostic.summary,
        "detail": diagnostic.detail,
    }
    if diagnostic.address:
        answer["address"] = diagnostic.address
    if diagnostic.subject is not None:
        subject = _at_least_one_byte(diagnostic.subject)
        answer["range"] = {"filename": diagnostic.subject.filename, "start": subject[0], "end": subject[1]}
        answer["snippet"] = _snippet(diagnostic, subject[0]["byte"], subject[1]["byte"])
    if diagnostic.difference is not None:
        answer |= _difference(*diagnostic.difference)
    if diagnostic.because:
        answer["because"] = [_cause(cause) for cause in diagnostic.because]
    answer["code"] = diagnostic.code
    return answer


def _cause(cause: Any) -> dict[str, Any]:
    """A step in the origin of a value, in the JSON form (see planner.answers.explain.assertions)."""
    document: dict[str, Any] = {"depth": cause.depth, "what": cause.what, "value": cause.value, "how": cause.how}
    if cause.span is not None:
        document["range"] = {"filename": cause.span.filename, "line": cause.span.line}
    return document


def _difference(before: Value, after: Value) -> dict[str, Any]:
    """The difference between the two sides of a comparison `==` that is false; {} if a side has marks or contains an
    infinite number."""
    from planner.answers.documents.json_values import plain

    if unmark_deep(before)[1] or unmark_deep(after)[1]:
        return {}
    try:
        change: dict[str, Any] = {"before": plain(before)}
        if unmark(after)[0].__class__ is not Unknown:
            change["after"] = plain(after)
    except Failure:  # an infinite number
        return {}
    unknown = False if is_wholly_known(after) else unknown_structure(after)
    change |= {"after_unknown": unknown, "before_sensitive": sensitive_structure(before)}
    return {"difference": {**change, "after_sensitive": sensitive_structure(after)}}


def validate_json(diagnostics: Iterable[Diagnostic]) -> dict[str, Any]:
    """The JSON document that `validate -json` prints."""
    shown = sort_diagnostics(diagnostics)
    errors = sum(d.is_error for d in shown)
    return {
        "format_version": "1.0",
        "valid": not errors,
        "error_count": errors,
        "warning_count": len(shown) - errors,
        "diagnostics": [diagnostic_json(d) for d in shown],
    }


def sort_diagnostics(diagnostics: Iterable[Diagnostic]) -> list[Diagnostic]:
    """The diagnostics, sorted: warnings before errors, so that the cause of a failure is last; within each severity,
    diagnostics without a place come first, and the others are sorted by place."""
    return sorted(diagnostics, key=_order)


def by_place(d: Diagnostic) -> tuple[Any, ...]:
    """The sort key of a diagnostic: warnings before errors, diagnostics without a place before those with a place, and
    files in a directory before files in its subdirectories."""
    if d.subject is None:
        return (d.is_error, False)
    name = d.subject.filename
    return (d.is_error, True, name.count("/"), name, d.subject.start, d.subject.end)


def _order(d: Diagnostic) -> tuple[Any, ...]:
    return (*by_place(d), d.summary, d.detail)


def _at_least_one_byte(span: Span) -> tuple[dict[str, int], dict[str, int]]:
    """The start and the end of a span. An empty span is extended to one byte, so that it can be marked."""
    start, end = span.start_position, span.end_position
    more = 1 if start.byte == end.byte else 0
    return (
        {"line": start.line, "column": start.column, "byte": start.byte},
        {"line": end.line, "column": end.column + more, "byte": end.byte + more},
    )


def _snippet(diagnostic: Diagnostic, start: int, end: int) -> dict[str, Any]:
    """The JSON member `snippet`: the lines around the subject, and the position of the subject in these lines."""
    from planner.render.source_context import enclosing_block

    subject = diagnostic.subject
    assert subject is not None
    low, high, first_line = start, end, subject.start_position.line
    if diagnostic.context is not None and diagnostic.context.filename == subject.filename:
        context_start, context_end = _at_least_one_byte(diagnostic.context)
        if context_start["byte"] < low:
            low, first_line = context_start["byte"], context_start["line"]
        high = max(high, context_end["byte"])
    code, code_start = (b"", 0) if subject.source.is_secret else _lines(subject.source, low, high)
    length = len(code)
    snippet: dict[str, Any] = {
        "context": None if subject.source.is_secret else enclosing_block(subject.source, subject.start - 1),
        "code": code.decode("utf-8", "replace"),
        "start_line": first_line,
        "highlight_start_offset": max(0, min(start - code_start, length)),
        "highlight_end_offset": _whole_character(code, max(0, min(end - code_start, length))),
        "values": [{"traversal": name, "statement": text} for name, text in sorted(diagnostic.values)],
    }
    if diagnostic.called:
        snippet["function_call"] = _call(diagnostic.called)
    return snippet


def _call(name: str) -> dict[str, Any]:
    """A called function, with its signature if it is a function of the language."""
    from planner.language.functions import call_signature, lookup

    function = lookup(name)
    if function is None:
        return {"called_as": name}
    return {"called_as": name, "signature": call_signature(function)}


def _whole_character(code: bytes, at: int) -> int:
    """The offset; if it is inside a UTF-8 character, it is moved to the end of this character."""
    while at < len(code) and code[at] & 0xC0 == 0x80:
        at += 1
    return at


def _lines(source: Source, low: int, high: int) -> tuple[bytes, int]:
    """The whole lines with the bytes [low, high), without the last line break, and the offset of their beginning."""
    data = source.text.encode("utf-8", "surrogatepass")
    lines: list[bytes] = []
    first = -1
    at = data.rfind(b"\n", 0, low) + 1
    while at < len(data) and at <= high:
        newline = data.find(b"\n", at)
        end = newline if newline >= 0 else len(data)
        line_end = end - 1 if end > at and data[end - 1] == 13 else end
        touches = line_end > at and (at <= low < line_end or at <= high < line_end or low <= at < high)
        if touches or (line_end > at and low <= line_end < high):
            if first < 0:
                first = at
            lines.append(data[at:line_end])
        elif lines and at < high:
            lines.append(b"")  # an empty line is kept inside the snippet, so that line numbers remain correct
        at = end + 1
    while lines and not lines[-1]:
        lines.pop()
    return b"\n".join(lines), max(first, 0)
