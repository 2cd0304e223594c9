"""Instances that wait for others of their resource."""

from __future__ import annotations

import pytest

from planner.engine.plan.resources import waiting_instances
from planner.foundation.vocabulary.span import Source, Span
from planner.logic.datalog.engine.fact_base import FactBase, FactBuilder
from planner.logic.facts.from_state import declared_instance

BLOCK = Span(Source("main.tf", 'resource "a" "b" {}'), 0, 16)


def facts(keys: tuple[int, ...], mentioned: list[str], modules: tuple[str, ...] = ("",)) -> FactBase:
    found = FactBuilder()
    for module in modules:
        name = f"{module}.a.b" if module else "a.b"
        for key in keys:
            declared_instance(found, f"{name}[{key}]", name, module, f"[{key}]", BLOCK)
        for target in mentioned:
            found.add("mentions_itself", name, f"{module}.{target}" if module else target)
    return found.build()


@pytest.mark.parametrize(
    ("keys", "mentioned", "order"),
    [
        ((0, 1, 2), ["a.b[1]"], ["a.b[1]", "a.b[0]", "a.b[2]"]),
        ((0,), ["a.b"], ["a.b[0]"]),
        ((0,), ["a.b[7]"], ["a.b[0]"]),
        ((0, 1), ["a.b"], None),
        ((0, 1), ["a.b[7]"], None),
        ((0, 1), ["a.b[0]", "a.b[1]"], None),
    ],
)
def test_order(keys: tuple[int, ...], mentioned: list[str], order: list[str] | None) -> None:
    _, places = waiting_instances(facts(keys, mentioned))
    assert (None if places is None else sorted(places, key=places.__getitem__)) == order


def test_modules_do_not_wait_for_one_another() -> None:
    waits, _ = waiting_instances(facts((0,), ["a.b[0]"], ("module.m", "module.n")))
    assert waits == {"module.m.a.b[0]": [], "module.n.a.b[0]": []}
