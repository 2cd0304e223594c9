"""Templates as functions evaluate them: a text with nothing in scope but the given variables."""

from __future__ import annotations

from typing import TYPE_CHECKING

from planner.values.value import Value
from planner.vocabulary.span import Source

if TYPE_CHECKING:
    from planner.language.functions import CallContext


def evaluate_template(text: str, filename: str, variables: dict[str, Value], context: CallContext) -> Value:
    """The value of a template. Raises Failure when it does not parse or evaluate."""
    from planner.language.evaluate import MappingScope, evaluate
    from planner.syntax.parse import parse_template
    from planner.vocabulary.diagnostic import Failure, has_errors

    source = Source(filename, text)
    node, diagnostics = parse_template(source)
    if node is None or has_errors(diagnostics):
        raise Failure(diagnostics)
    return evaluate(node, MappingScope(variables, context=context), source)
