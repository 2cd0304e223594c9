"""What is known of JSON with unknown parts holds of every text that comes of it."""

from __future__ import annotations

from itertools import product
from typing import Any

import pytest

from planner.answers.policy.partly_known_json import document_of_text, known_document
from planner.foundation.values.sets import make_set
from planner.foundation.values.types import BOOL, NUMBER, STRING, ListType
from planner.foundation.values.value import List, Map, Null, Refinement, Set, Unknown, Value
from planner.language.functions.encoding import json_text
from planner.logic.datalog.language.builtins import RELATIONS

BEGUN = Unknown(STRING, Refinement(True, 'a"é<'))
TURNS: dict[Any, list[Value]] = {
    STRING: ["", "x", '"}', "é"],
    NUMBER: [0, 12],
    BOOL: [True, False],
    ListType(STRING): [List(STRING, ()), List(STRING, ("*", "x"))],
}
VALUES: list[tuple[Value, str]] = [
    ({"b": BEGUN, "a": 1, "z": True}, '{"a":1,"b":"a\\"é\\u003c'),
    ({"b": Unknown(STRING), "a": "x"}, '{"a":"x","b":'),
    ({"a": (Unknown(NUMBER), "x"), "b": "y"}, '{"a":['),
    ({"a": Set(STRING, ("x", Unknown(STRING))), "b": "y"}, '{"a":'),
    ({"a": Unknown(ListType(STRING)), "b": {"c": Null(STRING)}}, '{"a":'),
    (("x", Null(STRING), Map(STRING, {"k": "é", "l": Unknown(STRING, Refinement(True))})), '["x",null,{"k":"é","l":"'),
]


def turns(value: Value) -> list[Value]:
    """The ways in which a value can turn out."""
    if isinstance(value, Unknown):
        known = value.refinement or Refinement()
        found = [known.prefix + text for text in TURNS[STRING]] if value.type is STRING else TURNS[value.type]
        return found if known.not_null else [Null(value.type), *found]
    if isinstance(value, dict):
        return [dict(zip(value, chosen, strict=True)) for chosen in product(*map(turns, value.values()))]
    if isinstance(value, Map):
        return [Map(value.element, made) for made in turns(value.items)]
    if isinstance(value, Set):
        made = product(*([x for x in turns(item) if not isinstance(x, Null)] for item in value.items))
        return [make_set(value.element, items) for items in made]
    items = value if isinstance(value, tuple) else None
    return [value] if items is None else [tuple(chosen) for chosen in product(*map(turns, items))]


@pytest.mark.parametrize(("value", "begin"), VALUES)
def test_what_is_known_holds(value: Value, begin: str) -> None:
    known = known_document(value)
    assert known.begin == begin
    for turned in turns(value):
        text = json_text(turned)
        values, parts = dict(RELATIONS["json"].function(text)), RELATIONS["json_element"].function(text)
        assert text.startswith(begin)
        is_open = known.may_have
        assert all(values.get(path) == found for path, found in known.values.items() if not is_open(path))
        assert all(path in known.values or path in known.unknown or is_open(path) for path in values)
        assert all((path, key) in known.parts or is_open(path) for path, key, _ in parts)
        other = document_of_text(text)
        assert other is not None and known.may_equal(other) and other.may_equal(known)


def test_what_differs_is_not_the_same() -> None:
    known = known_document({"a": "x", "b": Unknown(STRING), "c": ("y",)})
    others = ['{"a":"z","b":"","c":["y"]}', '{"a":"x","b":""}', '{"a":"x","b":"","c":["y"],"d":1}']
    for text in (*others, '{"a":"x","b":{"e":1},"c":["y"]}', '{"a":"x","b":"","c":["y","z"]}'):
        other = document_of_text(text)
        assert other is not None and not known.may_equal(other), text
    assert document_of_text("{") is None
