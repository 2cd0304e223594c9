"""Every built-in test, function and relation in a policy, with each truth value: it holds, it does not, it is undecided
for a value that is not known yet, and what makes no sense to it is broken (or, where it seeks, does not hold)."""

from __future__ import annotations

from typing import Any

import pytest
from thinned import thinned

from planner.answers.policy.program import load_policies
from planner.logic.datalog.engine.evaluate import evaluate
from planner.logic.datalog.engine.fact_base import FactBase
from planner.logic.datalog.language.builtins import FUNCTIONS, RELATIONS, TESTS

NOTHING = object()
"""the built-in has no value that makes no sense: it does not hold for it either"""

CASES: dict[str, tuple[str, Any, Any, Any]] = {
    # condition on V: holds for, does not hold for, makes no sense for
    "starts_with": ('starts_with(V, "a")', "ab", "b", NOTHING),
    "ends_with": ('ends_with(V, "a")', "ba", "b", NOTHING),
    "contains": ('contains(V, "a")', "bab", "b", NOTHING),
    "matches": ('matches("abc", V)', "^a", "^b", "("),
    "is_symbol": ("is_symbol(V)", "a", 1, NOTHING),
    "is_number": ("is_number(V)", 1, "a", NOTHING),
    "is_cidr": ("is_cidr(V)", "10.0.0.0/8", "a", NOTHING),
    "is_pattern": ("is_pattern(V)", "a", "(", NOTHING),
    "is_base64": ("is_base64(V)", "YQ==", "!", NOTHING),
    "is_version": ("is_version(V)", "1.0", "x", NOTHING),
    "is_constraint": ("is_constraint(V)", "~> 1.0", "x", NOTHING),
    "is_time": ("is_time(V)", "2026-01-01T00:00:00Z", "x", NOTHING),
    "is_duration": ("is_duration(V)", "1h", "x", NOTHING),
    "is_json": ("is_json(V)", "{}", "x", NOTHING),
    "is_yaml": ("is_yaml(V)", "a: 1", "a: b: c", NOTHING),
    "undefined": ("undefined(to_number(V))", "a", "1", NOTHING),
    "incomparable": ("incomparable(V, 1)", "a", 2, NOTHING),
    "cidr_contains": ('cidr_contains("10.0.0.0/8", V)', "10.1.0.0/16", "11.0.0.0/8", "Internet"),
    "cidr_overlaps": ('cidr_overlaps("10.0.0.0/8", V)', "0.0.0.0/0", "11.0.0.0/8", "Internet"),
    "version_matches": ('version_matches(V, "~> 5.0")', "5.1.0", "6.0.0", "latest"),
    "++": ('V ++ "!" = "a!"', "a", "b", NOTHING),
    "+": ("V + 1 = 2", 1, 2, "a"),
    "-": ("V - 1 = 0", 1, 2, "a"),
    "*": ("V * 2 = 2", 1, 2, "a"),
    "/": ("6 / V = 2", 3, 2, 0),
    "%": ("V % 2 = 1", 1, 2, "a"),
    "length": ("length(V) = 1", "a", "aa", 1),
    "lower": ('lower(V) = "a"', "A", "b", 1),
    "upper": ('upper(V) = "A"', "a", "b", 1),
    "trim": ('trim(V) = "a"', " a", "b", 1),
    "before": ('before(V, "/") = "a"', "a/b", "b/b", 1),
    "after": ('after(V, "/") = "b"', "a/b", "b/a", 1),
    "before_last": ('before_last(V, "/") = "a"', "a/b", "b/b", 1),
    "after_last": ('after_last(V, "/") = "b"', "a/b", "b/a", 1),
    "trim_prefix": ('trim_prefix(V, "v") = "1"', "v1", "v2", 1),
    "trim_suffix": ('trim_suffix(V, "v") = "1"', "1v", "2v", 1),
    "replace": ('replace(V, "a", "b") = "b"', "a", "c", 1),
    "substring": ('substring(V, 0, 1) = "a"', "ab", "b", 1),
    "to_number": ("to_number(V) > 5", "6", "5", "large"),
    "to_symbol": ('to_symbol(V) = "1"', 1, 2, NOTHING),
    "ratio": ("ratio(1, V) = 0.25", 4, 2, 0),
    "abs": ("abs(V) = 1", -1, 2, "a"),
    "floor": ("floor(V) = 1", 1.5, 2, "a"),
    "ceil": ("ceil(V) = 2", 1.5, 1, "a"),
    "round": ("round(V, 1) = 1.3", 1.25, 1, "a"),
    "format_number": ('format_number(V, 1) = "1.0"', 1, 2, "a"),
    "base64_decode": ('base64_decode(V) = "a"', "YQ==", "Yg==", "!"),
    "is_gzip": ("is_gzip(V)", "H4sIAAAAAAAAA0sEAEO+t+gBAAAA", "YQ==", NOTHING),
    "base64_gunzip": (
        'base64_gunzip(V) = "a"',
        "H4sIAAAAAAAAA0sEAEO+t+gBAAAA",
        "H4sIAAAAAAAAA0sCAPnvvnEBAAAA",
        "YQ==",
    ),
    "base64_encode": ('base64_encode(V) = "YQ=="', "a", "b", 1),
    "cidr_prefix": ("cidr_prefix(V) < 8", "0.0.0.0/0", "10.0.0.0/8", "Internet"),
    "cidr_addresses": ("cidr_addresses(V) > 1", "10.0.0.0/8", "10.0.0.1", "Internet"),
    "cidr_version": ("cidr_version(V) = 6", "::/0", "10.0.0.1", "Internet"),
    "cidr_network": ('cidr_network(V) = "10.0.0.0/8"', "10.1.1.1/8", "10.0.0.1", "Internet"),
    "version_compare": ('version_compare(V, "1.5") < 0', "1.4.9", "1.10", "latest"),
    "version_major": ("version_major(V) < 5", "4.0", "5.0", "latest"),
    "version_minor": ("version_minor(V) < 5", "1.4", "1.5", "latest"),
    "version_patch": ("version_patch(V) < 5", "1.0.4", "1.0.5", "latest"),
    "version_prerelease": ('version_prerelease(V) != ""', "1.0-rc1", "1.0", "latest"),
    "time_seconds": ("time_seconds(V) < 1", "1970-01-01T00:00:00Z", "2026-01-01T00:00:00Z", "today"),
    "time_text": ('time_text(V) = "1970-01-01T00:00:00Z"', 0, 1, 10**15),
    "time_year": ("time_year(V) = 1970", "1970-01-01T00:00:00Z", "2026-01-01T00:00:00Z", "today"),
    "time_month": ("time_month(V) = 1", "1970-01-01T00:00:00Z", "2026-02-01T00:00:00Z", "today"),
    "time_day": ("time_day(V) = 1", "1970-01-01T00:00:00Z", "2026-02-02T00:00:00Z", "today"),
    "time_weekday": ("time_weekday(V) > 5", "2026-11-22T00:00:00Z", "2026-11-23T00:00:00Z", "today"),
    "time_hour": ("time_hour(V) < 8", "2026-11-22T07:59:00Z", "2026-11-23T08:00:00Z", "today"),
    "time_minute": ("time_minute(V) < 8", "2026-11-22T00:07:00Z", "2026-11-23T00:08:00Z", "today"),
    "duration_seconds": ("duration_seconds(V) < 3600", "59m", "1h", "long"),
    "duration_text": ('duration_text(V) = "1m"', 60, 61, "a"),
    "split": ('split(V, ",", _, "a")', "b,a", "b", 1),
    "captures": ('captures(V, "^(a)", 1, _)', "ab", "b", 1),
    "find_all": ('find_all(V, "a", 1, _)', "aba", "ab", 1),
    "range": ("range(1, V, 3)", 5, 2, 10**9),
    "json": ('json(V, "a", 1)', '{"a": 1}', '{"a": 2}', "{"),
    "json_element": ('json_element(V, "", "a", _)', '{"a": null}', "[]", "{"),
    "yaml": ('yaml(V, "a", 1)', "a: 1", "a: 2", "a: b: c"),
    "yaml_element": ('yaml_element(V, "", "a", _)', "a: ~", "[]", "a: b: c"),
    "in": ('V in ["a", 1]', "a", "b", NOTHING),
}


