"""Condition blocks (validation, precondition, postcondition, assert) and check blocks."""

from __future__ import annotations

from planner.config.model import CheckDecl, CheckRule, Expr
from planner.config.reading import BAD_NAME, Problems, expr_of, read
from planner.config.references import parse_reference
from planner.syntax.body import Block, BlockSchema, BodySchema
from planner.syntax.references import variables
from planner.vocabulary.address import valid_identifier
from planner.vocabulary.span import Span

_RULE = BodySchema({"condition": True, "error_message": True})
_CHECK = BodySchema({}, (BlockSchema("data", ("type", "name")), BlockSchema("assert")))


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


def check_block(block: Block, override: bool, problems: Problems) -> CheckDecl | None:
    """A check: at most one data source of its own, at least one assertion."""
    from planner.config.resources import data_block

    name, span = block.labels[0].value, block.header_span
    if override:
        detail = "Override files may not hold check blocks."
        problems.error("check_in_override", "Can't override check blocks", detail, span)
        return None
    content = read(block.body, _CHECK, problems)
    if not valid_identifier(name):
        label = block.labels[0]
        where = Span(block.source, label.start, label.end)
        problems.error("invalid_name", "Invalid check block name", BAD_NAME, where)
    data = None
    rules = []
    for inner in content.blocks:
        mine = Problems()
        if inner.type == "assert":
            rule = check_rule(inner, override, mine)
            if rule is not None and not mine.has_errors:
                rules.append(rule)
        elif data is not None:
            detail = f"The check already has a data source at {data.span}; it can have only one."
            mine.error("multiple_data_sources", "Multiple data resource blocks", detail, inner.header_span)
        else:
            found = data_block(inner, override, mine, check=name)
            data = None if mine.has_errors else found
        problems.extend(mine)
    if not rules:
        detail = "A check needs at least one assert block."
        problems.error("no_assertion", "Zero assert blocks", detail, span)
    return CheckDecl(name, data, tuple(rules), span)
