"""Check blocks."""

from __future__ import annotations

from planner.foundation.vocabulary.address import valid_identifier
from planner.foundation.vocabulary.span import Span
from planner.language.config.conditions import check_rule
from planner.language.config.model import CheckDecl
from planner.language.config.reading import BAD_NAME, Problems, read
from planner.language.config.resources import data_block
from planner.language.syntax.body import Block, BodySchema, ExpectedBlock

_CHECK = BodySchema({}, (ExpectedBlock("data", ("type", "name")), ExpectedBlock("assert")))


def check_block(block: Block, override: bool, problems: Problems) -> CheckDecl | None:
    """A check: at most one data source of its own, at least one assertion."""
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
            declared = data_block(inner, override, mine, check=name)
            data = None if mine.has_errors else declared
        problems.extend(mine)
    if not rules:
        detail = "A check needs at least one assert block."
        problems.error("no_assertion", "Zero assert blocks", detail, span)
    return CheckDecl(name, data, tuple(rules), span)
