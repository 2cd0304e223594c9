"""Functions of the builtin provider, against what OpenTofu gave."""

from __future__ import annotations

from textwrap import dedent
from typing import Any

import pytest

from planner.foundation.values.numbers import negative_zero, parse_number
from planner.foundation.values.types import DYNAMIC, NUMBER, STRING
from planner.foundation.values.value import List, Map, Null, Set, Unknown
from planner.language.functions import CallContext, FunctionError, call
from planner.world.provider.builtin import SCHEMA


def run(name: str, argument: Any) -> Any:
    return call(SCHEMA.functions[name], [argument], CallContext())


EXPRESSIONS: list[tuple[Any, str]] = [
    (1, "1"),
    (parse_number("1.5"), "1.5"),
    (negative_zero(), "-0"),
    (10**30, "1" + "0" * 30),
    (True, "true"),
    ('a\n"b"${x}%{y}\\é\x07\u200b', '"a\\n\\"b\\"$${x}%%{y}\\\\é\\u0007\\u200b"'),
    ((), "[]"),
    ({}, "{}"),
    ((1, "a", (True,)), '[1, "a", [true]]'),
    (({}, {}), "[{}, {}]"),
    (((),), "[[]]"),
    (Set(STRING, ("a", "b")), '["a", "b"]'),
    ({"a": 1, "bbb": "x"}, '{\n  a   = 1\n  bbb = "x"\n}'),
    (Map(NUMBER, {"z": 1, "y": 2}), "{\n  y = 2\n  z = 1\n}"),
    ({"x": Null(STRING)}, "{\n  x = null\n}"),
    ({"long": {}, "b": ({},)}, "{\n  b    = [{}]\n  long = {}\n}"),
    ({"a": "multi\nline ] }"}, '{\n  a = "multi\\nline ] }"\n}'),
    (
        {"a": {"b": 1, "cc": (1, 2)}, "dd": 2, "e": ()},
        "{\n  a = {\n    b  = 1\n    cc = [1, 2]\n  }\n  dd = 2\n  e  = []\n}",
    ),
    (({"a": 1}, {"b": 2}), "[{\n  a = 1\n  }, {\n  b = 2\n}]"),
    (
        {"not ident": 1, "if": 2, "a-b": 3, "1x": 4, "null": 5},
        '{\n  "1x"        = 4\n  a-b         = 3\n  if          = 2\n  "not ident" = 1\n  null        = 5\n}',
    ),
    ((({"a": ({"b": 1},)},), 2), "[[{\n  a = [{\n    b = 1\n  }]\n}], 2]"),
    (((1, {"a": 1, "b": {"c": 2}}),), "[[1, {\n  a = 1\n  b = {\n    c = 2\n  }\n}]]"),
    ({"x": ({"a": 1},), "yyy": 3, "z": 1}, "{\n  x = [{\n    a = 1\n  }]\n  yyy = 3\n  z   = 1\n}"),
]


@pytest.mark.parametrize(("value", "text"), EXPRESSIONS)
def test_encode_expr(value: Any, text: str) -> None:
    assert run("encode_expr", value) == text


def test_encode_tfvars() -> None:
    given = {"x": ({"a": 1},), "yyy": List(NUMBER, (1,)), "z": Null(DYNAMIC)}
    want = """\
        x = [{
          a = 1
        }]
        yyy = [1]
        z   = null
        """
    assert run("encode_tfvars", given) == dedent(want)
    assert run("encode_tfvars", {}) == ""


@pytest.mark.parametrize("value", [1, (), Map(STRING, {}), {"no name": 1}, {"a": (Unknown(),)}, Null(DYNAMIC)])
def test_what_is_no_tfvars(value: Any) -> None:
    with pytest.raises(FunctionError):
        run("encode_tfvars", value)


def test_unknown_values() -> None:
    assert run("encode_expr", Unknown(STRING)).type is STRING
    for name in ("encode_expr", "encode_tfvars"):
        with pytest.raises(FunctionError):
            run(name, {"a": Unknown(STRING)})


def test_decode_tfvars() -> None:
    assert run("decode_tfvars", 'a=1\nb=[1,"x"]') == {"a": 1, "b": (1, "x")}
    assert run("decode_tfvars", "a = {b=1}\nnull = 1") == {"a": {"b": 1}, "null": 1}
    assert run("decode_tfvars", "") == {}


@pytest.mark.parametrize("text", ['a = upper("x")', "b {}", "b {\n}", "a = x", "a=1\na=2", "a ="])
def test_what_is_not_read(text: str) -> None:
    with pytest.raises(FunctionError) as problem:
        run("decode_tfvars", text)
    assert problem.value.argument == 0
