"""Evaluates one expression for `console -json`."""

from __future__ import annotations

from copy import copy
from typing import Any

from planner.foundation.values.json_codec import CodecError, simple_json
from planner.foundation.values.numbers import is_infinite, number_to_text
from planner.foundation.values.paths import sensitive_structure, unknown_structure, without_unknown
from planner.foundation.values.types import DYNAMIC, NUMBER, Type, type_text
from planner.foundation.values.value import Null, Unknown, Value, is_wholly_known, type_of, unmark_deep
from planner.foundation.vocabulary.diagnostic import Diagnostic, Failure, error
from planner.foundation.vocabulary.span import Position, Source, Span
from planner.language.expressions.evaluate import EvaluationError, evaluate
from planner.language.expressions.scope import Scope
from planner.language.functions import Function
from planner.language.syntax.nodes import Expression, Traversal, Variable
from planner.language.syntax.parse import parse_config

UNKNOWN_FUNCTION = "language.unknown_function"
BEFORE, AFTER = "locals {\n  name = ", "\n}\n"


def answer(text: str, scope: Scope) -> dict[str, Any]:
    """Like `_answer`, but returns an error for an expression that is nested too deeply for Python."""
    try:
        return _answer(text, scope)
    except RecursionError:
        detail = "This expression or its value is nested too deeply to be evaluated."
        problem = error("language.too_deep", "Nested too deeply", detail, Span(Source("<console-input>", ""), 0, 0))
        return _failure("eval", [problem], 0)


def _answer(text: str, scope: Scope) -> dict[str, Any]:
    """Evaluate an expression as if it were written in a locals block.

    Returns `value` (unless it is unknown), `type`, `sensitive` and `unknown`; or `nonfinite` and `type`; or `error`
    with `phase` ("parse" or "eval"), `ranges` relative to the text, and `diagnostics` with `summary` and `detail`.
    """
    source = Source("<console-input>", BEFORE + text + AFTER)
    body, problems = parse_config(source)
    errors = [d for d in problems if d.is_error]
    if errors or len(body.blocks) != 1:
        return _failure("parse", errors, len(text))
    attributes, problems = body.blocks[0].body.just_attributes()
    if problems or list(attributes) != ["name"]:
        return _failure("parse", problems, len(text))
    try:
        value = evaluate(attributes["name"].expr, scope, source)
    except EvaluationError as failure:
        # calls of provider functions that the module does not have are reported before the evaluation
        at_load = any(d.code == UNKNOWN_FUNCTION and _is_providers(d) for d in failure.diagnostics)
        return _failure("parse" if at_load else "eval", failure.diagnostics, len(text))
    plain, _ = unmark_deep(value)
    t = type_of(plain)
    if t is NUMBER and plain.__class__ not in (Unknown, Null) and is_infinite(plain):
        return {"nonfinite": number_to_text(plain), "type": type_text(t)}
    if scope.context.planning and not is_wholly_known(plain):
        t = _type_now(attributes["name"].expr, scope, source)
    result = {"type": type_text(t), "sensitive": sensitive_structure(value), "unknown": unknown_structure(plain)}
    if plain.__class__ is not Unknown:
        try:
            result["value"] = simple_json(without_unknown(plain))
        except Failure as failure:
            return _failure("eval", failure.diagnostics, len(text))
        except CodecError as problem:
            failed = error(
                "console.no_json",
                "Value has no JSON form",
                f"The value cannot be written as JSON: {problem}.",
                Span(source, 0, 0),
            )
            return _failure("eval", [failed], len(text))
    return result


class _Now(Scope):
    """A scope that calls impure functions immediately instead of during the apply."""

    def __init__(self, scope: Scope) -> None:
        self._scope = scope
        self._context = copy(scope.context)
        self._context.planning = False
        self._context.trial = True

    def resolve(self, node: Traversal | Variable, source: Source | None) -> tuple[Value, int]:
        return self._scope.resolve(node, source)

    def function(self, name: str) -> Function | None:
        return self._scope.function(name)


def _type_now(node: Expression, scope: Scope, source: Source) -> Type:
    """The type of an expression whose value is unknown in plans, for the console's `type()`. Unlike a plan, the console
    calls impure functions. DYNAMIC if the evaluation fails."""
    try:
        return type_of(unmark_deep(evaluate(node, _Now(scope), source))[0])
    except EvaluationError:
        return DYNAMIC


def _is_providers(problem: Diagnostic) -> bool:
    return problem.subject is not None and problem.subject.text.startswith("provider::")


def _failure(phase: str, diagnostics: list[Diagnostic], size: int) -> dict[str, Any]:
    ranges = []
    for d in diagnostics:
        if d.subject is not None:
            start, end = d.subject.start_position, d.subject.end_position
            if start == end:  # as in OpenTofu, an empty range is extended by one character
                end = Position(end.line, end.column + 1, end.byte + 1)
            place = {"start": _relative(start), "end": _relative(end)}
            if len(BEFORE) <= d.subject.start <= d.subject.end <= len(BEFORE) + size + 1 and place not in ranges:
                ranges.append(place)
    ranges.sort(key=lambda r: (r["start"]["byte"], r["end"]["byte"]))
    words = [{"summary": d.summary, "detail": d.detail} for d in diagnostics]
    return {"error": True, "phase": phase, "ranges": ranges, "diagnostics": words}


def _relative(p: Position) -> dict[str, int]:
    """A position relative to the beginning of the expression."""
    lines, columns = BEFORE.count("\n"), len(BEFORE) - BEFORE.rindex("\n") - 1
    line = p.line - lines
    return {"line": line, "column": p.column - columns if line == 1 else p.column, "byte": p.byte - len(BEFORE)}
