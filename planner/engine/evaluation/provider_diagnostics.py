"""Finds the places in the configuration to which problems refer that providers report.

A provider identifies an attribute by its path, and the attribute is looked up in the body of the object's block. If the
body does not contain it, the problem is located in the innermost block on the path."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from planner.foundation.vocabulary.diagnostic import Diagnostic, error, has_errors
from planner.foundation.vocabulary.span import Span
from planner.language.expressions.environment import start_range
from planner.language.syntax.body import Attribute, Body, BodySchema, ExpectedBlock
from planner.language.syntax.nodes import Literal, Object, Tuple
from planner.world.provider.interface import AttributeDiagnostic

DEFERRALS = {
    "resource_config_unknown": "plan.deferred_configuration",
    "provider_config_unknown": "plan.deferred_provider",
    "absent_prereq": "plan.deferred_prerequisite",
}
"""codes of diagnostics by the provider's reason for deferring an object"""


def in_body(problems: Iterable[AttributeDiagnostic], body: Body | None, address: str) -> list[Diagnostic]:
    """The problems as diagnostics about the object at `address`. If the provider defers the object, this becomes an
    error. `body`: the configuration of the object; None if it has none."""
    return [
        deferral_error(p.deferred, p.detail, address)
        if p.deferred
        else Diagnostic(
            "error" if p.severity == "error" else "warning",
            "provider.problem",
            p.summary,
            p.detail,
            place(body, p.path) if body is not None and p.path is not None else None,
            address=address,
        )
        for p in problems
    ]


def deferral_error(reason: str, detail: str, address: str) -> Diagnostic:
    """The error for an object that its provider defers. With the option -allow-deferral, the object is left out of the
    plan instead."""
    title = "Object deferred by its provider"
    if reason == "absent_prereq":
        return error("plan.deferred_prerequisite", title, detail, address=address)
    if reason == "provider_config_unknown":
        return error("plan.deferred_provider", title, detail, address=address)
    return error("plan.deferred_configuration", title, detail, address=address)


def place(body: Body, path: tuple[Any, ...]) -> Span:
    """The span of the attribute at a path of steps ("attr", name) and ("index", key). If the body has no attribute at
    this path, the span at which a missing attribute of the innermost block on the path is reported."""
    if not path or path[0][0] == "index":
        return body.missing_span
    index = path[-1][1] if path[-1][0] == "index" else None
    steps = path[:-1] if index is not None else path
    if len(steps) > 1:
        body = _descend(body, steps)
    kind, name = steps[-1]
    if kind != "attr":
        return body.missing_span
    content, _ = body.partial_content(BodySchema({name: True}))
    attribute = content.attributes.get(name)
    if attribute is None or has_errors(content.diagnostics):
        return body.missing_span
    return attribute.expr_span if index is None else _element(attribute, index)


def _descend(body: Body, steps: tuple[Any, ...]) -> Body:
    at = 0
    while at < len(steps):
        kind, name = steps[at]
        if kind != "attr":
            return body
        key = steps[at + 1][1] if at + 1 < len(steps) and steps[at + 1][0] == "index" else None
        at += 1 if key is None else 2
        labels = ("key",) if isinstance(key, str) else ()
        content, _ = body.partial_content(BodySchema({}, (ExpectedBlock(name, labels),)))
        if has_errors(content.diagnostics):
            return body
        blocks = content.blocks
        if not blocks:
            continue
        if key is None:
            if len(blocks) != 1:
                return body
            body = blocks[0].body
        elif isinstance(key, int):
            if key >= len(blocks):
                return body
            body = blocks[key].body
        else:
            named = [block for block in blocks if block.labels[0].value == key]
            if not named:
                return body
            body = named[0].body
    return body


def _element(attribute: Attribute, key: Any) -> Span:
    expr = attribute.expr
    if isinstance(key, int) and isinstance(expr, Tuple):
        if key >= len(expr.items):
            return attribute.name_span
        item = expr.items[key]
        return Span(attribute.source, item.start, item.end)
    if isinstance(key, str) and isinstance(expr, Object):
        for entry in expr.items:
            if not isinstance(entry.key, Literal):
                return attribute.expr_span  # the key cannot be found without evaluation
            if entry.key.value == key:
                return Span(attribute.source, *start_range(entry.value, attribute.source))
        return attribute.name_span
    return attribute.expr_span
