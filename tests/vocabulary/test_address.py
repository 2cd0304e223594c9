"""Addresses: text to parts and back, order, relations between them."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from random_tests import examples

from planner.foundation.vocabulary.address import (
    ROOT,
    AddressError,
    ModuleAddress,
    ResourceAddress,
    format_instance,
    format_key,
    parse_address,
    parse_module,
    parse_resource_instance,
    quote,
    sort_key,
    valid_identifier,
)

NAMES = st.from_regex(r"[a-zéß_][a-z0-9_-]{0,6}", fullmatch=True).filter(
    lambda n: n not in ("module", "data", "ephemeral")
)
KEYS = st.none() | st.integers(0, 10**12) | st.text(st.characters(exclude_categories=["Cs"]), max_size=6)
MODULES = st.lists(st.tuples(NAMES, KEYS), max_size=3).map(lambda s: ModuleAddress(tuple(s)))
RESOURCES = st.builds(ResourceAddress, MODULES, st.sampled_from(["managed", "data", "ephemeral"]), NAMES, NAMES, KEYS)


@settings(max_examples=examples(200))
@given(RESOURCES | MODULES.filter(lambda m: not m.is_root))
def test_text_and_back(address):
    assert parse_address(str(address)) == address


@pytest.mark.parametrize(
    ("key", "text"),
    [
        (None, ""),
        (0, "[0]"),
        ("k", '["k"]'),
        ('a"b\\', r'["a\"b\\"]'),
        ("${x}$%{", '["$${x}$%%{"]'),
        ("\n\r\t\x07", r'["\n\r\t\u0007"]'),
        ("é\U0001f600\u200b", '["é\U0001f600\\u200b"]'),
        ("\U000e0001", r'["\U000e0001"]'),
    ],
)
def test_keys(key, text):
    assert format_key(key) == text


def test_parts():
    address = parse_resource_instance('module.a["k"].module.b[0].data.t.n["x"]')
    assert str(address.config) == "module.a.module.b.data.t.n"
    assert str(address.resource) == 'module.a["k"].module.b[0].data.t.n'
    assert address.relative == 'data.t.n["x"]'
    assert address.path == ("a", "b")
    assert str(address.module.parent) == 'module.a["k"]'
    assert format_instance('module.a["k"]', "managed", "t", "n", 3) == 'module.a["k"].t.n[3]'
    assert parse_module("") == ROOT


def test_contains():
    module = parse_module("module.a")
    assert module.contains(parse_address("module.a.module.b.t.n"))
    assert not module.contains(parse_address("module.a[0].t.n"))
    assert parse_address("t.n").contains(parse_address('t.n["k"]'))
    assert not parse_address("t.n[0]").contains(parse_address("t.n[1]"))
    assert not parse_address("t.n").contains(parse_address("module.a.t.n"))


def test_order():
    ordered = [
        "ephemeral.z.z",
        "data.a.b",
        "a.b",
        "a.b[2]",
        "a.b[10]",
        'a.b["1"]',
        'a.b["B"]',
        'a.b["a"]',
        "a.c",
        "b.a",
        "module.a.a.b",
        "module.a[0].a.b",
        'module.a["x"].a.b',
        "module.b.a.b",
        "module.a.module.b.a.b",
    ]
    assert sorted({*ordered}, key=sort_key) == ordered


@pytest.mark.parametrize(
    ("text", "start"),
    [
        ("", 0),
        ("1", 0),
        ("a", 0),
        ("a.", 2),
        ("a.b.c", 3),
        ("a.b[0", 5),
        ("a.b[x]", 4),
        ("a.b[1.5]", 3),
        ('a.b["${x}"]', 5),
        ('a.b["x]', 4),
        ("a.b[0].c", 6),
        ("module", 0),
        ("module.a[0][1]", 11),
        ("module[0]", 6),
        ("data.a", 4),
        ("a[0]", 1),
        ("a.b c", 4),
        ("a.*", 2),
        ("a.b[*]", 4),
    ],
)
def test_refused(text, start):
    with pytest.raises(AddressError) as caught:
        parse_address(text)
    assert caught.value.start == start


@settings(max_examples=examples(300))
@given(st.text(alphabet='amodule.data[]"\\$%{}01 -é\n', max_size=20))
def test_any_text_parses_or_is_refused(text):
    try:
        address = parse_address(text)
    except AddressError:
        return
    assert parse_address(str(address)) == address


def test_identifiers():
    assert all(map(valid_identifier, ["a", "_", "a-1", "été", "ª"]))
    assert not any(map(valid_identifier, ["", "-a", "1a", "a b", "a.b"]))
    assert quote("") == '""'
