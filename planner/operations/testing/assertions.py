"""Assertions of runs: what holds when a module is planned or applied, seen from inside of it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from planner.config.model import CheckRule
from planner.config.references import BadReference, parse_reference
from planner.evaluation.conditions import message_of, operands, seen
from planner.evaluation.context import EvaluationContext
from planner.evaluation.scope import ModuleScope
from planner.language.evaluate import try_evaluate
from planner.language.traverse import TraversalError
from planner.syntax.nodes import GetAttr, Traversal, Variable
from planner.syntax.references import variables
from planner.values.convert import ConversionError, convert
from planner.values.types import BOOL
from planner.values.value import UNKNOWN, Null, Unknown, Value, unmark_deep
from planner.vocabulary.diagnostic import Diagnostic, Failure, error, has_errors
from planner.vocabulary.nearest import did_you_mean
from planner.vocabulary.span import Source, Span

__all__ = ["AssertionScope", "TraversalError", "check", "mentions"]


class AssertionScope(ModuleScope):
    """The names of the module under test; besides, `output` for its outputs, and variables that only the test file
    has."""

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
    """The kinds of what assertions refer to (as in `planner.config.references`)."""
    for rule in rules:
        for expr in (rule.condition, rule.error_message):
            for node in variables(expr.node) if expr is not None else ():
                found = parse_reference(node)
                yield "bad" if isinstance(found, BadReference) else found.kind


def check(rule: CheckRule, scope: ModuleScope) -> tuple[str, list[Diagnostic]]:
    """Whether an assertion holds: pass, fail or error; and what there is to say."""
    message, problems = message_of(rule.error_message, scope)
    value, found = try_evaluate(rule.condition.node, scope, rule.condition.source)
    problems += [d for d in found if d not in problems]
    if has_errors(problems):
        return "error", [*problems, *_without_root(problems)]
    value, _ = unmark_deep(value)
    span, about = rule.condition.span, seen(rule, scope)
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


def _without_root(problems: list[Diagnostic]) -> Iterator[Diagnostic]:
    """OpenTofu says of a reference to a resource that is not declared that the name of its type means nothing, too, and
    who counts the errors of a run counts that."""
    for problem in problems:
        if problem.code == "plan.undeclared_resource" and problem.subject is not None:
            span = problem.subject
            root = span.text.partition(".")[0]
            if root in ("data", "ephemeral", "resource"):
                continue
            where = Span(span.source, span.start, span.start + len(root))
            detail = f'There is no variable named "{root}".'
            yield error("language.unknown_variable", "Unknown variable", detail, where)
