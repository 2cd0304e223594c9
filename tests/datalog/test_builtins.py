"""What is built in: values, rows, and what has none; hostile input ends, and both evaluators agree."""

from __future__ import annotations

from typing import Any

import pytest
from datalog.naive_evaluator import evaluate_naively
from engine_helpers import plain, program
from thinned import thinned

from planner.logic.datalog.engine.evaluate import evaluate
from planner.logic.datalog.engine.fact_base import FactBase
from planner.logic.datalog.language.builtins import FUNCTIONS, KINDS, RELATIONS, TESTS, BuiltinPredicate
from planner.logic.datalog.language.values import decode, encode

DECLARED = """
/// given(name, value): what is given.
.decl given(name: symbol, value: any)
.input given
/// out(value): what comes out.
.decl out(value: any)
.output out
"""


def out(body: str, **values: Any) -> set[Any]:
    """The values of X for which the body holds, by both evaluators."""
    rules = program(f"{DECLARED}out(X) :- {body}.")
    facts = FactBase.build({"given": list(values.items())})
    found = evaluate(rules, facts)["out"]
    assert set(found) == evaluate_naively(rules, facts)["out"]
    return {value for (value,) in plain(found)}


EVERYTHING = {**TESTS, **FUNCTIONS, **RELATIONS}


@pytest.mark.parametrize("name", EVERYTHING)
def test_examples_hold(name: str) -> None:
    example = EVERYTHING[name].example
    if "A " in example:
        example = f"A = 7, {example}"
    assert out(example if name == "in" else f"X = 1, {example}")


@pytest.mark.parametrize("name", EVERYTHING)
def test_every_kind_of_value_is_an_answer(name: str) -> None:
    """Whatever it is given, it gives a value, rows, or None, and raises nothing."""
    one: BuiltinPredicate = EVERYTHING[name]
    texts = ["", "a", "\ud800", "[", "-", "1e999999999", "9" * 5000, "\0", "P1DT", "1.2.3.4/33", "(", "*", "2026-02-30"]
    values = [encode(v) for v in (*texts, 0, -1, 10**40, 0.5, True)]
    if name == "in":
        return
    for first in values:
        for second in values[:: max(1, len(one.inputs))]:
            for third in values[::7]:
                one.function(*[first, second, third][: len(one.inputs)])


def test_every_kind_has_a_test_that_says_so() -> None:
    used = {kind for one in EVERYTHING.values() for _, kind in one.inputs} - {"any", "number", "symbol"}
    assert used == set(KINDS) and set(KINDS.values()) <= set(TESTS)


FUNCTION_CASES = {
    'trim("  a b\\n")': "a b",
    'upper("straße")': "STRASSE",
    "abs(-2.5)": 2.5,
    "abs(3)": 3,
    "floor(-1.5)": -2,
    "ceil(-1.5)": -1,
    "round(2.5, 0)": 3,
    "round(-2.5, 0)": -3,
    "round(0.125, 2)": 0.13,
    "round(1, 101)": None,
    "ratio(1, 4)": 0.25,
    "ratio(4, 2)": 2,
    "ratio(1, 0)": None,
    "format_number(12.5, 2)": "12.50",
    "format_number(-0.001, 2)": "0.00",
    "format_number(1234567, 0)": "1234567",
    'cidr_version("10.0.0.1")': 4,
    'cidr_version("::ffff:0:0/96")': 6,
    'cidr_network("10.1.2.3/8")': "10.0.0.0/8",
    'cidr_network("10.1.2.3")': "10.1.2.3/32",
    'cidr_network("2001:DB8::1/32")': "2001:db8::/32",
    'version_compare("1.10.0", "1.9")': 1,
    'version_compare("1.0.0-rc1", "1.0.0")': -1,
    'version_compare("v1.0", "1.0.0+build")': 0,
    'version_major("v5.4.1")': 5,
    'version_minor("5")': 0,
    'version_patch("5.4.1-beta.2")': 1,
    'version_prerelease("5.4.1-beta.2")': "beta.2",
    'time_seconds("1970-01-02T00:00:00+01:00")': 82800,
    'time_seconds("2026-11-22T00:00:00.250Z")': 1795305600.25,
    'time_seconds("0000-01-01T00:00:00Z")': -62167219200,
    "time_text(1795305600.25)": "2026-11-22T00:00:00.25Z",
    "time_text(-0.5)": "1969-12-31T23:59:59.5Z",
    "time_text(253402300799)": "9999-12-31T23:59:59Z",
    "time_text(253402300800)": None,
    'time_year("9999-12-31T23:59:59-23:59")': 9999,
    'time_month("2026-11-22T00:00:00Z")': 11,
    'time_day("2026-11-22T23:30:00-02:00")': 22,
    'time_weekday("2026-11-22T23:30:00Z")': 7,
    'time_weekday("1969-12-29T00:00:00Z")': 1,
    'time_hour("2026-11-22T23:30:00-02:00")': 23,
    'time_minute("2026-11-22T23:30:00-02:30")': 30,
    'duration_seconds("72h30m")': 261000,
    'duration_seconds("30d")': 2592000,
    'duration_seconds("-1.5s")': -1.5,
    'duration_seconds("0")': 0,
    'duration_seconds("1w2d")': 777600,
    'duration_seconds("1ms")': 0.001,
    'duration_seconds("P1DT2H30M")': 95400,
    'duration_seconds("P2W")': 1209600,
    "duration_text(261000)": "72h30m",
    "duration_text(0)": "0s",
    "duration_text(-90.5)": "-1m30.5s",
    'base64_decode("eyJhIjoxfQ")': '{"a":1}',
    'base64_encode("ä")': "w6Q=",
    'base64_gunzip("H4sIAAAAAAAAA0sEAEO-t-gBAAAA")': "a",
}


