"""Made-up values, where what is given for them does not fit."""

from __future__ import annotations

from typing import Any

import pytest

from planner.provider.mock_values import compose
from planner.values.schema import AttributeSchema, BlockSchema
from planner.values.types import BOOL, NUMBER, STRING, ListType, MapType, ObjectType, SetType, Type
from planner.values.value import Null

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
