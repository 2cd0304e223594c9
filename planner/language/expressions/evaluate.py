"""Evaluation of expressions.

evaluate(node, scope, source) -> value raises EvaluationError with all problems

The expression is compiled at its first evaluation (planner.language.expressions.compile) and the program stays on the
node. Spans of errors are made with `source`, the file that contains the node.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from planner.foundation.values.value import UNKNOWN, Value
from planner.foundation.vocabulary.diagnostic import Diagnostic, Failure, error, has_errors
from planner.foundation.vocabulary.span import Source, Span
from planner.language.expressions.compile import compile_expression
from planner.language.expressions.compile_call import EvaluationError
from planner.language.expressions.environment import NO_SOURCE, Environment, Program
from planner.language.expressions.scope import MappingScope, Scope
from planner.language.syntax.nodes import Expression

if TYPE_CHECKING:
    from planner.language.functions import CallContext

__all__ = [
    "EvaluationError",
    "MappingScope",
    "Program",
    "Scope",
    "compile_expression",
    "evaluate",
    "evaluate_parts",
    "evaluate_template",
    "try_evaluate",
]


def evaluate(node: Expression, scope: Scope, source: Source | None = None) -> Value:
    """The value of an expression. Raises EvaluationError.

    All references are resolved, also those in parts that are not evaluated (the body of a `for` over nothing): a
    reference that is wrong in itself is an error at any position, and then the only kind of error reported.
    """
    try:
        try:
            program: Program = node.compiled
        except AttributeError:
            program = compile_expression(node)
        env = Environment(node, program, scope, source, evaluate_template)
        value = program.run(env)
    except RecursionError:
        raise EvaluationError(_too_deep(node, source)) from None
    if program.lazy:
        _resolve_rest(env, program)
    if env.refused or env.errors:
        raise EvaluationError(_distinct(env.refused) if env.refused else env.errors)
    return _used(value, node, env)[0] if scope.deprecations else value


def try_evaluate(node: Expression, scope: Scope, source: Source | None = None) -> tuple[Value, list[Diagnostic]]:
    """As `evaluate`, with the problems as values: what the expression gives in spite of them, and they. Nothing is
    known of an expression with a reference that is wrong in itself."""
    value, errors, refused = evaluate_parts(node, scope, source)
    return (UNKNOWN, refused) if refused else (value, errors)


def evaluate_parts(
    node: Expression, scope: Scope, source: Source | None = None, marks_deprecated: bool = False
) -> tuple[Value, list[Diagnostic], list[Diagnostic]]:
    """As `try_evaluate`, with references that are wrong in themselves apart from other errors. `marks_deprecated`: what
    is derived from a deprecated source keeps the mark and has no warning, as this is but a part of what has one."""
    program = compile_expression(node)
    env = Environment(node, program, scope, source, evaluate_template)
    value = program.run(env)
    if program.lazy:
        _resolve_rest(env, program)
    if scope.deprecations and not marks_deprecated:
        value, warnings = _used(value, node, env)
        env.errors.extend(warnings)
    return value, env.errors, _distinct(env.refused) if env.refused else env.refused


def _used(value: Value, node: Expression, env: Environment) -> tuple[Value, list[Diagnostic]]:
    from planner.language.expressions.deprecations import take_deprecations

    return take_deprecations(value, Span(env.source, node.start, node.end))


def evaluate_template(text: str, filename: str, variables: dict[str, Value], context: CallContext) -> Value:
    """The value of a template as functions evaluate it: a text with nothing in scope but the given variables. Raises
    Failure when it does not parse or evaluate."""
    from planner.language.syntax.parse import parse_template

    source = Source(filename, text)
    node, diagnostics = parse_template(source)
    if node is None or has_errors(diagnostics):
        raise Failure(diagnostics)
    return evaluate(node, MappingScope(variables, context=context), source)


def _too_deep(node: Expression, source: Source | None) -> Diagnostic:
    detail = "This expression is nested deeper than it can be evaluated."
    return error("language.too_deep", "Nested too deeply", detail, Span(source or NO_SOURCE, node.start, node.start))


def _resolve_rest(env: Environment, program: Program) -> None:
    """Resolves the references that the run may have left out."""
    for node in program.lazy:
        try:
            env.scope.resolve(node, env.source)
        except Failure as failure:
            env.refused.extend(failure.diagnostics)


def _distinct(diagnostics: list[Diagnostic]) -> list[Diagnostic]:
    """Each problem once, in the order of the text (a reference in a loop is resolved many times)."""
    seen: dict[Any, Diagnostic] = {}
    for d in diagnostics:
        place = (d.subject.filename, d.subject.start, d.subject.end) if d.subject else None
        seen.setdefault((place, d.summary, d.detail), d)
    return sorted(seen.values(), key=lambda d: (d.subject.filename, d.subject.start) if d.subject else ("", -1))
