"""What can be said of a reference to a resource without any value: is it declared, may it have a key, has its type
the attribute? Looked at once for each reference, so that mistakes show even where the value is not known yet."""

from __future__ import annotations

from typing import TYPE_CHECKING

from planner.engine.evaluation.repetition import Repetition
from planner.foundation.values.types import Type
from planner.foundation.values.value import Unknown, Value
from planner.foundation.vocabulary.diagnostic import Diagnostic, Failure, error
from planner.foundation.vocabulary.nearest import did_you_mean, nearest
from planner.foundation.vocabulary.span import Source, Span
from planner.language.config.model import Expr, ResourceDecl
from planner.language.config.references import BadReference, Ref, parse_reference
from planner.language.expressions.traverse import TraversalError, get_attr, index
from planner.language.syntax.nodes import Expression, GetAttr, GetIndex, Index, Relative, Step, Traversal, Variable

if TYPE_CHECKING:
    from planner.engine.evaluation.schemas import Schemas
    from planner.language.config.model import ModuleConfig


def check_reference(module: ModuleConfig, schemas: Schemas, ref: Ref, span: Span) -> list[Diagnostic]:
    """Problems of a reference in a module to a resource or an instance of one."""
    decl = module.resources.get(ref.name)
    if decl is None:
        return [_undeclared(module, ref, span)]
    problems = _key_problems(decl, ref, span)
    object_type = schemas.find_object_type(module, decl)
    if object_type is None:
        detail = f"Its provider has no {_word(decl.mode)} of the type {decl.type}."
        return [*problems, error("plan.invalid_resource_type", "Invalid resource type", detail, span)]
    if ref.rest and isinstance(ref.rest[0], GetAttr) and ref.rest[0].name == "count":
        detail = f"A resource has no attribute count. Write length({ref.name}) for the number of its instances."
        problems.append(error("plan.count_attribute", "Invalid resource count attribute", detail, span))
        return problems
    return problems + traversal_problems(object_type, ref.rest, span.source)


def traversal_problems(object_type: Type, steps: tuple[Step, ...], source: Source) -> list[Diagnostic]:
    """What is wrong with steps into an object of a type, whatever its value: the first problem."""
    if steps and not isinstance(steps[0], GetAttr):
        detail = "An object has attributes, which are named after a dot."
        span = Span(source, steps[0].start, steps[0].end)
        return [error("plan.index_of_object", "Invalid index operation", detail, span)]
    value: Value = Unknown(object_type)
    for step in steps:
        try:
            value = get_attr(value, step.name) if isinstance(step, GetAttr) else index(value, step.key)
        except TraversalError as bad:
            return [error("plan.unsupported_attribute", bad.summary, bad.detail, Span(source, step.start, step.end))]
    return []


def _key_problems(decl: ResourceDecl, ref: Ref, span: Span) -> list[Diagnostic]:
    repeated = "count" if decl.count is not None else "for_each" if decl.for_each is not None else ""
    if ref.key is not None and not repeated:
        detail = f"{ref.name} has neither count nor for_each, so it has a single instance without a key."
        return [error("plan.unexpected_key", "Unexpected resource instance key", detail, span)]
    if ref.key is None and repeated and ref.rest:
        example = "count.index" if repeated == "count" else "each.key"
        detail = f"{ref.name} has {repeated}, so its attributes belong to instances: {ref.name}[{example}]."
        return [error("plan.missing_key", "Missing resource instance key", detail, span)]
    return []


def _undeclared(module: ModuleConfig, ref: Ref, span: Span) -> Diagnostic:
    place = f"module {'.'.join(module.path)}" if module.path else "the root module"
    alike = [r for r in module.resources.values() if (r.mode, r.type) == (ref.mode, ref.type)]
    similar = nearest(ref.label, [r.name for r in alike]) or ""
    hint = f' Did you mean "{ref.name.removesuffix(ref.label)}{similar}"?' if similar else ""
    if not hint:
        hint = did_you_mean(ref.type, [r.type for r in module.resources.values() if r.name == ref.label])
    for other in ("managed", "data", "ephemeral"):
        key = f"{ref.type}.{ref.label}" if other == "managed" else f"{other}.{ref.type}.{ref.label}"
        if other != ref.mode and key in module.resources:
            hint = f' Did you mean "{key}"?'
    detail = f'There is no {ref.mode} resource "{ref.type}" "{ref.label}" definition in {place}.{hint}'
    return error("plan.undeclared_resource", "Reference to undeclared resource", detail, span)


def _word(mode: str) -> str:
    return {"managed": "resource", "data": "data source", "ephemeral": "ephemeral resource"}[mode]


# What elements of lifecycle.replace_triggered_by name.


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
    detail = "Only references to resources, with count.index or each.key as index, are allowed here."
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
