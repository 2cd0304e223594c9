"""Texts keep what is known of their JSON when values come back without it."""

from __future__ import annotations

import pickle

import pytest

from planner.foundation.values.refine import not_null, with_documents
from planner.foundation.values.types import NUMBER, STRING
from planner.foundation.values.value import List, Map, Null, Refinement, Set, Unknown, Value
from planner.language.functions.encoding import jsonencode

INSIDE = {"a": Unknown(STRING), "b": "x"}
LOST, KEPT = Unknown(STRING, Refinement(True)), Unknown(STRING, None, INSIDE)


@pytest.mark.parametrize(
    ("value", "other", "found"),
    [
        (LOST, KEPT, 1),
        ({"t": LOST, "u": "x", "v": Unknown(STRING)}, {"t": KEPT, "u": "y", "v": Unknown(STRING)}, 1),
        ((LOST, LOST), (KEPT, KEPT), 2),
        (List(STRING, (LOST, "a")), List(STRING, (KEPT, "a")), 1),
        (Map(STRING, {"k": LOST, "l": LOST}), Map(STRING, {"k": KEPT}), 1),
        ((LOST,), (KEPT, KEPT), 0),
        (Set(STRING, (LOST,)), Set(STRING, (KEPT,)), 0),
        ("known", KEPT, 0),
        (Unknown(NUMBER), KEPT, 0),
        (LOST, Null(STRING), 0),
        ({"t": LOST}, {"u": KEPT}, 0),
    ],
)
def test_documents_are_kept(value: Value, other: Value, found: int) -> None:
    made = with_documents(value, other)
    assert made == value and repr(made).count("Unknown") == repr(value).count("Unknown")
    assert len(documents(made)) == found and all(document is INSIDE for document in documents(made))
    assert found or made is value


def documents(value: Value) -> list[Value]:
    if isinstance(value, Unknown):
        return [value.document] if value.document is not None else []
    items = value.values() if isinstance(value, dict) else value if isinstance(value, tuple) else ()
    items = value.items.values() if isinstance(value, Map) else value.items if isinstance(value, List | Set) else items
    return [document for item in items for document in documents(item)]


def test_the_json_of_a_value_with_unknown_parts_knows_it() -> None:
    text = not_null(jsonencode(INSIDE))
    assert text == Unknown(STRING, Refinement(True, "{")) and text.document is INSIDE
    assert pickle.loads(pickle.dumps(text)).document == INSIDE
    assert jsonencode(Unknown(STRING)).document is None
