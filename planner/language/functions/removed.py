"""Functions that no longer exist; calls report the replacement."""

from __future__ import annotations

from planner.foundation.values.types import (
    DYNAMIC,
    Type,
)
from planner.foundation.values.value import (
    Value,
)
from planner.language.functions.protocol import Function, FunctionError, Param, function

FUNCTIONS: list[Function] = []


_ANYTHING = Param("vals", DYNAMIC, allow_null=True, allow_unknown=True, allow_dynamic=True)


def _no_list(*values: Value) -> Type:
    raise FunctionError("The function list no longer exists: write tolist([...]), or only the brackets.")


def _no_map(*values: Value) -> Type:
    raise FunctionError("The function map no longer exists: write tomap({...}), or only the braces.")


@function(variadic=_ANYTHING, result=_no_list, not_null=False, into=FUNCTIONS, name="list")
def list_(*values: Value) -> Value:
    """No longer exists: write tolist([...])."""
    raise AssertionError


@function(variadic=_ANYTHING, result=_no_map, not_null=False, into=FUNCTIONS, name="map")
def map_(*values: Value) -> Value:
    """No longer exists: write tomap({...})."""
    raise AssertionError
