"""Verdicts by cases are true: what is denied is denied in every way in which unknown values can turn out, and what
passes in none; for random small policies and plans."""

from __future__ import annotations

from itertools import product
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from random_tests import examples
from test_modal import facts
from thinned import thinned

from planner.answers.policy.case_analysis import Cases
from planner.answers.policy.planned_values import ValueRows
from planner.answers.policy.program import Policies, load_policies
from planner.foundation.values.sets import make_set
from planner.foundation.values.types import BOOL, DYNAMIC, NUMBER, STRING, ListType, MapType
from planner.foundation.values.value import NOT_NULL, List, Map, Null, Refinement, Set, Unknown
from planner.logic.datalog.engine.evaluate import evaluate

DECLARATIONS = """
/// bad(v): a value. Example: bad("x")
.decl bad(v: any)
bad("x"). bad(22).
/// wanted(t): a tag. Example: wanted("Owner")
.decl wanted(t: symbol)
wanted("Owner"). wanted("Other").
/// named(a, v): it has a name. Example: named("a", "x")
.decl named(a: symbol, v: any)
named(A, V) :- planned(A, "name", V).
/// tagged(a, t): it has a tag. Example: tagged("a", "Owner")
.decl tagged(a: symbol, t: any)
tagged(A, T) :- part(A, "tags", T, _).
/// listed(a): something is listed. Example: listed("a")
.decl listed(a: symbol)
listed(A) :- part(A, "list", _, I), planned(A, I, "x").
/// good(a): is good. Example: good("a")
.decl good(a: symbol)
good(A) :- named(A, V), not bad(V).
good(A) :- planned(A, "on", true).
/// near(a, b): names lead from one to the other. Example: near("a", "b")
.decl near(a: symbol, b: any)
near(A, B) :- planned(A, "name", B).
near(A, C) :- near(A, B), planned(B, "name", C).
"""
LITERALS = [
    'planned(A, "name", "x")',
    'not planned(A, "name", _)',
    'not planned(A, "name", "x")',
    'planned(A, "name", _)',
    'planned(A, "name", N), N != "x"',
    'planned(A, "name", N), not N in ["x", "b"]',
    'planned(A, "name", N), N in ["x", "yy"]',
    'planned(A, "name", N), starts_with(N, "x")',
    'planned(A, "name", N), not starts_with(N, "y")',
    'planned(A, "name", N), starts_with(N, "pre-")',
    'planned(A, "name", N), not matches(N, "^[xb]$")',
    'planned(A, "name", N), lower(N) = "x"',
    'planned(A, "name", N), L = length(N), L > 1',
    'planned(A, "name", N), N >= "c"',
    'planned(A, "name", N), split(N, "y", 0, "")',
    'planned(A, "name", N), not split(N, "y", 1, _)',
    'planned(A, "name", N), json(N, "a[0]", "x")',
    'json_value(A, "name", "a[0]", "x")',
    'json_value(A, "name", _, "x")',
    'not json_part(A, "name", "", "a", _)',
    'planned(A, "port", P), P > 22',
    'planned(A, "port", P), P <= 22',
    'planned(A, "port", P), not P in [22, 23]',
    'planned(A, "port", P), P != 22',
    'not planned(A, "port", _)',
    'planned(A, "port", P), is_number(P)',
    'planned(A, "on", true)',
    'planned(A, "on", false)',
    'not planned(A, "on", true)',
    'planned(A, "tags.Owner", _)',
    'not planned(A, "tags.Owner", _)',
    'planned(A, "tags.Owner", T), T != "x"',
    'part(A, "tags", K, _), K != "Owner"',
    "wanted(W), not tagged(A, W)",
    'wanted(W), Q = "tags." ++ W, not planned(A, Q, _)',
    'tagged(A, "Owner")',
    "tagged(A, G), wanted(G)",
    "not tagged(A, _)",
    "named(A, V), bad(V)",
    "named(A, V), not bad(V)",
    "good(A)",
    "not good(A)",
    "listed(A)",
    "not listed(A)",
    'near(A, "b")',
    'C = count : { part(A, "list", _, _) }, C > 1',
    'C = count : { planned(_, "name", "x") }, C > 0',
    "C = count : { named(_, _) }, C != 2",
    'C = count : { planned(A, _, "x") }, C = 0',
    'S = sum U : { planned(_, "port", U), is_number(U) }, S > 30',
    'size_of(A, "list", Z), Z > 1',
    'size_of(A, "list", Z), Z <= 1',
    'not size_of(A, "list", _)',
    'part(A, "list", 0, I), planned(A, I, "x")',
    'part(A, "list", _, I), planned(A, I, X), X != "x"',
    'planned(A, "name", X), planned(B, "name", X), A != B',
    'planned(B, "name", A)',
    'planned(A, R, "x"), starts_with(R, "tags")',
    'planned(A, R, "x"), starts_with(R, "na")',
    'planned(A, _, "x")',
    'not planned(A, _, "x")',
    '(planned(A, "name", "x") ; planned(A, "port", 22))',
    '(named(A, "x") ; not named(A, "x"))',
    'M = max U : { planned(A, "port", U), is_number(U) }, M > 22',
    'M = min U : { planned(_, "port", U) }, M < 23',
    'S = sum U : { planned(_, "port", U) }, S - 1 >= 44',
    'planned(A, "name", N), matches(N, "^pre-")',
    'planned(A, "name", N), not matches(N, "^pre")',
    'planned(A, "name", N), captures(N, "^(.)(.)", 2, E), E != "r"',
    'size_of(A, "list", Z), Z + 1 > 2',
    'planned(A, "name", X), planned(B, "name", Y), A != B, X != Y',
    'planned(A, "name", X), planned(B, "name", Y), A != B, X < Y',
]
"""conditions on A; each has variables of its own"""

