"""Flat maps of old states, by the type of what they describe."""

from __future__ import annotations

import pytest

from planner.engine.evaluation.objects import UNKNOWN_TEXT, from_flat
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
    Type,
)
from planner.foundation.values.value import List, Map, Null, Unknown, Value

PORT = ObjectType({"port": NUMBER})


@pytest.mark.parametrize(
    ("wanted", "flat", "value"),
    [
        (STRING, {"x": "a"}, "a"),
        (NUMBER, {"x": "15"}, 15),
        (BOOL, {"x": "true"}, True),
        (BOOL, {}, Null(BOOL)),
        (STRING, {"x": UNKNOWN_TEXT}, Unknown(STRING)),
        (ListType(STRING), {"x.#": "2", "x.0": "a"}, List(STRING, ("a", Null(STRING)))),
        (ListType(STRING), {"x.#": "0"}, List(STRING, ())),
        (ListType(STRING), {}, Null(ListType(STRING))),
        (ListType(STRING), {"x.#": UNKNOWN_TEXT}, Unknown(ListType(STRING))),
        (ListType(PORT), {"x.#": "1", "x.0.port": "80"}, List(PORT, ({"port": 80},))),
        (MapType(STRING), {"x.%": "2", "x.a": "1", "x.b.c": "2", "xy": "3"}, Map(STRING, {"a": "1", "b.c": "2"})),
        (SetType(STRING), {"x.#": "2", "x.77": "b", "x.1": "a"}, make_set(STRING, ["a", "b"])),
        (SetType(PORT), {"x.#": "1", "x.99.port": "80"}, make_set(PORT, [{"port": 80}])),
        (SetType(MapType(STRING)), {"x.#": "1"}, make_set(MapType(STRING), [Map(STRING, {})])),
        (TupleType((STRING, NUMBER)), {"x.#": "2", "x.0": "a", "x.1": "1"}, ("a", 1)),
        (PORT, {"x.port": "80"}, {"port": 80}),
    ],
)
def test_values(wanted: Type, flat: dict[str, str], value: Value) -> None:
    assert from_flat(flat, ObjectType({"x": wanted})) == {"x": value}


@pytest.mark.parametrize(
    ("wanted", "flat"),
    [
        (NUMBER, {"x": "a"}),
        (ListType(STRING), {"x.#": "many"}),
        (TupleType((STRING,)), {"x.#": "2"}),
        (DYNAMIC, {"x": "a"}),
    ],
)
def test_refused(wanted: Type, flat: dict[str, str]) -> None:
    with pytest.raises(ValueError, match="x"):
        from_flat(flat, ObjectType({"x": wanted}))
