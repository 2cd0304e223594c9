"""Bodies of provider blocks in test files, in which expressions may refer to earlier runs."""

from __future__ import annotations

from planner.foundation.vocabulary.diagnostic import has_errors
from planner.language.config.model import Expr
from planner.language.expressions.evaluate import try_evaluate
from planner.language.expressions.scope import Scope
from planner.language.syntax.body import Attribute, Block, Body
from planner.language.syntax.native_body import NativeBody
from planner.language.syntax.nodes import Literal
from planner.workflows.testing.variables import names_of


def filled(body: Body, scope: Scope) -> Body:
    """The body with the values of expressions that refer to earlier runs in their place."""
    if not isinstance(body, NativeBody):
        return body
    attributes = {name: _filled(attribute, scope) for name, attribute in body.attributes.items()}
    blocks = [
        Block(b.type, b.type_end, b.labels, b.header_end, filled(b.body, scope), b.source, b.start, b.end)
        for b in body.blocks
    ]
    return NativeBody(attributes, blocks, body.source, body.start, body.end, body.taken, body.taken_types)


def _filled(attribute: Attribute, scope: Scope) -> Attribute:
    expr = Expr(attribute.expr, attribute.source)
    if "run" not in names_of(expr):
        return attribute
    value, problems = try_evaluate(expr.node, scope, expr.source)
    if has_errors(problems):
        return attribute  # whoever decodes the body says what is wrong with it
    constant = Literal(value, expr.node.start, expr.node.end)
    return Attribute(attribute.name, attribute.name_end, constant, attribute.source, attribute.start, attribute.end)