TEXTS = ("x", "b", "yy", "pre-a", '{"a": ["x"]}', Null())
NUMBERS = (22, 23, Null())
MAPS = (Null(), Map(STRING, {}), Map(STRING, {"Owner": "x"}), Map(STRING, {"Other": "yy", "Owner": "b"}))
LISTS = (Null(), List(STRING, ()), List(STRING, ("x",)), List(STRING, ("yy", "x")))
OUTCOMES = {
    STRING: TEXTS,
    NUMBER: NUMBERS,
    BOOL: (True, False, Null()),
    MapType(STRING): MAPS,
    ListType(STRING): LISTS,
    DYNAMIC: ("x", 22, *MAPS[1:3]),
}
PREFIXED = Unknown(STRING, Refinement(True, "pre-"))
ONE = Unknown(ListType(STRING), Refinement(True, min_length=1))
LARGE = Unknown(NUMBER, Refinement(True, lower=(23, True)))
objects = st.fixed_dictionaries(
    {
        "name": st.sampled_from(
            ["x", "b", Null(), Unknown(STRING), Unknown(STRING, NOT_NULL), PREFIXED, Unknown(DYNAMIC)]
        ),
        "port": st.sampled_from([22, Null(), Unknown(NUMBER), Unknown(NUMBER, NOT_NULL), LARGE]),
        "on": st.sampled_from([True, Null(), Unknown(BOOL), Unknown(BOOL, NOT_NULL)]),
        "tags": st.sampled_from(
            [MAPS[0], MAPS[2], Unknown(MapType(STRING)), Map(STRING, {"Owner": Unknown(STRING, NOT_NULL)})]
        ),
        "list": st.sampled_from(
            [
                *LISTS[:3],
                Unknown(ListType(STRING)),
                ONE,
                List(STRING, (Unknown(STRING), "yy")),
                Set(STRING, ("x", PREFIXED)),
            ]
        ),
    }
)


def outcomes(value: Any) -> list[Any]:
    """Every way in which the unknown parts of a value may turn out, in a small world."""
    if isinstance(value, Unknown):
        known = value.refinement or Refinement()
        found = [v for v in OUTCOMES[value.type] if not (known.not_null and isinstance(v, Null))]
        found = [v for v in found if not known.prefix or v.startswith(known.prefix)]
        found = [v for v in found if not known.lower or v >= known.lower[0]]
        return [v for v in found if not known.min_length or len(v.items) >= known.min_length]
    if isinstance(value, dict):
        return [dict(zip(value, chosen, strict=True)) for chosen in product(*map(outcomes, value.values()))]
    if isinstance(value, Map):
        return [Map(value.element, made) for made in outcomes(value.items)]
    if isinstance(value, List):
        return [List(value.element, items) for items in product(*map(outcomes, value.items))]
    if isinstance(value, Set):
        known_ones = [[x for x in outcomes(item) if not isinstance(x, Null)] for item in value.items]
        return [make_set(value.element, items) for items in product(*known_ones)]
    return [value]


def verdicts(policies: Policies, values: dict[str, Any]) -> tuple[set[Any], set[Any]]:
    """The (code, address) that are certainly denied, and those that may be."""
    base = facts(values)
    unknown = {}
    for address, value in values.items():
        rows = ValueRows()
        rows.add_object(address, value)
        unknown.update(rows.unknown)
    found = evaluate(policies.modal_program, base)
    certain = {row[:2] for row in found["deny"]}
    could = policies.modal.could.get("deny")
    cases = Cases(policies, found, unknown)
    decided = {row: cases.decide("deny", *row) for row in (found[could] if could else set()) - certain}
    certain |= {row for row, holds in decided.items() if holds is True}
    return certain, certain | {row for row, holds in decided.items() if holds is None}


def renamed(literal: str, number: int) -> str:
    """The literal with other names for its variables."""
    import re

    return re.sub(r'("[^"]*")|\b([B-Z])\b', lambda m: m[1] or f"{m[2]}{number}", literal)


bodies = st.lists(st.sampled_from(LITERALS), min_size=1, max_size=3, unique=True)
LOADED: dict[str, Policies] = {}


