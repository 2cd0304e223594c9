"""The signatures of functions in the ecosystem's JSON form."""

from __future__ import annotations

from typing import Any

from planner.foundation.values.types import type_to_json
from planner.language.functions.protocol import Function, Param


def signature(function: Function) -> dict[str, Any]:
    """Description, return type and parameters of a function; empty members are left out."""
    out: dict[str, Any] = {"description": function.description, "return_type": type_to_json(function.return_type)}
    if function.params:
        out["parameters"] = [_parameter(p) for p in function.params]
    if function.variadic is not None:
        out["variadic_parameter"] = _parameter(function.variadic)
    return out


def call_signature(function: Function) -> dict[str, Any]:
    """The signature in the form used by diagnostics about calls: name, names and types of the parameters, return
    type."""
    name = function.name.rpartition("::")[2]
    out: dict[str, Any] = {"name": name, "params": [_name_and_type(p) for p in function.params]}
    if function.variadic is not None:
        out["variadic_param"] = _name_and_type(function.variadic)
    out["return_type"] = type_to_json(function.return_type)
    return out


def _name_and_type(param: Param) -> dict[str, Any]:
    return {"name": param.name, "type": type_to_json(param.type)}


def _parameter(param: Param) -> dict[str, Any]:
    out: dict[str, Any] = {"name": param.name}
    if param.description:
        out["description"] = param.description
    if param.allow_null:
        out["is_nullable"] = True
    out["type"] = type_to_json(param.type)
    return out
