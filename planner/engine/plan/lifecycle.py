"""Arguments of lifecycle blocks that decide about destroying: `destroy` and `prevent_destroy`."""

from __future__ import annotations

from planner.engine.evaluation.instance import Instance
from planner.engine.plan.action import Decision, Facts, decide
from planner.foundation.values.convert import ConversionError, convert
from planner.foundation.values.types import BOOL
from planner.foundation.values.value import EPHEMERAL, SENSITIVE, Null, Unknown, unmark
from planner.foundation.vocabulary.diagnostic import Diagnostic, Failure, error, has_errors
from planner.foundation.vocabulary.shell import option
from planner.foundation.vocabulary.span import Span
from planner.language.config.model import ResourceDecl
from planner.language.config.references import Ref, parse_reference
from planner.language.expressions.evaluate import try_evaluate
from planner.language.expressions.scope import Scope
from planner.language.syntax.references import variables
from planner.logic.programs.actions import does


def keeps_object(decl: ResourceDecl | None) -> bool:
    """Whether lifecycle.destroy is false: the object is never destroyed, only forgotten. Raises Failure."""
    expr = decl.lifecycle.destroy if decl is not None else None
    if expr is None:
        return False
    value, problems = try_evaluate(expr.node, Scope(), expr.source)
    if has_errors(problems):
        raise Failure(problems)
    if value.__class__ is not bool:
        detail = "lifecycle.destroy must be true or false."
        raise Failure(error("plan.lifecycle_destroy", "Invalid lifecycle destroy expression", detail, expr.span))
    return not value


def decided(it: Instance, facts: Facts, scope: Scope) -> tuple[Decision, list[Diagnostic]]:
    """The decision about an instance; whether prevent_destroy is true becomes one of its facts. The diagnostics say
    why the action must not be carried out."""
    decision = decide(facts)
    decl = it.decl
    if decl is None or decl.lifecycle.prevent_destroy is None or it.deposed:
        return decision, []
    problems: list[Diagnostic] = []
    destroys = does(decision.action, "destroys")
    if _prevents_destroy(decl, scope, it.address, destroys, problems):
        facts["prevents_destroy"] = ()
        decision = decide(facts)
    if decision.destroy_prevented:
        detail = (
            f"The plan would destroy {it.address}, but prevent_destroy is true. Change that if the object may go, or "
            f"leave the resource out of this plan with {option('exclude', it.resource_address)}."
        )
        problems.append(error("plan.destroy_prevented", "Resource instance cannot be destroyed", detail, decl.span))
    return decision, problems


def _prevents_destroy(
    decl: ResourceDecl, scope: Scope, address: str, destroys: bool, problems: list[Diagnostic]
) -> bool:
    """Whether prevent_destroy is true. What is wrong with the expression itself is always an error; that it is unknown
    or null only when the plan `destroys` the object."""
    expr = decl.lifecycle.prevent_destroy
    if expr is None:
        return False
    found = []
    for node in variables(expr.node):
        ref = parse_reference(node)
        if isinstance(ref, Ref) and ref.kind in ("each", "count"):
            detail = f"{ref.kind}.{ref.name} has no value for instances that are no longer declared."
            span = Span(expr.source, ref.start, ref.end)
            found.append(error("plan.prevent_destroy", "Invalid reference in prevent_destroy", detail, span))
    if found:
        problems += found
        return False
    value, found = try_evaluate(expr.node, scope, expr.source)
    if has_errors(found):
        problems += found
        return False
    if destroys:
        problems += found
    value, marks = unmark(value)
    reason = ""
    try:
        value = convert(value, BOOL)
    except ConversionError as bad:
        reason = str(bad)
    if SENSITIVE in marks:
        reason = "it is sensitive, but whether something is destroyed shows it"
    elif EPHEMERAL in marks:
        reason = "it is ephemeral, but plan and apply must agree about it"
    elif not reason and destroys and value.__class__ is Unknown:
        reason = f"it is only known after apply. Leave the resource out of this plan with {option('exclude', address)}"
    elif not reason and destroys and value.__class__ is Null:
        reason = "it is null; write false to allow that the object is destroyed"
    if reason:
        detail = f"prevent_destroy of {address} does not fit: {reason}."
        problems.append(error("plan.prevent_destroy", "Invalid value for prevent_destroy", detail, expr.span))
        return False
    return value is True
