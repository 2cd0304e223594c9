"""Values in the bytes of the plugin protocol. The bytes written out here are those that go-cty makes and reads."""

from __future__ import annotations

from contextlib import suppress
from typing import Any

import msgpack
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from language.strategies import types, values
from random_tests import examples

from planner.foundation.values.json_codec import CodecError
from planner.foundation.values.numbers import infinity, negative_zero, parse_number
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
)
from planner.foundation.values.value import SENSITIVE, List, Map, Marked, Null, Refinement, Set, Unknown, identical
from planner.world.provider.plugin.codec import decode, encode

UNKNOWN = b"\xd4\x00\x00"

EXACT: list[tuple[Any, Any, bytes]] = [
    ("é", STRING, b"\xa2\xc3\xa9"),
    (True, BOOL, b"\xc3"),
    (Null(STRING), STRING, b"\xc0"),
    (1, NUMBER, b"\x01"),
    (-(2**63), NUMBER, b"\xd3\x80" + b"\0" * 7),
    (2**63 - 1, NUMBER, b"\xcf\x7f" + b"\xff" * 7),
    (2**63, NUMBER, b"\xb39223372036854775808"),
    (parse_number("0.5"), NUMBER, b"\xcb\x3f\xe0" + b"\0" * 6),
    (parse_number("0.1"), NUMBER, b"\xa30.1"),
    (parse_number("1e30"), NUMBER, b"\xbf1" + b"0" * 30),
    (negative_zero(), NUMBER, b"\x00"),
    (infinity(), NUMBER, b"\xcb\x7f\xf0" + b"\0" * 6),
    (List(STRING, ("a",)), ListType(STRING), b"\x91\xa1a"),
    (Map(NUMBER, {"b": 1, "a": 2}), MapType(NUMBER), b"\x82\xa1a\x02\xa1b\x01"),
    ((1, "x"), TupleType((NUMBER, STRING)), b"\x92\x01\xa1x"),
    ({"b": 1, "a": Null(BOOL)}, ObjectType({"b": NUMBER, "a": BOOL}), b"\x82\xa1a\xc0\xa1b\x01"),
    ("a", DYNAMIC, b'\x92\xc4\x08"string"\xa1a'),
    (Null(DYNAMIC), DYNAMIC, b"\xc0"),
    (Null(BOOL), DYNAMIC, b'\x92\xc4\x06"bool"\xc0'),
    (Unknown(DYNAMIC), DYNAMIC, UNKNOWN),
    (Unknown(STRING), DYNAMIC, b'\x92\xc4\x08"string"' + UNKNOWN),
    (Unknown(STRING), STRING, UNKNOWN),
    (Unknown(STRING, Refinement(True)), STRING, b"\xc7\x03\x0c\x81\x01\xc2"),
    (Unknown(STRING, Refinement(True, "ab")), STRING, b"\xc7\x07\x0c\x82\x01\xc2\x02\xa2ab"),
    (Unknown(NUMBER, Refinement(lower=(3, True))), NUMBER, b"\xc7\x05\x0c\x81\x03\x92\x03\xc3"),
    (
        Unknown(ListType(BOOL), Refinement(min_length=1, max_length=4)),
        ListType(BOOL),
        b"\xc7\x05\x0c\x82\x05\x01\x06\x04",
    ),
]


@pytest.mark.parametrize(("value", "of", "data"), EXACT, ids=lambda x: repr(x)[:40])
def test_exact_bytes(value: Any, of: Any, data: bytes) -> None:
    assert encode(value, of) == data
    if value.__class__ is not type(negative_zero()) or value != 0:
        assert identical(decode(data, of), value)


@settings(max_examples=examples(200))
@given(st.data())
def test_there_and_back(data: Any) -> None:
    of = data.draw(types)
    value = data.draw(values(of))
    assert identical(decode(encode(value, of), of), value)
    back = decode(encode(value, DYNAMIC), DYNAMIC)
    assert identical(back, value)


def test_numbers_of_all_forms() -> None:
    for data, wanted in [
        (msgpack.packb(2**64 - 1), 2**64 - 1),
        (msgpack.packb(1.0), 1),
        (msgpack.packb(0.5, use_single_float=True), parse_number("0.5")),
        (msgpack.packb("1e3"), 1000),
    ]:
        assert decode(data, NUMBER) == wanted


def test_a_set_is_ordered_and_distinct() -> None:
    assert decode(msgpack.packb(["b", "a", "b"]), SetType(STRING)) == Set(STRING, ("a", "b"))
    both = [Unknown(STRING), "a"]
    assert decode(encode(make_set(STRING, both), SetType(STRING)), SetType(STRING)) == make_set(STRING, both)


def test_collections_of_dynamic_elements_get_their_elements_type() -> None:
    data = msgpack.packb([[b'"string"', "a"], [b'"string"', None]])
    assert decode(data, ListType(DYNAMIC)) == List(STRING, ("a", Null(STRING)))
    mixed = msgpack.packb([[b'"string"', "a"], [b'"bool"', True]])
    with pytest.raises(CodecError, match="one type"):
        decode(mixed, ListType(DYNAMIC))


def test_a_long_prefix_is_cut_to_what_readers_take() -> None:
    data = encode(Unknown(STRING, Refinement(prefix="x" * 400)), STRING)
    assert len(data) < 300
    assert decode(data, STRING).refinement.prefix == "x" * 254


@pytest.mark.parametrize(
    ("value", "of"),
    [
        (Marked("x", frozenset((SENSITIVE,))), STRING),
        ({"a": Marked(1, frozenset((SENSITIVE,)))}, ObjectType({"a": NUMBER})),
        ("x", NUMBER),
        (True, NUMBER),
        (1, STRING),
        ("\ud800", STRING),
        ((1,), TupleType((NUMBER, NUMBER))),
    ],
)
def test_what_cannot_be_sent(value: Any, of: Any) -> None:
    with pytest.raises(CodecError):
        encode(value, of)


@pytest.mark.parametrize(
    ("data", "of"),
    [
        (b"", STRING),
        (b"\xc1", STRING),
        (b"\xa1\xff", STRING),
        (b"\x01\x02", NUMBER),
        (msgpack.packb(1), STRING),
        (msgpack.packb("x"), BOOL),
        (msgpack.packb("x"), NUMBER),
        (msgpack.packb(True), NUMBER),
        (msgpack.packb(float("nan")), NUMBER),
        (msgpack.packb({}), ObjectType({"a": STRING})),
        (msgpack.packb({"a": "x", "b": 1}), ObjectType({"a": STRING})),
        (msgpack.packb({1: "x"}), MapType(STRING)),
        (msgpack.packb([1]), TupleType((NUMBER, NUMBER))),
        (msgpack.packb("x"), DYNAMIC),
        (msgpack.packb([b"nonsense", 1]), DYNAMIC),
        (msgpack.packb([b'"odd"', 1]), DYNAMIC),
        (b"\xc7\x02\x05\x81\x01", STRING),
        (b"\xc7\x04\x0c\x81\x02\xa1a", NUMBER),
        (b"\xc7\x03\x0c\x81\x05\x01", STRING),
        (b"\xc7\x02\x0c\x91\x01", STRING),
        (b"\x91" * 3000 + b"\x01", ListType(STRING)),
    ],
)
def test_what_cannot_be_read(data: bytes, of: Any) -> None:
    with pytest.raises(CodecError):
        decode(data, of)


@settings(max_examples=examples(300))
@given(st.binary(max_size=40), types)
def test_any_bytes_are_a_value_or_an_error(data: bytes, of: Any) -> None:
    with suppress(CodecError):
        decode(data, of)
