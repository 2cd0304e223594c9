from __future__ import annotations

from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given, settings
from language.strategies import values
from random_tests import examples

from planner.foundation.support.exact_json import dumps, loads
from planner.foundation.values.json_codec import CodecError, from_json, simple_json, to_json
from planner.foundation.values.numbers import infinity, negate, parse_number
from planner.foundation.values.sets import make_set
from planner.foundation.values.types import BOOL, DYNAMIC, NUMBER, STRING, ListType, MapType, ObjectType, TupleType
from planner.foundation.values.value import NULL, SENSITIVE, UNKNOWN, List, Map, Marked, Null, type_of


@pytest.mark.parametrize(
    ("value", "wanted", "text"),
    [
        ("a", STRING, '"a"'),
        (parse_number("0.1"), NUMBER, "0.1"),
        (2**70, NUMBER, "1180591620717411303424"),
        (negate(0), NUMBER, "-0"),
        (parse_number("1e30"), NUMBER, "1" + "0" * 30),
        ((1, True), TupleType((NUMBER, BOOL)), "[1,true]"),
        (Map(STRING, {"b": "1", "a": "2"}), MapType(STRING), '{"a":"2","b":"1"}'),
        ("a", DYNAMIC, '{"value":"a","type":"string"}'),
        (NULL, DYNAMIC, "null"),
        (Null(STRING), DYNAMIC, '{"value":null,"type":"string"}'),
        ({"a": (1,)}, ObjectType({"a": DYNAMIC}), '{"a":{"value":[1],"type":["tuple",["number"]]}}'),
    ],
)
def test_json_text(value: Any, wanted: Any, text: str) -> None:
    assert dumps(to_json(value, wanted)).decode() == text
    assert from_json(loads(text.encode()), wanted) == value


def test_as_jsonencode_gives_it() -> None:
    value = {"b": make_set(STRING, ["y", "x"]), "a": List(NUMBER, (1, Null(NUMBER)))}
    assert simple_json(value) == {"a": [1, None], "b": ["x", "y"]}


@pytest.mark.parametrize(
    ("data", "wanted", "value"),
    [
        ("5", NUMBER, 5),
        (5, STRING, "5"),
        (Decimal("1.50"), STRING, "1.5"),
        (1.0, NUMBER, 1),
        ("true", BOOL, True),
        ("e\u0301", STRING, "é"),
        (2**600, NUMBER, 2**600),
    ],
)
def test_lenient_primitives(data: Any, wanted: Any, value: Any) -> None:
    found = from_json(data, wanted)
    assert found == value
    assert type_of(found) is wanted


@pytest.mark.parametrize(
    ("data", "wanted"),
    [
        ([], STRING),
        ("x", NUMBER),
        (1, BOOL),
        ({}, ListType(STRING)),
        ([1], TupleType(())),
        ({"a": 1}, ObjectType({})),
        ({"value": 1}, DYNAMIC),
        ({"value": 1, "type": "banana"}, DYNAMIC),
    ],
)
def test_refuses(data: Any, wanted: Any) -> None:
    with pytest.raises(ValueError, match=r"required|missing|not part|not a type"):
        from_json(data, wanted)


def test_attributes_left_out_are_null() -> None:
    wanted = ObjectType({"a": STRING, "b": ObjectType({"c": NUMBER})})
    assert from_json({"b": {}}, wanted) == {"a": Null(STRING), "b": {"c": Null(NUMBER)}}


@pytest.mark.parametrize("value", [UNKNOWN, infinity(), Marked(1, frozenset((SENSITIVE,))), (UNKNOWN,)])
def test_no_json_form(value: Any) -> None:
    with pytest.raises(CodecError):
        simple_json(value)
    with pytest.raises(CodecError):
        to_json(value, type_of(value))


@given(values(known=True))
@settings(max_examples=examples(200))
def test_round_trip(value: Any) -> None:
    t = type_of(value)
    assert from_json(loads(dumps(to_json(value, t))), t) == value
    assert from_json(loads(dumps(to_json(value, DYNAMIC))), DYNAMIC) == value
