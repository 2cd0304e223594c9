from __future__ import annotations

from typing import Any

import pytest

from planner.foundation.values.convert import ConversionError
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
    type_from_json,
    type_to_json,
    without_optional,
)
from planner.foundation.values.value import SENSITIVE, List, Map, Marked, Null, Unknown, type_of
from planner.foundation.vocabulary.span import Source
from planner.language.expressions.constraints import TypeConstraint, parse_type_constraint
from planner.language.syntax.parse import parse_expression

S = frozenset((SENSITIVE,))


def constraint(text: str) -> TypeConstraint:
    found, diagnostics = _parse(text)
    assert found is not None, diagnostics
    return found


def _parse(text: str) -> Any:
    source = Source("type", text)
    node, diagnostics = parse_expression(source)
    assert node is not None, diagnostics
    return parse_type_constraint(node, source)


@pytest.mark.parametrize(
    ("text", "result"),
    [
        ("string", STRING),
        ("any", DYNAMIC),
        ("list(any)", ListType(DYNAMIC)),
        ("set(number)", SetType(NUMBER)),
        ("map(list(bool))", MapType(ListType(BOOL))),
        ("tuple([string, number])", TupleType((STRING, NUMBER))),
        ("tuple([])", TupleType(())),
        ("object({})", ObjectType({})),
        ("object({a = string, b = optional(number)})", ObjectType({"a": STRING, "b": NUMBER}, frozenset("b"))),
        ("object({null = string})", ObjectType({"null": STRING})),
    ],
)
def test_type(text: str, result: Any) -> None:
    assert constraint(text).written == result


WITH_OPTIONAL = [
    "object({a = optional(string)})",
    "list(object({a = optional(string)}))",
    "map(object({a = optional(list(object({b = optional(any, 1)})), [])}))",
    "tuple([set(object({a = optional(number)})), any])",
    "object({a = optional(object({b = optional(bool)}), {})})",
]


@pytest.mark.parametrize("text", WITH_OPTIONAL)
def test_no_value_has_a_type_with_optional_attributes(text: str) -> None:
    found = constraint(text)
    assert found.type == without_optional(found.written) != found.written
    inner = found.type
    given: list[Any] = [Null(), Unknown(), Null(inner), Unknown(inner)]
    if not isinstance(inner, TupleType):
        given.append({} if isinstance(inner, ObjectType | MapType) else ())
    for value in given:
        kind = type_of(found.convert(value))
        assert kind == without_optional(kind)
    assert type_from_json(type_to_json(found.written)) == found.type


@pytest.mark.parametrize(
    ("text", "places"),
    [
        ("str", ["str"]),
        ("list", ["list"]),
        ("list()", ["()"]),
        ("list(string, number, bool)", ["number, bool"]),
        ("string()", ["()"]),
        ("optional(string)", ["optional"]),
        ("(string)", ["(string)"]),
        ("object([])", ["[]"]),
        ("tuple(string)", ["string"]),
        ("banana(string)", ["banana(string)"]),
        ("object({a = strin, b = numbr})", ["strin", "numbr"]),
        ('object({"a" = string})', ['"a"']),
        ("object({a = string, a = number})", ["a"]),
        ("object({a = optional(string, 1, 2)})", ["(string, 1, 2)"]),
        ("object({a = optional()})", ["()"]),
        ('object({a = optional(number, "x")})', ['"x"']),
        ("object({a = optional(number, b)})", ["b"]),
        ("object({a = optional(string, upper(1))})", ["upper(1)"]),
        ("1 + 2", ["1 + 2"]),
    ],
)
def test_mistake(text: str, places: list[str]) -> None:
    found, diagnostics = _parse(text)
    assert found is None
    assert [d.subject.text for d in diagnostics] == places


NESTED = """object({
  name = string
  port = optional(number, 80)
  tags = optional(map(string), {})
  rule = optional(object({ on = optional(bool, true) }), {})
  list = optional(list(object({ size = optional(number, 1) })))
})"""


def test_defaults() -> None:
    made = constraint(NESTED).convert({"name": "x", "port": Null(), "list": ({}, {"size": "3"})})
    assert made == {
        "name": "x",
        "port": 80,
        "tags": Map(STRING, {}),
        "rule": {"on": True},
        "list": List(ObjectType({"size": NUMBER}), ({"size": 1}, {"size": 3})),
    }


def test_defaults_keep_marks_and_leave_unknown_alone() -> None:
    kind = constraint("list(object({a = optional(number, 1)}))")
    assert kind.convert((Marked({}, S),)) == List(ObjectType({"a": NUMBER}), (Marked({"a": 1}, S),))
    unknown = Unknown(kind.type)
    assert kind.convert(unknown) == Unknown(ListType(ObjectType({"a": NUMBER})))


def test_defaults_in_tuples_and_maps() -> None:
    pair = constraint('tuple([string, object({a = optional(string, "d")})])')
    assert pair.convert((1, {})) == ("1", {"a": "d"})
    table = constraint('map(object({a = optional(string, "d")}))')
    assert table.convert({"k": {}}).items == {"k": {"a": "d"}}


def test_does_not_fit() -> None:
    with pytest.raises(ConversionError, match=r"rule\.on: a bool is required"):
        constraint(NESTED).convert({"name": "x", "rule": {"on": "maybe"}})
