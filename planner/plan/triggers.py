"""lifecycle.replace_triggered_by: does something that an instance watches change?"""

from __future__ import annotations

from collections.abc import Sequence

from planner.config.model import Expr
from planner.config.references import BadReference, Ref, parse_reference
from planner.evaluation.context import ModuleInstance
from planner.evaluation.repetition import Repetition
from planner.evaluation.static_references import traversal_problems
from planner.model.plan import ResourceChange
from planner.programs.actions import does
from planner.syntax.nodes import Expression, GetAttr, GetIndex, Index, Relative, Traversal, Variable
from planner.values.identity import identical
from planner.values.paths import get
from planner.values.value import Value, unmark_deep
from planner.vocabulary.diagnostic import Failure, error
from planner.vocabulary.span import Span


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


def seen(expr: Expr, ref: Ref, module: ModuleInstance, changes: Sequence[ResourceChange]) -> set[tuple[str, str, str]]:
    """The facts (columns of `watched`) about what an element names; `changes` are those planned for the resource or
    instance. Raises Failure."""
    text = expr.span.text
    decl = module.config.resources.get(ref.name)
    place = module.text or "the root module"
    if decl is None:
        detail = f"No resource {ref.name} is declared in {place}."
        raise Failure(error("plan.undeclared_resource", "Reference to undeclared resource", detail, expr.span))
    if not changes:
        detail = f"replace_triggered_by names {ref.name}, of which there is no instance in {place}."
        raise Failure(error("plan.trigger_without_change", "Nothing to be triggered by", detail))
    if not ref.rest:
        return {(text, change.action, "whole") for change in changes}
    change = changes[0]
    if not does(change.action, "stirs"):
        return {(text, change.action, "same")}
    object_type = module.context.schemas.object_type(module.config, decl)
    problems = traversal_problems(object_type, ref.rest, expr.source)
    if problems:
        raise Failure(problems)
    path = tuple(("attr", s.name) if isinstance(s, GetAttr) else ("index", s.key) for s in ref.rest)
    found = []
    for value in (change.before, change.after):
        try:
            found.append(get(unmark_deep(value)[0], path))
        except KeyError:
            found.append(None)
    before, after = found
    is_same = before is after if before is None or after is None else identical(before, after)
    return {(text, change.action, "same" if is_same else "differs")}
