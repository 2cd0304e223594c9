"""Decisions are remembered by the shape of their facts: a value counts where a rule looks at it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from planner.engine.plan import action as module
from planner.engine.plan.action import Facts, decide
from planner.logic.datalog.engine.cache import load_program
from planner.logic.programs.rule_programs import product_program

OWN = """
replaced(I) :- differs(I, "tags").
replaced(I) :- import_wanted(I), change_before(I, R, _, _), starts_with(R, "module.").
"""


@pytest.fixture
def with_own_rules(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """The rules of the product and two more, which look at values."""
    program, diagnostics = load_program([*product_program("decisions").files, ("own.dl", OWN)])
    assert program is not None, diagnostics
    monkeypatch.setattr(module, "product_program", lambda name: program)
    module._columns_looked_at.cache_clear()
    module._decide.cache_clear()
    yield
    module._columns_looked_at.cache_clear()
    module._decide.cache_clear()


def there(**facts: tuple[Any, ...]) -> Facts:
    return {"desired": (), "exists": (), **facts}


def test_a_rule_may_look_at_any_value(with_own_rules: None) -> None:
    assert decide(there(differs=("input",))).action == "update"
    assert decide(there(differs=("tags",))).action == "delete-then-create"
    assert decide(there(differs=("input", "tags"))).action == "delete-then-create"
    assert decide(there(import_wanted=(), change_before=(("a.b", "create", "here"),))).action == "no-op"
    assert (
        decide(there(import_wanted=(), change_before=(("a.b", "read", "here"), ("module.c", "read", "here")))).action
        == "delete-then-create"
    )


def test_values_that_no_rule_looks_at_are_one_shape() -> None:
    module._decide.cache_clear()
    for path in ("input", "tags", "a.b[0]"):
        assert decide(there(differs=(path,))).action == "update"
    assert module._decide.cache_info().currsize == 1


def test_a_word_may_have_several_values() -> None:
    assert decide(there(planned_before=("delete", "read"))).unforeseen
