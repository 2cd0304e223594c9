"""The key of a kept result: every field of a request that is not marked with `eq=False`."""

from __future__ import annotations

from typing import Any

import pytest

from planner.foundation.vocabulary.address import parse_address
from planner.foundation.vocabulary.limits import Limits
from planner.foundation.vocabulary.records import evolve, fields
from planner.operations.options import OperationOptions
from planner.workflows.batch.cache import request_key
from planner.workflows.batch.model import Request, Upstream
from planner.workflows.batch.recipe import Recipe, RecipeSource

UPSTREAM = Upstream("v", "/states/v")
RECIPE = Recipe(source=RecipeSource("/fleet/u/terragrunt.hcl"))
REQUEST = Request("u", "/fleet/u", "plan", upstream=(UPSTREAM,), recipe=RECIPE)


def another(value: Any) -> Any:
    """A value that differs, of the same kind."""
    if isinstance(value, bool):
        return not value
    if isinstance(value, int | float):
        return value + 1
    if isinstance(value, str):
        return f"{value}x"
    if isinstance(value, Limits):
        return Limits((parse_address("a.b"),))
    if isinstance(value, OperationOptions):
        return evolve(value, refresh=not value.refresh)
    if isinstance(value, Recipe):
        return evolve(value, keeps=True)
    if isinstance(value, tuple):
        return (*value, ("x", "y"))
    if isinstance(value, dict):
        return {**value, "x": 1}
    return "x"


def with_changed(kind: type, name: str) -> Request:
    if kind is Request:
        return evolve(REQUEST, **{name: another(getattr(REQUEST, name))})
    if kind is OperationOptions:
        options = REQUEST.options
        return evolve(REQUEST, options=evolve(options, **{name: another(getattr(options, name))}))
    if kind is Upstream:
        return evolve(REQUEST, upstream=(evolve(UPSTREAM, **{name: another(getattr(UPSTREAM, name))}),))
    return evolve(REQUEST, recipe=evolve(RECIPE, **{name: another(getattr(RECIPE, name))}))


@pytest.mark.parametrize(
    ("kind", "name", "is_key"),
    [(kind, one.name, one.eq) for kind in (Request, OperationOptions, Upstream, Recipe) for one in fields(kind)],
    ids=lambda value: getattr(value, "__name__", str(value)),
)
def test_a_field_is_marked_or_changes_the_key(kind: type, name: str, is_key: bool) -> None:
    assert (request_key(with_changed(kind, name)) != request_key(REQUEST)) == is_key


def test_equal_requests_have_one_key() -> None:
    assert request_key(evolve(REQUEST, options=OperationOptions())) == request_key(REQUEST)
