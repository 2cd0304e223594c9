"""Values and outputs as text."""

from __future__ import annotations

import json

import pytest

from planner.cli.commands.show import raw
from planner.foundation.values.types import BOOL, DYNAMIC, NUMBER, STRING, ListType, MapType, ObjectType
from planner.foundation.values.value import SENSITIVE, List, Map, Marked, Null, Set, Unknown, number_from_text
from planner.foundation.vocabulary.diagnostic import Failure
from planner.render.state import output_json
from planner.render.value import all_outputs, format_value, quoted
from planner.world.state.model import OutputState

SECRET = Marked("x", frozenset((SENSITIVE,)))


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ("a", '"a"'),
        ('a"b\\c\td\u0001\u00a0é', '"a\\"b\\\\c\\td\\x01\\u00a0é"'),
        ("${x}", '"${x}"'),
        ("one\ntwo\n", "<<EOT\none\ntwo\n\nEOT"),
        ("EOT\nx", "<<EOT_\nEOT\nx\nEOT_"),
        (5, "5"),
        (10**30, "1" + "0" * 30),
        (True, "true"),
        (False, "false"),
        (Null(), "null"),
        (Null(STRING), "tostring(null)"),
        (Null(NUMBER), "tonumber(null)"),
        (Null(BOOL), "tobool(null)"),
        (Null(ListType(STRING)), "tolist(null) /* of string */"),
        (Null(ObjectType({})), "null /* object */"),
        (Unknown(), "(known after apply)"),
        (SECRET, "(sensitive value)"),
        ((), "[]"),
        ({}, "{}"),
        ((1, "a"), '[\n  1,\n  "a",\n]'),
        ({"b": 1, "a b": ("x\ny",)}, '{\n  "a b" = [\n    <<-EOT\n    x\n    y\n    EOT,\n  ]\n  "b" = 1\n}'),
        (List(STRING, ("a",)), 'tolist([\n  "a",\n])'),
        (Set(STRING, ("a",)), 'toset([\n  "a",\n])'),
        (Map(NUMBER, {"k": 1}), 'tomap({\n  "k" = 1\n})'),
    ],
)
def test_format_value(value, text):
    assert format_value(value) == text


def test_numbers_in_full():
    assert format_value(number_from_text("0.1")) == "0.1"
    assert format_value(number_from_text("1e21")) == "1" + "0" * 21


@pytest.mark.parametrize(("value", "text"), [("a\nb", "a\nb"), (True, "true"), (12, "12"), (SECRET, "x")])
def test_raw(value, text):
    assert raw("o", OutputState(value, DYNAMIC)) == text


@pytest.mark.parametrize("value", [Null(STRING), (1,), {"a": 1}, List(STRING, ())])
def test_no_raw_form(value):
    with pytest.raises(Failure):
        raw("o", OutputState(value, DYNAMIC))


def test_all_outputs_hides_sensitive_ones():
    outputs = {"b": OutputState(1, NUMBER), "a": OutputState("s", STRING, True)}
    assert all_outputs(outputs, False) == "a = <sensitive>\nb = 1"
    assert all_outputs(outputs, True) == 'a = "s"\nb = 1'


def test_output_json_says_the_type():
    found = output_json(OutputState(({"a": 1}, "x"), DYNAMIC, True))
    assert json.dumps(found) == json.dumps(
        {"sensitive": True, "type": ["tuple", [["object", {"a": "number"}], "string"]], "value": [{"a": 1}, "x"]}
    )
    assert output_json(OutputState(Map(STRING, {"a": "b"}), MapType(STRING)))["type"] == ["map", "string"]


def test_quoted_plain_text_is_untouched():
    assert quoted("a b-c") == '"a b-c"'
