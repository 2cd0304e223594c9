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


def _no_longer_exists(*values: Value) -> Type:
    raise FunctionError("The functions list and map no longer exist: write tolist([...]) or tomap({...}).")


@function(variadic=_ANYTHING, result=_no_longer_exists, not_null=False, into=FUNCTIONS, name="list")
def list_(*values: Value) -> Value:
    """No longer exists: write tolist([...])."""
    raise AssertionError


@function(variadic=_ANYTHING, result=_no_longer_exists, not_null=False, into=FUNCTIONS, name="map")
def map_(*values: Value) -> Value:
    """No longer exists: write tomap({...})."""
    raise AssertionError
