from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from language.strategies import types, values
from random_tests import examples

from planner.foundation.values.convert import ConversionError, conversion_possible, convert, unify
from planner.foundation.values.sets import make_set
from planner.foundation.values.types import (
    BOOL,
    DYNAMIC,
    NUMBER,
    STRING,
    ListType,
    MapType,
    ObjectType,
    SetType,
    TupleType,
    without_optional,
)
from planner.foundation.values.value import (
    NOT_NULL,
    NULL,
    SENSITIVE,
    UNKNOWN,
    List,
    Map,
    Marked,
    Null,
    Refinement,
    Unknown,
    type_of,
)

S = frozenset((SENSITIVE,))
PERSON = ObjectType({"name": STRING, "age": NUMBER}, frozenset(["age"]))


@pytest.mark.parametrize(
    ("value", "wanted", "result"),
    [
        (5, STRING, "5"),
        (True, STRING, "true"),
        ("5", NUMBER, 5),
        ("true", BOOL, True),
        ("0", BOOL, False),
        ((1, "a", True), ListType(DYNAMIC), List(STRING, ("1", "a", "true"))),
        ((2, 1, 2), SetType(NUMBER), make_set(NUMBER, [1, 2])),
        ({"a": 1, "b": "x"}, MapType(DYNAMIC), Map(STRING, {"a": "1", "b": "x"})),
        ({"name": 5, "other": 1}, PERSON, {"name": "5", "age": Null(NUMBER)}),
        (Map(STRING, {"name": "x", "zz": "y"}), PERSON, {"name": "x", "age": Null(NUMBER)}),
        ((), ListType(DYNAMIC), List(DYNAMIC, ())),
        (List(NUMBER, ()), ListType(STRING), List(STRING, ())),
        (NULL, STRING, Null(STRING)),
        (UNKNOWN, ListType(STRING), Unknown(ListType(STRING))),
        (Marked(5, S), STRING, Marked("5", S)),
        ((Marked(5, S),), ListType(STRING), List(STRING, (Marked("5", S),))),
        ((Marked("a", S), "b"), SetType(STRING), Marked(make_set(STRING, ["a", "b"]), S)),
        ((NULL, "a"), ListType(DYNAMIC), List(STRING, (Null(STRING), "a"))),
        ((1, 2), TupleType((STRING, NUMBER)), ("1", 2)),
        (Unknown(STRING, NOT_NULL), NUMBER, Unknown(NUMBER, NOT_NULL)),
        (
            Unknown(ObjectType({"a": NUMBER, "b": NUMBER})),
            MapType(DYNAMIC),
            Unknown(MapType(NUMBER), Refinement(min_length=2, max_length=2)),
        ),
    ],
)
def test_converts(value: Any, wanted: Any, result: Any) -> None:
    found = convert(value, wanted)
    assert found == result
    assert type_of(found) == type_of(result)


@pytest.mark.parametrize(
    ("value", "wanted", "text"),
    [
        ("x", NUMBER, "a number is required"),
        ("True", BOOL, 'lower case ("true")'),
        (1, BOOL, "a bool is required, not a number"),
        ((1, "x"), ListType(NUMBER), "[1]: a number is required"),
        ({"a": {"b": ("q",)}}, MapType(MapType(ListType(NUMBER))), '["a"]["b"][0]: a number is required'),
        ({"age": 1}, PERSON, 'the attribute "name" is required'),
        ({"name": []}, PERSON, "name: "),
        ({"a": 1, "b": ()}, MapType(DYNAMIC), "the same type"),
        (("a",), STRING, "a string is required, not a tuple"),
        ((1,), TupleType((NUMBER, NUMBER)), "the number of elements must be 2"),
        (Unknown(ListType(STRING)), STRING, "a string is required, not a list of string"),
        (List(ObjectType({}), ()), ListType(STRING), "a string is required, not an object"),
    ],
)
def test_says_why_not(value: Any, wanted: Any, text: str) -> None:
    with pytest.raises(ConversionError) as caught:
        convert(value if not isinstance(value, dict) else _with_tuples(value), wanted)
    assert text in str(caught.value)


def _with_tuples(value: Any) -> Any:
    return {k: tuple(v) if isinstance(v, list) else v for k, v in value.items()}


@pytest.mark.parametrize(
    ("given_types", "result"),
    [
        ([NUMBER, STRING], STRING),
        ([NUMBER, BOOL], None),
        ([NUMBER, DYNAMIC], NUMBER),
        ([ObjectType({"a": NUMBER}), ObjectType({"b": NUMBER})], MapType(NUMBER)),
        ([ObjectType({"a": NUMBER}), ObjectType({"a": STRING})], ObjectType({"a": STRING})),
        ([TupleType((NUMBER,)), TupleType((NUMBER, STRING))], ListType(STRING)),
        ([TupleType((NUMBER,)), ListType(STRING)], ListType(STRING)),
        ([ObjectType({"a": NUMBER}), MapType(STRING)], MapType(STRING)),
        ([ListType(NUMBER), SetType(NUMBER)], ListType(NUMBER)),
        ([ListType(NUMBER), DYNAMIC], DYNAMIC),
        ([TupleType(()), ObjectType({})], None),
    ],
)
def test_unify(given_types: list[Any], result: Any) -> None:
    assert unify(given_types) == result


@given(values(known=True, marks=True), types)
@settings(max_examples=examples(300))
def test_conversion_gives_the_type_and_only_once(value: Any, wanted: Any) -> None:
    try:
        result = convert(value, wanted)
    except ConversionError:
        return
    assert type_of(result) == without_optional(wanted)
    assert convert(result, wanted) == result
    assert conversion_possible(type_of(value), wanted)


@given(values(marks=True))
@settings(max_examples=examples(200))
def test_conversion_to_the_own_type_changes_nothing(value: Any) -> None:
    assert convert(value, type_of(value)) == value


@given(st.lists(types, min_size=1, max_size=3))
@settings(max_examples=examples(300))
def test_all_types_convert_to_the_unified_one(some: list[Any]) -> None:
    found = unify(some)
    if found is not None:
        assert all(conversion_possible(t, found) for t in some)
    assert unify([some[0], some[0]]) == some[0]
