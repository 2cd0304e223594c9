"""The addresses that limit a plan."""

from __future__ import annotations

from typing import Any

import pytest

from planner.foundation.vocabulary.address import AddressError, parse_address, parse_resource_instance
from planner.foundation.vocabulary.limits import UNLIMITED, Limits


def test_they_come_back_from_text() -> None:
    limits = Limits(
        (parse_address("module.m[0]"), parse_address('a.b["k"]')),
        (parse_address("data.a.c"),),
        (parse_resource_instance("module.m.a.b"),),
    )
    assert Limits.from_json(limits.to_json()) == limits
    assert [f"-{option}={address}" for option, address in limits.options()] == [
        "-target=module.m[0]",
        '-target=a.b["k"]',
        "-exclude=data.a.c",
        "-replace=module.m.a.b",
    ]


@pytest.mark.parametrize(
    ("data", "problem"),
    [
        ({}, KeyError),
        ({"targets": [1], "excludes": [], "replace": []}, TypeError),
        ({"targets": ["a..b"], "excludes": [], "replace": []}, AddressError),
        ({"targets": [], "excludes": [], "replace": ["module.m"]}, AddressError),
    ],
)
def test_data_of_another_shape_is_refused(data: Any, problem: type[Exception]) -> None:
    with pytest.raises(problem):
        Limits.from_json(data)


def test_excluded_blocks_come_and_go() -> None:
    assert not UNLIMITED.is_partial and not Limits(replace=(parse_resource_instance("a.b"),)).is_partial
    limits = UNLIMITED.excluding(["a.b", "module.m"])
    assert limits.is_partial and limits.including(["a.b"]) == UNLIMITED.excluding(["module.m"])
    assert not limits.including(["module.m", "a.b"]).is_partial
