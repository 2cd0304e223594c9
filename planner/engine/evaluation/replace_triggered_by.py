"""What elements of lifecycle.replace_triggered_by name."""

from __future__ import annotations

from planner.engine.evaluation.repetition import Repetition
from planner.foundation.values.value import Value
from planner.foundation.vocabulary.diagnostic import Failure, error
from planner.foundation.vocabulary.span import Span
from planner.language.config.model import Expr
from planner.language.config.references import BadReference, Ref, parse_reference
from planner.language.syntax.nodes import Expression, GetAttr, GetIndex, Index, Relative, Traversal, Variable


def watched(expr: Expr, repetition: Repetition) -> Ref:
    """What an element of replace_triggered_by names in an instance with this repetition. Raises Failure."""
    ref = parse_reference(_static(expr, expr.node, repetition))
    if isinstance(ref, BadReference):
        raise Failure(error("plan.bad_trigger", ref.summary, ref.detail, Span(expr.source, ref.start, ref.end)))
    return ref


def _static(expr: Expr, node: Expression, repetition: Repetition) -> Traversal | Variable:
    """The traversal with count.index and each.key filled in."""
    if isinstance(node, Traversal | Variable):
        return node
    if isinstance(node, Relative):
        return _longer(_static(expr, node.source, repetition), node.steps, node.end)
    if isinstance(node, Index):
        before = _static(expr, node.collection, repetition)
        step = GetIndex(_key(expr, node.key, repetition), node.bracket, node.end)
        return _longer(before, (step,), node.end)
    detail = "Only references to resources, with count.index or each.key as index, can stand here."
    span = Span(expr.source, node.start, node.end)
    raise Failure(error("plan.bad_trigger", "Invalid replace_triggered_by expression", detail, span))


def _longer(before: Traversal | Variable, steps: tuple[GetAttr | GetIndex, ...], end: int) -> Traversal:
    if isinstance(before, Variable):
        return Traversal(before.name, before.end, steps, before.start, end)
    return Traversal(before.root, before.root_end, (*before.steps, *steps), before.start, end)


def _key(expr: Expr, node: Expression, repetition: Repetition) -> Value:
    span = Span(expr.source, node.start, node.end)
    if isinstance(node, Traversal) and len(node.steps) == 1 and isinstance(node.steps[0], GetAttr):
        name = f"{node.root}.{node.steps[0].name}"
        value = {"count.index": repetition.count_index, "each.key": repetition.each_key}.get(name)
        if value is not None:
            return value
        if name in ("count.index", "each.key"):
            detail = f"{name} means nothing here: the resource does not have that argument."
            raise Failure(error("plan.bad_trigger", f'Reference to "{node.root}" in wrong context', detail, span))
    detail = "An index is a constant, count.index or each.key here."
    raise Failure(error("plan.bad_trigger", "Invalid index expression", detail, span))
