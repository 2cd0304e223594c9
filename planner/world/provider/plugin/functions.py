"""The functions of a provider (`provider::name::function`), called in its plugin."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from planner.foundation.values.types import Type
from planner.foundation.values.value import Value
from planner.language.functions.protocol import Function, Param
from planner.world.provider.plugin.schemas import read_type

Call = Callable[[str, list[tuple[Value, Type]], Type], Value]
"""name, arguments with the types of their parameters, type of the result -> result; raises FunctionError"""


def functions(given: Any, call: Call) -> dict[str, Function]:
    """The functions that a schema lists. Raises ValueError when a type cannot be read."""
    return {name: _function(name, given[name], call) for name in sorted(given)}


def _function(name: str, given: Any, call: Call) -> Function:
    params = [_param(p) for p in given.parameters]
    variadic = _param(given.variadic_parameter) if given.HasField("variadic_parameter") else None
    result = read_type(getattr(given, "return").type)

    def impl(*values: Value) -> Value:
        types = [p.type for p in params]
        if variadic is not None:
            types += [variadic.type] * (len(values) - len(types))
        return call(name, list(zip(values, types, strict=True)), result)

    function = Function(name, params, variadic, result, impl, given.description, not_null=False)
    function.summary = given.summary
    return function


def _param(given: Any) -> Param:
    return Param(
        given.name,
        read_type(given.type),
        given.description,
        allow_null=given.allow_null_value,
        allow_unknown=given.allow_unknown_values,
        allow_dynamic=given.allow_unknown_values,
    )
