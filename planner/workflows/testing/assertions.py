"""Assertions of runs: conditions that are evaluated in the scope of the module after a plan or apply."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from planner.engine.evaluation.conditions import message_of, observed_values, operands
from planner.engine.evaluation.context import EvaluationContext
from planner.engine.evaluation.scope import ModuleScope
from planner.foundation.values.convert import ConversionError, convert
from planner.foundation.values.types import BOOL
from planner.foundation.values.value import UNKNOWN, Null, Unknown, Value, unmark_deep
from planner.foundation.vocabulary.diagnostic import Diagnostic, Failure, error, has_errors
from planner.foundation.vocabulary.nearest import did_you_mean
from planner.foundation.vocabulary.span import Source, Span
from planner.language.config.model import CheckRule, Expr
from planner.language.config.references import BadReference, parse_reference
from planner.language.expressions.evaluate import try_evaluate
from planner.language.expressions.traverse import TraversalError
from planner.language.syntax.body import variables
from planner.language.syntax.nodes import For, GetAttr, SyntaxNode, TemplateFor, Traversal, Variable

_STATIC = frozenset(
    f"plan.{what}"
    for what in (
        "undeclared_resource",
        "undeclared_module",
        "missing_key",
        "unexpected_key",
        "unsupported_attribute",
        "invalid_self",
    )
)
"""codes of errors about references that are invalid independently of any values"""
__all__ = ["AssertionScope", "TraversalError", "check", "mentions"]


class AssertionScope(ModuleScope):
    """The scope of the module under test, extended by `output` for its outputs, and by variables that only the test
    file defines."""

    def __init__(self, context: EvaluationContext, known: Mapping[str, Value], outputs: Mapping[str, Value]) -> None:
        super().__init__(context.root)
        self.known, self.outputs = known, outputs

    def resolve(self, node: Traversal | Variable, source: Source | None) -> tuple[Value, int]:
        root = node.name if isinstance(node, Variable) else node.root
        if root == "output":
            return self._output(node, source)
        if root == "var" and isinstance(node, Traversal) and isinstance(node.steps[0], GetAttr):
            name = node.steps[0].name
            if name in self.known:
                return self.known[name], 1
        return super().resolve(node, source)

    def _output(self, node: Traversal | Variable, source: Source | None) -> tuple[Value, int]:
        source = source or Source("", "")
        if isinstance(node, Variable) or not isinstance(node.steps[0], GetAttr):
            detail = 'The "output" object cannot be accessed directly. Instead, access one of its attributes.'
            raise Failure(error("test.reference", "Invalid reference", detail, Span(source, node.start, node.end)))
        step = node.steps[0]
        declared = self.module.config.outputs
        if step.name not in declared:
            detail = f'An output value with the name "{step.name}" has not been declared.'
            detail += did_you_mean(step.name, declared)
            span = Span(source, node.start, step.end)
            raise Failure(error("test.undeclared_output", "Reference to undeclared output value", detail, span))
        return self.outputs.get(step.name, UNKNOWN), 1


def mentions(rules: tuple[CheckRule, ...]) -> Iterator[str]:
    """The kind of each reference in the conditions and error messages of assertions (see
    `planner.language.config.references`); "bad" for an invalid reference."""
    for rule in rules:
        for expr in (rule.condition, rule.error_message):
            for node in variables(expr.node) if expr is not None else ():
                result = parse_reference(node)
                yield "bad" if isinstance(result, BadReference) else result.kind


def check(rule: CheckRule, scope: ModuleScope) -> tuple[str, list[Diagnostic]]:
    """The result of an assertion (pass, fail or error), and its diagnostics."""
    wrong = _checks(rule)
    if wrong:
        return "error", wrong
    message, problems = message_of(rule.error_message, scope)
    value, item = try_evaluate(rule.condition.node, scope, rule.condition.source)
    problems += [d for d in item if d not in problems]
    if has_errors(problems):
        static = any(problem.code in _STATIC for problem in problems)
        return "error", [*problems, *(_unheard(rule) if static else ())]
    value, _ = unmark_deep(value)
    span, about = rule.condition.span, observed_values(rule, scope)
    if value.__class__ is Null:
        detail = "Condition expression must return either true or false, not null."
        return "error", [*problems, error("test.null_condition", "Invalid condition run", detail, span, **about)]
    if value.__class__ is Unknown:
        detail = "Condition expression could not be evaluated at this time."
        values = operands(rule, scope)
        return "error", [
            *problems,
            error("test.unknown_condition", "Unknown condition run", detail, span, values=values),
        ]
    try:
        holds = convert(value, BOOL)
    except ConversionError as bad:
        detail = f"Invalid condition run value: {bad}."
        return "error", [*problems, error("test.condition_type", "Invalid condition run", detail, span, **about)]
    if holds is True:
        return "pass", problems
    return "fail", [*problems, error("test.assertion_failed", "Test assertion failed", message, span, **about)]


def _unheard(rule: CheckRule) -> Iterator[Diagnostic]:
    """An "Unknown variable" error for each reference in an assertion. OpenTofu reports these errors if one of the
    references is invalid, regardless of values."""
    for expr in _expressions(rule):
        for node in _evaluated(expr.node):
            yield _unknown(node, expr.source)


def _expressions(rule: CheckRule) -> list[Expr]:
    return [rule.condition, *([] if rule.error_message is None else [rule.error_message])]


def _unknown(node: Traversal | Variable, source: Source | None) -> Diagnostic:
    name, end = (node.name, node.end) if isinstance(node, Variable) else (node.root, node.root_end)
    where = Span(source or Source("", ""), node.start, end)
    return error("language.unknown_variable", "Unknown variable", f'There is no variable named "{name}".', where)


def _checks(rule: CheckRule) -> list[Diagnostic]:
    """Errors for references to checks, which are not allowed in an assertion."""
    diagnostics = []
    for expr in _expressions(rule):
        for node in variables(expr.node):
            if (node.name if isinstance(node, Variable) else node.root) == "check":
                detail = 'Only the argument expect_failures of a "run" block can name a check.'
                title = 'Reference to "check" in invalid context'
                span = Span(expr.source, node.start, node.end)
                diagnostics += [error("test.check_reference", title, detail, span), _unknown(node, expr.source)]
    return diagnostics


def _evaluated(node: Any) -> Iterator[Traversal | Variable]:
    """The references in an expression. In `for` expressions and template loops, only references in the collection are
    included."""
    if isinstance(node, Traversal | Variable):
        yield node
    elif isinstance(node, For | TemplateFor):
        yield from _evaluated(node.collection)
    else:
        for name in getattr(node, "__slots__", ()):
            part = getattr(node, name, None)
            for inner in part if part.__class__ is tuple else (part,):
                if isinstance(inner, SyntaxNode):
                    yield from _evaluated(inner)