def policy(rules: list[list[str]]) -> Policies:
    text = DECLARATIONS
    for number, body in enumerate(rules):
        literals = ", ".join(renamed(literal, i) for i, literal in enumerate(body))
        text += f'@name("r{number}") deny("c", A, "m") :- action(A, _), {literals}.\n'
    if text not in LOADED:
        policies, problems = load_policies((("p.dl", text),))
        assert policies is not None, (problems, text)
        LOADED[text] = policies
    return LOADED[text]


@pytest.mark.slow
@settings(max_examples=examples(150))
@given(rules=st.lists(bodies, min_size=1, max_size=3), values=st.fixed_dictionaries({"a": objects, "b": objects}))
def test_verdicts_by_cases_are_true(rules: list[list[str]], values: dict[str, Any]) -> None:
    agrees_with_every_outcome(rules, values)


@pytest.mark.slow
@settings(max_examples=examples(20))
@given(
    rule=st.lists(st.sampled_from(LITERALS), min_size=7, max_size=12, unique=True),
    values=st.fixed_dictionaries({"a": objects, "b": objects}),
)
def test_so_are_those_of_large_rules(rule: list[str], values: dict[str, Any]) -> None:
    agrees_with_every_outcome([rule], values)


def test_a_rule_of_twenty_values() -> None:
    """Each of them counts, and nothing limits how many there are."""
    literals = [f'planned(A, "p{i}", V{i}), V{i} > {i}' for i in range(20)]
    policies, problems = load_policies((("p.dl", f'deny("c", A, "m") :- action(A, _), {", ".join(literals)}.'),))
    assert policies is not None, problems
    known = {f"p{i}": 100 for i in range(20)}
    assert verdicts(policies, {"a": known}) == ({("c", "a")}, {("c", "a")})
    for number in (0, 3, 7, 19):
        assert verdicts(policies, {"a": {**known, f"p{number}": 0}}) == (set(), set())
        unknown = {**known, f"p{number}": Unknown(NUMBER)}
        assert verdicts(policies, {"a": unknown}) == (set(), {("c", "a")})
        assert verdicts(policies, {"a": {**unknown, "p5": Unknown(NUMBER, Refinement(True, upper=(5, True)))}}) == (
            set(),
            set(),
        )
    broken = {**known, "p3": "large", "p9": "large"}
    found = evaluate(policies.modal_program, facts({"a": broken}))
    assert not found["deny"] and {row[:2] for row in found[policies.modal.broken]} == {("c", "a")}
    assert not evaluate(policies.modal_program, facts({"a": {**broken, "p11": 1}}))[policies.modal.broken]


MANY = {f"u{i}": {"name": Unknown(STRING), "port": Unknown(NUMBER, NOT_NULL), "on": Unknown(BOOL)} for i in range(30)}
KNOWN = {f"k{i}": {"name": "x", "port": 22, "on": True} for i in range(3)}
OF_MANY = {
    'N = count : { planned(_, "on", true) }, N > 2': True,
    'N = count : { planned(_, "on", true) }, N > 3': None,
    'N = count : { planned(_, "on", true) }, N > 33': False,
    'N = count : { planned(_, "on", true) }, N < 3': False,
    'N = count : { planned(B, "on", true), planned(B, "name", "x") }, N >= 3': True,
    'N = count : { planned(B, "name", V), V != "x" }, N > 30': False,
    'N = count : { action(B, _), not planned(B, "name", _) }, N > 30': None,
    'S = sum P : { planned(_, "port", P), is_number(P) }, S > 10': None,
}


@pytest.mark.parametrize("condition", thinned([*OF_MANY], 2))
def test_counts_over_many_unknown_values(condition: str) -> None:
    policies = policy([[condition]])
    certain, possible = verdicts(policies, {**MANY, **KNOWN})
    found = True if ("c", "k0") in certain else None if ("c", "k0") in possible else False
    assert found == OF_MANY[condition]


def test_what_may_be_broken_is_not_dropped() -> None:
    """A text that is no number is never more than 10, and what says so has no value."""
    for value in (Unknown(STRING), Unknown(DYNAMIC)):
        for condition in ("N > 10", "M = N + 1, M = 3", "to_number(N) > 10"):
            policies = policy([[f'planned(A, "name", N), {condition}']])
            assert verdicts(policies, {"a": {"name": value}}) == (set(), {("c", "a")})
    policies = policy([['planned(A, "name", N), is_number(N), N > 10']])
    assert verdicts(policies, {"a": {"name": Unknown(STRING)}}) == (set(), set())


def agrees_with_every_outcome(rules: list[list[str]], values: dict[str, Any]) -> None:
    if any('"list", 0' in literal for body in rules for literal in body):  # a number that a set may change
        values = {a: {**v, "list": Null() if isinstance(v["list"], Set) else v["list"]} for a, v in values.items()}
    policies = policy(rules)
    base = facts(values)
    certain, possible = verdicts(policies, values)
    every = outcomes(values)
    step = max(1, len(every) // 150)
    for outcome in every[::step]:
        denied = {row[:2] for row in evaluate(policies.program, facts(outcome, base), ["deny"])["deny"]}
        assert certain <= denied, ("denied in no way", certain - denied, outcome)
        assert denied <= possible, ("not foreseen", denied - possible, outcome)
