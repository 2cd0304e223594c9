"""Unknown parts of values become null, everything else stays."""

from __future__ import annotations

import pytest

from planner.foundation.values.sets import make_set, unknown_as_null
from planner.foundation.values.types import NUMBER, STRING
from planner.foundation.values.value import List, Map, Null, Unknown, Value

LOST, LEFT = Unknown(STRING), Null(STRING)


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (LOST, LEFT),
        ("a", "a"),
        ({"a": LOST, "b": 1, "c": (LOST, "x")}, {"a": LEFT, "b": 1, "c": (LEFT, "x")}),
        (List(STRING, (LOST, "a")), List(STRING, (LEFT, "a"))),
        (Map(STRING, {"k": LOST}), Map(STRING, {"k": LEFT})),
        (make_set(STRING, (LOST, "a")), make_set(STRING, (LEFT, "a"))),
        (Unknown(NUMBER), Null(NUMBER)),
    ],
)
def test_unknown_as_null(value: Value, expected: Value) -> None:
    assert unknown_as_null(value) == expected