def verdict(condition: str, **values: Any) -> set[str]:
    """deny, could or broken: what the policies say of an object whose value this is; without one it is unknown."""
    policies, problems = load_policies((("p.dl", f'deny("c", A, "m") :- planned(A, "v", V), {condition}.'),))
    assert policies is not None, problems
    facts: dict[str, Any] = {"planned": [("a", "v", value) for value in values.values()]}
    if not values:
        facts = {"maybe": [("a", "v", "v."), ("a", "v", "v[")], "maybe_exact": [("a", "v")]}
    found = evaluate(policies.modal_program, FactBase.build(facts))
    names = {"deny": "deny", policies.could["deny"]: "could", policies.modal.broken: "broken"}
    return {said for name, said in names.items() if name and found[name]}


def test_everything_built_in_has_a_case() -> None:
    assert set(CASES) == {*TESTS, *FUNCTIONS, *RELATIONS}


@pytest.mark.parametrize("name", thinned([*CASES], 2))
def test_truth_values(name: str) -> None:
    condition, yes, no, senseless = CASES[name]
    assert verdict(condition, value=yes) == {"deny", "could"}
    assert verdict(condition, value=no) == set()
    assert verdict(condition) == {"could"}
    if senseless is not NOTHING:
        assert "broken" in verdict(condition, value=senseless)
    elif name not in ("is_number", "is_symbol", "undefined", "incomparable", "in", "++", "to_symbol"):
        assert verdict(condition, value=5) == set()


NEGATED = [
    "starts_with",
    "is_cidr",
    "cidr_contains",
    "version_matches",
    "split",
    "captures",
    "json",
    "yaml_element",
    "in",
]


@pytest.mark.parametrize("name", NEGATED)
def test_truth_values_of_negations(name: str) -> None:
    condition, yes, no, senseless = CASES[name]
    condition = f"not {condition}"
    assert verdict(condition, value=yes) == set()
    assert verdict(condition, value=no) == {"deny", "could"}
    assert verdict(condition) == {"could"}
    if senseless is not NOTHING:
        assert "broken" in verdict(condition, value=senseless)


def test_a_test_before_says_that_it_is_meant() -> None:
    assert verdict('is_json(V), json(V, "a", 1)', value="{") == set()
    assert verdict('is_cidr(V), cidr_contains("10.0.0.0/8", V)', value="Internet") == set()


def test_what_a_relation_gives_of_unknown_text_is_unknown() -> None:
    assert verdict('json(V, "a", X), X > 5') == {"could"}
    assert verdict('json(V, "a", X), X > 5', value='{"a": "x"}') == {"broken"}
    assert verdict('not json(V, "a", _)') == {"could"}
    assert verdict('N = count : { split(V, ",", _, _) }, N > 3') == {"could"}


def test_alternatives() -> None:
    either = '(V = 1 ; V = 2, "a" != "b" ; V in ["x"])'
    assert verdict(either, value=2) == {"deny", "could"}
    assert verdict(either, value=3) == set()
    assert verdict(either) == {"could"}
