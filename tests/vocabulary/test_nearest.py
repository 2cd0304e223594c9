"""Suggestions for misspelt names."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from planner.foundation.vocabulary.nearest import did_you_mean, distance, instead, nearest


@pytest.mark.parametrize(
    ("name", "expected"),
    [("valeu", "value"), ("vaule", "value"), ("value", "value"), ("count", None), ("forech", "for_each"), ("x", None)],
)
def test_nearest(name: str, expected: str | None) -> None:
    assert nearest(name, ["for_each", "value", "other"]) == expected


def test_sentence() -> None:
    assert did_you_mean("valeu", ["value"]) == ' Did you mean "value"?'
    assert did_you_mean("zzz", ["value"]) == ""
    assert did_you_mean("app", ["live/db", "live/app"]) == ' Did you mean "live/app"?'


def test_a_misspelt_first_word() -> None:
    modules = ["module.app", "module.net"]
    assert instead("modul.x", modules) == instead("module.x", modules) == " The modules are module.app, module.net."


def test_a_key_without_brackets_and_a_resource_without_its_type() -> None:
    known = ['aws_vpc.main["a"]', "aws_vpc.other"]
    assert instead("aws_vpc.main.a", known) == instead('main["a"]', known) == ' Did you mean "aws_vpc.main["a"]"?'
    assert instead("aws_vpc.none.a", known) == ""
    modules = {'module.m["x"].a.b[0]', 'module.m["y"].a.b[0]', 'module.m["y"].a.b[1]'}
    listed = 'module.m["x"].a.b[0], module.m["y"].a.b[0]'
    assert instead("a.b[0]", modules) == f" Objects of this name in modules are {listed}."


def _by_definition(a: str, b: str) -> int:
    if not a or not b:
        return len(a) + len(b)
    return min(
        _by_definition(a[1:], b) + 1, _by_definition(a, b[1:]) + 1, _by_definition(a[1:], b[1:]) + (a[0] != b[0])
    )


@given(st.text("ab", max_size=5), st.text("abc", max_size=5))
def test_distance(a: str, b: str) -> None:
    assert distance(a, b) == _by_definition(a, b)