@pytest.mark.parametrize("call", FUNCTION_CASES)
def test_functions(call: str) -> None:
    expected = FUNCTION_CASES[call]
    assert out(f"X = {call}") == (set() if expected is None else {expected})


TEST_CASES = {
    'version_matches("5.4.0", "~> 5.0")': True,
    'version_matches("6.0.0", "~> 5.0")': False,
    'version_matches("1.3.0-rc1", ">= 1.0")': False,
    'version_matches("1.2.5", ">= 1.2, != 1.2.5")': False,
    'is_constraint(">= 1, < 2")': True,
    'is_constraint("")': False,
    'is_version("1.2.x")': False,
    'is_time("2026-02-29T00:00:00Z")': False,
    'is_time("2024-02-29T24:00:00Z")': False,
    'is_time("2024-02-29 00:00:00Z")': False,
    'is_duration("P")': False,
    'is_duration("PT")': False,
    'is_duration("1 h")': False,
    'is_duration("P1M")': False,
    'is_base64("!")': False,
    'is_base64("_-8=")': False,
    'is_gzip("YQ==")': False,
    'is_gzip("H4sIAAAAAAAAA0sEAEO+t+gBAAA")': False,
    'is_gzip("H4sIAAAAAAAAA0sEAEO+t+kBAAAA")': False,
    'is_gzip("H4sIAAAAAAACA/sPAAAAAP8BAAAA")': False,
    'is_pattern("(?=a)")': False,
    'is_json("NaN")': False,
    'is_json("[1e99999999]")': False,
    'is_json("{\\"a\\": 1,}")': False,
    'is_json(" 5 ")': True,
    "is_json(5)": False,
    'is_yaml("a: b: c")': False,
    'is_yaml("a: 1\\n---\\nb: 2")': False,
    'is_yaml("")': False,
    'is_yaml("*a")': False,
    'is_yaml("a: &a [*a]")': False,
    'is_yaml("a: !!python/object:os.system {}")': False,
    "1 in [1.0, true]": False,
    '"a" not in ["b"]': True,
    'lower("A") in ["a"]': True,
}


@pytest.mark.parametrize("test", TEST_CASES)
def test_tests(test: str) -> None:
    assert out(f"X = 1, {test}") == ({1} if TEST_CASES[test] else set())


