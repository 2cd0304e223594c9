"""Condition blocks: validation, precondition, postcondition, assert."""

from __future__ import annotations

from planner.language.config.model import CheckRule, Expr
from planner.language.config.reading import Problems, expr_of, read
from planner.language.config.references import parse_reference
from planner.language.syntax.body import Block, BodySchema
from planner.language.syntax.references import variables

_RULE = BodySchema({"condition": True, "error_message": True})


def check_rule(block: Block, override: bool, problems: Problems) -> CheckRule | None:
    """A condition with its message. Override files may hold none."""
    if override:
        detail = f"Override files may not hold {block.type} blocks."
        problems.error("condition_in_override", f"Can't override {block.type} blocks", detail, block.header_span)
        return None
    content = read(block.body, _RULE, problems)
    condition = content.attributes.get("condition")
    message = content.attributes.get("error_message")
    if condition is None:
        return None
    expr = expr_of(condition, problems)
    if not variables(expr.node):
        detail = "The condition refers to nothing, so it would always be the same: let it test some object."
        problems.error("constant_condition", f"Invalid {block.type} expression", detail, expr.span)
    return CheckRule(expr, expr_of(message, problems) if message else None, block.header_span)


def refuse_self_reference(rule: CheckRule, kind: str, key: str, problems: Problems) -> None:
    """A condition of a resource speaks of the resource as `self` (or not at all), never by its address."""
    for expr in (rule.condition, rule.error_message):
        if expr is None:
            continue
        for node in variables(expr.node):
            ref = parse_reference(node)
            if ref.kind == "resource" and ref.name == key:
                detail = f"The {kind} of {key} may not name {key} itself; a postcondition may use self."
                problems.error("self_reference", f"Invalid reference in {kind}", detail, expr.span)
                break


def refers_to_variable(expr: Expr, name: str) -> bool:
    """Whether an expression mentions an input variable."""
    return any((ref := parse_reference(node)).kind == "var" and ref.name == name for node in variables(expr.node))
