"""Made-up values, where what is given for them does not fit."""

from __future__ import annotations

from typing import Any

import pytest

from planner.foundation.values.schema import AttributeSchema, BlockSchema, NestedBlock
from planner.foundation.values.types import (
    BOOL,
    NUMBER,
    STRING,
    ListType,
    MapType,
    ObjectType,
    SetType,
    TupleType,
    Type,
)
from planner.foundation.values.value import List, Null, Unknown
from planner.world.provider.mock import compose

OBJECT = ObjectType({"a": STRING, "b": NUMBER, "c": BOOL})


@pytest.mark.parametrize(
    ("wanted", "given", "reason"),
    [
        (NUMBER, "x", "a number is required"),
        (NUMBER, ("x",), "number required, but have tuple"),
        (ListType(STRING), "x", "list of string required, but have string"),
        (ListType(STRING), {"a": 1}, "list of string required"),
        (SetType(NUMBER), (1, {}), "element 1: number required, but have object"),
        (MapType(STRING), {"k": ()}, 'element "k": string required, but have tuple'),
        (MapType(STRING), ("x",), "map of string required"),
        (OBJECT, {"a": "x", "b": 1}, 'attribute "c" is required'),
        (OBJECT, {"a": "x"}, 'attributes "b" and "c" are required'),
        (OBJECT, {}, 'attributes "a", "b", and "c" are required'),
        (OBJECT, {"a": (), "b": 1, "c": True}, 'attribute "a": string required, but have tuple'),
    ],
)
def test_why_a_value_does_not_fit(wanted: Type, given: Any, reason: str) -> None:
    schema = BlockSchema({"out": AttributeSchema(wanted, computed=True)}, {})
    _, problems = compose("some_type", schema, {"out": Null(wanted)}, {"out": given})
    words = "Values provided for override / mock must match resource fields types"
    assert [(p.summary, p.detail) for p in problems] == [("Invalid mock/override field `out`", f"{words}: {reason}.")]


@pytest.mark.parametrize(
    ("wanted", "given", "reason"),
    [
        (ListType(NUMBER), (1, "x"), "[1]: a number is required"),
        (MapType(ListType(BOOL)), {"k": (True, "x")}, '["k"][1]: a bool is required'),
        (OBJECT, {"a": "x", "b": "y", "c": True}, ".b: a number is required"),
    ],
)
def test_where_a_value_does_not_fit(wanted: Type, given: Any, reason: str) -> None:
    test_why_a_value_does_not_fit(wanted, given, reason)


def test_tuples_have_the_elements_of_their_type() -> None:
    wanted = TupleType((STRING, NUMBER, TupleType((BOOL,))))
    made, problems = compose("t", BlockSchema({"out": AttributeSchema(wanted, computed=True)}, {}), {}, {})
    text, *others = made["out"]
    assert isinstance(text, str) and others == [0, (False,)] and not problems


INNER = BlockSchema({"set": AttributeSchema(STRING, optional=True), "made": AttributeSchema(STRING, computed=True)}, {})
BLOCKS = BlockSchema({}, {name: NestedBlock(INNER, "list") for name in ("a", "b", "c")})
ITEM = ObjectType({"set": STRING, "made": STRING})
ONE = {"set": "x", "made": Null(STRING)}
CONFIG = {"a": List(ITEM, (ONE, ONE)), "b": List(ITEM, (ONE,)), "c": List(ITEM, ())}


@pytest.mark.parametrize(
    ("given", "found"),
    [
        ({"a": {"zip": 1}}, ["block field `zip`"]),
        ({"a": {"zip": 1}, "b": {"zap": 1}, "other": 1}, ["block field `zip`"]),
        ({"b": {"zap": 1}, "c": {}}, ["block field `zap`"]),
        ({"a": 1, "c": {}, "other": 1}, ["block field `a`", "block field `c`"]),
        ({"other": 1}, ["block field `other`"]),
    ],
)
def test_after_a_block_in_which_something_is_wrong_nothing_is_said(given: Any, found: list[str]) -> None:
    _, problems = compose("t", BLOCKS, CONFIG, given)
    assert [p.summary for p in problems] == [f"Invalid override for {what}" for what in found]


def test_how_many_blocks_there_are_may_be_known_later() -> None:
    unknown = Unknown(ListType(ITEM))
    made, problems = compose("t", BLOCKS, {**CONFIG, "b": unknown}, {"b": {"made": "later"}})
    assert made["b"] is unknown and len(made["a"].items) == 2 and not problems
