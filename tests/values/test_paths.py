from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from language.strategies import values
from random_tests import examples

from planner.foundation.values.paths import (
    apply_marks,
    get,
    marked_paths,
    sensitive_structure,
    unknown_paths,
    unknown_structure,
    without_unknown,
)
from planner.foundation.values.sets import make_set
from planner.foundation.values.types import NUMBER, STRING, ListType, MapType
from planner.foundation.values.value import SENSITIVE, UNKNOWN, List, Map, Marked, Null, Unknown, unmark_deep

S = frozenset((SENSITIVE,))
VALUE = {
    "a": Marked("x", S),
    "b": List(STRING, ("y", Unknown(STRING))),
    "m": Map(NUMBER, {"k": Marked(1, S), "z": Null(NUMBER)}),
    "s": make_set(STRING, ["q"]),
    "t": (UNKNOWN, True),
    "u": Unknown(MapType(STRING)),
}


def test_marks_by_path() -> None:
    assert marked_paths(VALUE) == [((("attr", "a"),), S), ((("attr", "m"), ("index", "k")), S)]
    plain, _ = unmark_deep(VALUE)
    assert apply_marks(plain, marked_paths(VALUE)) == VALUE


def test_marks_at_odd_paths() -> None:
    assert apply_marks({"a": 1}, [((("attr", "zz"),), S)]) == {"a": 1}
    assert apply_marks((1,), [((("index", 5),), S)]) == (1,)
    assert apply_marks(make_set(STRING, ["q"]), [((("index", "q"),), S)]) == Marked(make_set(STRING, ["q"]), S)
    assert apply_marks(5, [((), S)]) == Marked(5, S)


def test_unknown_by_path() -> None:
    assert unknown_paths(VALUE) == [
        (("attr", "b"), ("index", 1)),
        (("attr", "t"), ("index", 0)),
        (("attr", "u"),),
    ]


def test_structures() -> None:
    assert unknown_structure(VALUE) == {"b": [False, True], "m": {}, "s": [False], "t": [True, False], "u": True}
    assert sensitive_structure(VALUE) == {"a": True, "b": [False, False], "m": {"k": True}, "s": [False],
                                          "t": [False, False], "u": {}}  # fmt: skip
    assert sensitive_structure(Unknown(ListType(STRING))) == []
    assert unknown_structure(Null(STRING)) is False


def test_without_unknown() -> None:
    assert without_unknown(VALUE) == {
        "a": "x",
        "b": ("y", Null(STRING)),
        "m": {"k": 1, "z": Null(NUMBER)},
        "s": ("q",),
        "t": (Null(), True),
    }


def test_get() -> None:
    assert get(VALUE, (("attr", "m"), ("index", "k"))) == Marked(1, S)
    assert get(Marked({"a": (1,)}, S), (("attr", "a"), ("index", 0))) == Marked(1, S)
    for path in [(("attr", "q"),), (("attr", "t"), ("index", 7)), (("attr", "u"), ("index", "a"))]:
        with pytest.raises(KeyError):
            get(VALUE, path)


@given(values(marks=True))
@settings(max_examples=examples(200))
def test_marks_come_back(value: Any) -> None:
    plain, _ = unmark_deep(value)
    assert apply_marks(plain, marked_paths(value)) == value
