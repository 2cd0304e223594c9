"""Instances that wait for others of their resource."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from planner.plan.own_references import waiting_instances


def instances(*keys: int, module: str = "") -> list[Any]:
    name = f"{module}.a.b" if module else "a.b"
    decl = SimpleNamespace(span=None)
    return [
        SimpleNamespace(module_text=module, config_address=name, key=key, address=f"{name}[{key}]", decl=decl)
        for key in keys
    ]


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
    _, places = waiting_instances(instances(*keys), mentioned)
    assert (None if places is None else sorted(places, key=places.__getitem__)) == order


def test_modules_do_not_wait_for_one_another() -> None:
    both = [*instances(0, module="module.m"), *instances(0, module="module.n")]
    waits, _ = waiting_instances(both, ["module.m.a.b[0]", "module.n.a.b[0]"])
    assert waits == {"module.m.a.b[0]": [], "module.n.a.b[0]": []}
