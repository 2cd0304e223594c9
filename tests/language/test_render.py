from __future__ import annotations

import pytest

from planner.foundation.values.types import (
    DYNAMIC,
    NUMBER,
    STRING,
    ListType,
    MapType,
    ObjectType,
    TupleType,
    Type,
    friendly_name,
    type_from_json,
    type_text,
    type_to_json,
)


@pytest.mark.parametrize(
    ("t", "text", "words"),
    [
        (STRING, "string", "string"),
        (ListType(DYNAMIC), "list(dynamic)", "list of any single type"),
        (MapType(ListType(NUMBER)), "map(list(number))", "map of list of number"),
        (ObjectType({}), "object({})", "object"),
        (TupleType(()), "tuple([])", "tuple"),
        (
            ObjectType({"b": STRING, "a": TupleType((NUMBER,))}),
            "object({\n    a: tuple([\n        number,\n    ]),\n    b: string,\n})",
            "object",
        ),
        (ListType(ObjectType({"a": STRING})), "list(\n    object({\n        a: string,\n    }),\n)", "list of object"),
    ],
)
def test_types_as_text(t: Type, text: str, words: str) -> None:
    assert type_text(t) == text
    assert friendly_name(t) == words
    assert type_from_json(type_to_json(t)) == t
