from __future__ import annotations

from itertools import product
from typing import Any

import pytest

from planner.foundation.values.numbers import from_float, infinity, negate, negative_zero, parse_number
from planner.foundation.values.operations import equality_key, membership, same_value
from planner.foundation.values.sets import make_set, quote, set_text
from planner.foundation.values.types import BOOL, NUMBER, STRING, ListType, ObjectType, TupleType
from planner.foundation.values.value import NULL, SENSITIVE, UNKNOWN, List, Map, Marked, Null, Set, Unknown


@pytest.mark.parametrize(
    ("element", "items", "ordered"),
    [
        (STRING, ["b", "a", "b", "é", "Z"], ("Z", "a", "b", "é")),
        (NUMBER, [10, 9, 10, -1], (-1, 9, 10)),
        (BOOL, [True, False, True], (False, True)),
        (STRING, [Null(STRING), "z", Unknown(STRING), Null(STRING), "a"], ("a", "z", Unknown(STRING), Null(STRING))),
        (TupleType((NUMBER,)), [(10,), (9,), (10,)], ((10,), (9,))),
        (ListType(STRING), [List(STRING, ("b",)), List(STRING, ())], (List(STRING, ("b",)), List(STRING, ()))),
        (ObjectType({"a": NUMBER}), [{"a": 2}, {"a": 1}], ({"a": 1}, {"a": 2})),
    ],
)
def test_order(element: Any, items: list[Any], ordered: tuple[Any, ...]) -> None:
    assert make_set(element, items).items == ordered


def test_unknown_items_stay_apart() -> None:
    assert len(make_set(STRING, [Unknown(STRING), Unknown(STRING)]).items) == 2


def test_marks_of_items_go_to_the_set() -> None:
    found = make_set(STRING, [Marked("a", frozenset((SENSITIVE,))), "b"])
    assert isinstance(found, Marked)
    assert found.value.items == ("a", "b")


def test_negative_zero_is_another_item() -> None:
    assert len(make_set(NUMBER, [0, negate(0)]).items) == 2


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ("a\n", '"a\\n"'),
        (("x", 1, True, Null()), '<"x";1;T;~;>'),
        ({"b": 1, "a": 2}, "<2;1;>"),
        (10**10, "1e+10"),
        (12345678901, "1.23456789e+10"),
    ],
)
def test_text_of_a_value(value: Any, text: str) -> None:
    assert set_text(value) == text


def test_quoting() -> None:
    assert quote("a\x01\u200b\U000e0001é") == '"a\\x01\\u200b\\U000e0001é"'


def test_equal_values_share_a_key() -> None:
    """`membership` compares only values with equal keys."""
    tenth, float_tenth = parse_number("0.1"), from_float(0.1)
    objects: list[Any] = [{"a": n, "b": (s, True)} for n in (0, negative_zero(), tenth, 1) for s in ("x", NULL)]
    values: list[Any] = [
        *(
            0,
            negative_zero(),
            1,
            True,
            "1",
            2**70,
            parse_number("1e99999"),
            tenth,
            float_tenth,
            NULL,
            UNKNOWN,
            infinity(),
        ),
        *(List(NUMBER, (1, 2)), (1, 2), Map(NUMBER, {"a": 1}), {"a": 1}, Set(STRING, ("a", "b")), Set(STRING, ("a",))),
        *objects,
    ]
    for value, other in product(values, values):
        assert not same_value(value, other) or equality_key(value) == equality_key(other)
        assert membership([other])(value) == same_value(value, other)
