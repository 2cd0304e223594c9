"""Instances that wait for others of their resource."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from planner.plan.own_references import in_order, waiting_instances


def instances(*keys: int) -> list[Any]:
    return [SimpleNamespace(module_text="", key=key, address=f"a[{key}]") for key in keys]


@pytest.mark.parametrize(
    ("keys", "references", "order"),
    [
        ((0, 1, 2), ["[1]"], ["a[1]", "a[0]", "a[2]"]),
        ((0,), [""], ["a[0]"]),
        ((0,), ["[7]"], ["a[0]"]),
        ((0, 1), [""], None),
        ((0, 1), ["[7]"], None),
        ((0, 1), ["[0]", "[1]"], None),
    ],
)
def test_order(keys: tuple[int, ...], references: list[str], order: list[str] | None) -> None:
    places = in_order(waiting_instances(instances(*keys), references))
    assert (None if places is None else sorted(places, key=places.__getitem__)) == order


def test_modules_do_not_wait_for_one_another() -> None:
    both = [SimpleNamespace(module_text=m, key=0, address=f"{m}.a[0]") for m in ("module.m", "module.n")]
    assert waiting_instances(both, ["[0]"]) == {"module.m.a[0]": set(), "module.n.a[0]": set()}
