"""Provider blocks of a stack as the modules of components see them: with values instead of what only means something
in the stack."""

from __future__ import annotations

from planner.foundation.values.paths import unknown_paths
from planner.foundation.values.value import unmark_deep
from planner.foundation.vocabulary.diagnostic import Diagnostic, has_errors
from planner.foundation.vocabulary.span import Span
from planner.language.expressions.evaluate import try_evaluate
from planner.language.expressions.scope import Scope
from planner.language.syntax.body import Attribute, Block, Body, BodySchema, Content
from planner.language.syntax.nodes import Literal, Variable
from planner.language.syntax.references import variables

ROOTS = frozenset(("var", "local", "component", "stack", "each"))
"""what references in a stack begin with"""


class FilledBody:
    """A body in which each argument is the value that it has in a scope. What refers to something else (in the content
    of dynamic blocks) stays an expression."""

    __slots__ = ("body", "scope")

    def __init__(self, body: Body, scope: Scope) -> None:
        self.body, self.scope = body, scope

    def content(self, schema: BodySchema) -> Content:
        return self._filled(self.body.content(schema))

    def partial_content(self, schema: BodySchema) -> tuple[Content, Body]:
        content, rest = self.body.partial_content(schema)
        return self._filled(content), FilledBody(rest, self.scope)

    def just_attributes(self) -> tuple[dict[str, Attribute], list[Diagnostic]]:
        attributes, problems = self.body.just_attributes()
        return self._filled(Content(attributes, [], problems)).attributes, problems

    @property
    def missing_span(self) -> Span:
        return self.body.missing_span

    def _filled(self, content: Content) -> Content:
        attributes = {name: filled(attribute, self.scope) for name, attribute in content.attributes.items()}
        blocks = [
            Block(b.type, b.type_end, b.labels, b.header_end, FilledBody(b.body, self.scope), b.source, b.start, b.end)
            for b in content.blocks
        ]
        return Content(attributes, blocks, content.diagnostics)


def filled(attribute: Attribute, scope: Scope) -> Attribute:
    """An argument with its value. One that cannot be evaluated stays as it is: who decodes the body says why."""
    names = {node.name if isinstance(node, Variable) else node.root for node in variables(attribute.expr)}
    if not names or not names <= ROOTS:
        return attribute
    value, problems = try_evaluate(attribute.expr, scope, attribute.source)
    if has_errors(problems):
        return attribute
    constant = Literal(value, attribute.expr.start, attribute.expr.end)
    return Attribute(attribute.name, attribute.name_end, constant, attribute.source, attribute.start, attribute.end)


def problems_of(body: Body, scope: Scope, source: object) -> tuple[list[Diagnostic], bool]:
    """What is wrong with the expressions of a body, and whether there is a value in it that is not known yet."""
    problems: list[Diagnostic] = []
    is_unknown = False
    for node in variables(body):
        root = node.name if isinstance(node, Variable) else node.root
        if root not in ROOTS:
            continue
        value, found = try_evaluate(node, scope, source)  # type: ignore[arg-type]
        problems += found
        is_unknown |= bool(unknown_paths(unmark_deep(value)[0]))
    return problems, is_unknown
