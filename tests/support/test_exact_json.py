"""JSON in and out: every number comes back, whatever its size; what is no JSON is refused."""

from __future__ import annotations

import json
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from random_tests import examples

from planner.foundation.support.exact_json import JsonError, dumps, loads

NUMBERS = st.integers() | st.decimals(allow_nan=False, allow_infinity=False).map(lambda d: d + 0)
VALUES = st.recursive(
    st.none() | st.booleans() | NUMBERS | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=8,
)


def exact(value: Any) -> Any:
    """Numbers by value, so that 1.50 and 1.5 are the same, but 1 and True are not."""
    if isinstance(value, list):
        return [exact(v) for v in value]
    if isinstance(value, dict):
        return {k: exact(v) for k, v in value.items()}
    if isinstance(value, bool) or value is None or isinstance(value, str):
        return (type(value), value)
    return Decimal(repr(value) if isinstance(value, float) else value).normalize()


@settings(max_examples=examples(200))
@given(VALUES, st.booleans())
def test_values_come_back(value: Any, indent: bool) -> None:
    text = dumps(value, indent=indent)
    assert exact(loads(text)) == exact(value)
    assert not any(char in text for char in b"<>&")


@pytest.mark.parametrize(
    "text",
    [
        "0.1",
        "1.5",
        "-2",
        "123456789012345678901234567890",
        "0.1234567890123456789",
        "1e400",
        "-1E-7",
        "[1e2]",
        '{"a":1e2}',
    ],
)
def test_numbers_keep_their_value(text: str) -> None:
    assert exact(loads(text.encode())) == exact(json.loads(text, parse_float=Decimal))


def test_strings_that_look_like_numbers() -> None:
    data = {"a": "1234567890123456789e5", "b": ["9" * 40]}
    assert loads(json.dumps(data).encode()) == data


@pytest.mark.parametrize(
    "text",
    [
        b"",
        b"{",
        b"[1,]",
        b"nul",
        b"NaN",
        b"[NaN]",
        b"[Infinity, 1e5]",
        b"\xff",
        b"[1e5,\xff]",
        b'{"a":1e5,}',
        b"[1e%s]" % (b"9" * 30),
        b"[1e-%s]" % (b"9" * 30),
    ],
)
def test_what_is_no_json(text: bytes) -> None:
    with pytest.raises(JsonError) as problem:
        loads(text)
    assert 0 <= problem.value.offset <= len(text)


def test_deep_nesting_is_no_traceback() -> None:
    for text in (b"[" * 100_000, b"[1e5," * 100_000):
        with pytest.raises(JsonError):
            loads(text)


def test_huge_exponents_stay_short() -> None:
    assert len(dumps(Decimal("1e999999"))) < 20


@pytest.mark.parametrize("depth", [200, 201, 254, 255, 401, 450])
@pytest.mark.parametrize("indent", [True, False])
def test_what_is_nested_deep_is_written_and_read_again(depth: int, indent: bool) -> None:
    value: Any = ["<", 10**30, Decimal("0.10")]
    for level in range(1, depth):
        value = {"<": value, "n": 1 << 70} if level % 3 else [value]
    assert loads(dumps(value, indent=indent)) == value


def test_what_could_not_be_read_again_is_not_written() -> None:
    value: Any = []
    for _ in range(1024):
        value = [value]
    with pytest.raises(RecursionError):
        dumps(value)
