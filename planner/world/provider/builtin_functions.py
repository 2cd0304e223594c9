"""The functions of the builtin provider: values to and from the text of the language (`provider::terraform::...`)."""

from __future__ import annotations

from planner.foundation.values.expression_text import attributes_text, expression_text
from planner.foundation.values.types import DYNAMIC, STRING
from planner.foundation.values.value import Value
from planner.foundation.vocabulary.address import valid_identifier
from planner.foundation.vocabulary.diagnostic import Diagnostic, has_errors
from planner.foundation.vocabulary.span import Source
from planner.language.expressions.evaluate import try_evaluate
from planner.language.expressions.scope import ConstantScope
from planner.language.functions.protocol import Function, FunctionError, Param, function

FUNCTIONS: list[Function] = []


@function(Param("content", STRING, "The text of a tfvars file"), result=DYNAMIC, into=FUNCTIONS)
def decode_tfvars(content: str) -> Value:
    """Reads the text of a tfvars file as an object."""
    from planner.language.syntax.parse import parse_config

    file, found = parse_config(Source("", content))
    _refuse(found)
    attributes, found = file.just_attributes()
    _refuse(found)
    values = {}
    for name, attribute in attributes.items():
        values[name], found = try_evaluate(attribute.expr, ConstantScope(), attribute.source)
        _refuse(found)
    return values


def _refuse(found: list[Diagnostic]) -> None:
    if has_errors(found):
        first = next(d for d in found if d.is_error)
        raise FunctionError(f"The text is not a tfvars file: {first.summary}. {first.detail}", 0)


@function(Param("input", DYNAMIC, "An object whose keys are valid names"), result=STRING, into=FUNCTIONS)
def encode_tfvars(input: Value) -> str:
    """Writes an object as the text of a tfvars file."""
    if input.__class__ is not dict:
        raise FunctionError("An object is required.", 0)
    for name in sorted(input):
        if not valid_identifier(name):
            raise FunctionError(f'The key "{name}" cannot be the name of a variable.', 0)
    try:
        return attributes_text(input)
    except ValueError as problem:
        raise FunctionError(f"The object cannot be written: {problem}.", 0) from None


@function(Param("expr", DYNAMIC, "The value to write"), result=STRING, into=FUNCTIONS)
def encode_expr(expr: Value) -> str:
    """Writes a value as an expression of the language."""
    try:
        return expression_text(expr)
    except ValueError as problem:
        raise FunctionError(f"The value cannot be written: {problem}.", 0) from None