T = 'given("t", T), '
# ruff: noqa: E501
RELATION_CASES: list[tuple[str, Any, set[Any]]] = [
    (T + "json(T, P, V), X = P ++ '=' ++ V", '{"a": [1, null, {"b c": true}], "d.e": "x"}', {'a[0]=1', 'a[2]["b c"]=true', '["d.e"]=x'}),
    (T + "json(T, 'a', X)", '{"a": 1, "a": 2}', {1, 2}),
    (T + "json(T, 'a', X)", '{"a": 0.5}', {0.5}),
    (T + "json(T, '', X)", '"\\ud83d\\ude00\\ud800"', {"\U0001f600\ufffd"}),
    (T + "json(T, _, X)", "no", set()),
    (T + "json_element(T, '', K, P), X = K ++ ':' ++ P", '["a", {"b": 1}]', {"0:[0]", "1:[1]"}),
    (T + "X = 1, not json(T, 'a', _)", '{"b": 1}', {1}),
    (T + "X = 1, not json(T, 'a', _)", "no", set()),
    (T + "X = count : { json(T, _, _) }", "[1, 1, 1]", {3}),
    (T + "yaml(T, P, V), X = P ++ '=' ++ V", "a: [yes, 'yes', 017, 0x1F, 1.5e3, ~]\n? b\n: |\n  5\n", {"a[0]=true", "a[1]=yes", "a[2]=17", "a[3]=31", "a[4]=1500", "b=5\n"}),
    (T + "yaml(T, 'c.x', X)", "a: &a {x: 1, y: 2}\nc: {<<: *a, x: 3}", {3}),
    (T + "yaml(T, 'c.x', X)", "a: &a {x: 1, y: 2}\nc: {x: 3, <<: [*a]}", {3}),
    (T + "yaml_element(T, 'a', _, X)", "a: [1, {b: 2}]", {"a[0]", "a[1]"}),
    (T + "split(T, ',', I, X), I > 0", "a,b,,c", {"b", "", "c"}),
    (T + "split(T, '', _, X)", "abc", set()),
    (T + "split(lower(T), 'x', 1, X)", "aXb", {"b"}),
    (T + "captures(T, '^(?P<env>[a-z]+)-(?P<n>[0-9]+)?', G, V), X = G ++ '=' ++ V", "prod-", {"0=prod-", "1=prod", "env=prod"}),
    (T + "captures(T, '(a)(b)?', 2, X)", "ab", {"b"}),
    (T + "captures(T, '^b', 0, X)", "ab", set()),
    (T + "find_all(T, '[0-9]+', I, P), X = I ++ ':' ++ P", "a1b22", {"0:1", "1:22"}),
    (T + "given('p', P), find_all(T, P, _, X)", "a1b22", set()),
    (T + "is_number(T), range(1, T, X)", 3, {1, 2, 3}),
    (T + "is_number(T), range(1, T, X)", 0, set()),
    (T + "is_number(T), range(1, T, X)", 10**9, set()),
    (T + "X in [T, 'b', 'b', 1]", "a", {"a", "b", 1}),
    (T + "X = count : { N in ['a', 'b', 'a'] }", "", {2}),
    (T + "X = T, T in [1, 2]", 1, {1}),
    (T + "X = T, (T = 1 ; T = 2, T > 5 ; is_symbol(T), not T in ['a'])", "b", {"b"}),
    (T + "X = T, T not in ['b'], (is_number(T) ; starts_with(T, 'b'))", "b", set()),
]  # fmt: skip


@pytest.mark.parametrize(("body", "value", "expected"), RELATION_CASES)
def test_relations(body: str, value: Any, expected: set[Any]) -> None:
    assert out(body.replace("'", '"') if "'yes'" not in body else body, t=value, p="(") == expected


def bomb(levels: int) -> str:
    lines = ["a0: &a0 [x, x, x, x, x, x, x, x, x]"]
    lines += [f"a{i}: &a{i} [{', '.join([f'*a{i - 1}'] * 9)}]" for i in range(1, levels)]
    return "\n".join(lines)


HOSTILE = {
    "deep JSON": "[" * 100_000 + "]" * 100_000,
    "deep objects": '{"a":' * 5_000 + "1" + "}" * 5_000,
    "large JSON": "[" + ",".join(['{"name": "value", "n": [1, 2, 3]}'] * 250_000) + "]",
    "a long number": "[" + "9" * 100_000 + "]",
    "deep YAML": "[" * 100_000,
    "a bomb of aliases": bomb(20),
    "a bomb of merges": "a: &a {x: 1}\n" + "\n".join(f"b{i}: &b{i} {{<<: [*a, *a], y{i}: *a}}" for i in range(2_000)),
    "many anchors": "\n".join(f"- &a{i} x" for i in range(50_000)),
}


@pytest.mark.parametrize("name", thinned(sorted(HOSTILE), 4))
def test_hostile_documents_are_none_that_rules_read(name: str) -> None:
    """They come to an end, and where that is too much the text counts as one that makes no sense."""
    for relation in ("json", "yaml", "json_element", "yaml_element"):
        rows = RELATIONS[relation].function(HOSTILE[name])
        assert rows is None or len(rows) < 1_000_000
        if name in ("deep JSON", "deep YAML", "a bomb of aliases"):
            assert rows is None


def test_numbers_that_are_too_large_to_write() -> None:
    from decimal import Decimal

    for text in ("1e999999999", "1e-999999999"):
        value = encode(Decimal(text))
        assert len(str(value)) < 50 and decode(value) == Decimal(text)
        for name in ("round", "format_number", "floor", "ceil", "abs", "time_text", "duration_text"):
            one = FUNCTIONS[name]
            one.function(*[value, 2][: len(one.inputs)])


def test_regular_expressions_that_nest_too_deeply_are_none() -> None:
    from planner.logic.datalog.language.texts import is_pattern

    assert is_pattern("(" * 1000 + "a" + ")" * 1000)
    assert not is_pattern("(" * 1001 + "a" + ")" * 1001)
    assert is_pattern("(a)" * 2000) and is_pattern("\\(" * 2000)
