"""What has no value in a policy is a verdict of its own: it is never the reason why a denial is missing."""

from __future__ import annotations

import pytest

from planner.answers.policy.program import load_policies
from planner.logic.datalog.engine.evaluate import evaluate
from planner.logic.datalog.engine.fact_base import FactBase

PLANNED = [
    ("a", "size", "large"),
    ("a", "ram", 70.5),
    ("b", "size", 20),
    ("b", "ram", 1.5),
    ("b", "cost", "12.5"),
    ("c", "size", 5),
    ("c", "cost", "dear"),
    ("c", "zero", 0),
]
TOTAL = "/// total(s): all. Example: total(3)\n.decl total(s: number)\n"
RULES = {
    "an order": ('deny("c", A, "m") :- planned(A, "size", V), V > 10.', {("c", "a")}),
    "an order of a value behind a test": ('deny("c", A, "m") :- planned(A, "size", V), is_number(V), V > 10.', set()),
    "a conversion": ('deny("c", A, "m") :- planned(A, "cost", V), N = to_number(V), N > 5.', {("c", "c")}),
    "a conversion in a test": (
        'deny("c", A, "m") :- planned(A, "cost", V), to_number(V) + 1 > 5.',
        {("c", "c")},
    ),
    "a conversion in a message": ('deny("c", A, "m" ++ to_number(V)) :- planned(A, "cost", V).', {("c", "c")}),
    "a division by zero": ('deny("c", A, "m") :- planned(A, "zero", Z), is_number(Z), V = 1 / Z, V > 1.', {("c", "c")}),
    "arithmetic": ('deny("c", A, "m") :- planned(A, "size", V), N = V * 2, N > 20.', {("c", "a")}),
    "a function of texts": (
        'warn("w", A, "m") :- planned(A, "size", V), L = length(V), L < 3.',
        {("w", "b"), ("w", "c")},
    ),
    "a text without what is looked for": (
        'deny("c", A, "m") :- planned(A, "cost", V), X = before(V, "/"), X = "a".',
        set(),
    ),
    "a range of addresses": (
        'deny("c", A, "m") :- planned(A, "cost", V), is_symbol(V), cidr_prefix(V) < 8.',
        {("c", "b"), ("c", "c")},
    ),
    "a test of ranges": (
        'deny("c", A, "m") :- planned(A, "cost", V), is_symbol(V), cidr_overlaps("10.0.0.0/8", V).',
        {("c", "b"), ("c", "c")},
    ),
    "a test of ranges behind another": (
        'deny("c", A, "m") :- planned(A, "cost", V), is_symbol(V), is_cidr(V), cidr_overlaps("10.0.0.0/8", V).',
        set(),
    ),
    "a relation of constants": (
        'deny("c", A, "m") :- planned(A, "zero", _), range(1, 900000000, X), X > 1.',
        {("c", "c")},
    ),
    "a sum": ('deny("c", "", "m") :- S = sum V : { planned(_, "size", V) }, S > 1.', {("c", "")}),
    "a sum of fractions": ('deny("c", "", "m") :- S = sum V : { planned(_, "ram", V) }, S > 100.', set()),
    "a sum with a conversion": (
        'deny("c", "", "m") :- S = sum to_number(V) : { planned(_, "cost", V) }, S > 100.',
        {("c", "")},
    ),
    "a test within a sum": (
        'deny("c", "", "m") :- N = count : { planned(_, "size", V), V > 100 }, N > 1.',
        {("c", "")},
    ),
    "a sum for each": (
        'deny("c", A, "m") :- change(A, _, _, _, _, _), S = sum V : { planned(A, "size", V) }, S > 100.',
        {("c", "a")},
    ),
    "the greatest of texts and numbers": (
        'deny("c", "", "m") :- M = max V : { planned(_, "size", V) }, M > 100.',
        {("c", "")},
    ),
    "the least of nothing": ('deny("c", "", "m") :- M = min V : { planned(_, "none", V) }, M < 1.', {("c", "")}),
    "in another relation": (
        TOTAL + 'total(S) :- S = sum V : { planned(_, "size", V) }.\ndeny("c", "", "m") :- total(S), S > 1.',
        {("total", "")},
    ),
    "in a relation that nobody asks": (
        TOTAL + 'total(S) :- S = sum V : { planned(_, "size", V) }.\ndeny("c", "", "m") :- plan_mode("destroy").',
        set(),
    ),
    "where something else does not hold": (
        'deny("c", A, "m") :- planned(A, "size", V), V > 10, action(A, "delete").',
        set(),
    ),
    "two that follow": ('deny("c", A, "m") :- planned(A, "size", V), V > 10, V < 100.', {("c", "a")}),
    "one that follows and does not hold": (
        'deny("c", A, "m") :- planned(A, "size", V), V > 10, planned(A, "ram", W), W > 100.',
        set(),
    ),
    "two of several that follow": (
        'deny("c", A, "m") :- planned(A, "size", V), V > 10, planned(A, "ram", W), W > 100, V < 30.',
        set(),
    ),
    "a conversion that follows": (
        'deny("c", A, "m" ++ N) :- planned(A, "size", V), V > 10, N = to_number(V), N > 100.',
        {("c", "a")},
    ),
    "a conversion that follows and does not hold": (
        'deny("c", A, "m" ++ N) :- planned(A, "cost", V), V > 10, N = to_number(V), N > 100.',
        {("c", "c")},
    ),
    "values at all paths": ('deny("c", A, "m") :- big(A, _).', set()),
}
BIG = '/// big(a, v): is. Example: big("a", 1)\n.decl big(a: address, v: any)\nbig(A, V) :- planned(A, P, V), V > 20.\n'


@pytest.mark.parametrize("name", RULES)
def test_what_has_no_value_is_broken(name: str) -> None:
    rules, expected = RULES[name]
    policies, problems = load_policies((("p.dl", (BIG if "big(" in rules else "") + rules),))
    assert policies is not None, problems
    changes = [(a, "t", a, "", "p", "managed") for a in "abc"]
    facts = FactBase.build({"planned": PLANNED, "change": changes, "action": [(a, "create") for a in "abc"]})
    broken = policies.modal.broken
    assert bool(broken) or not expected
    found = evaluate(policies.modal_program, facts)[broken] if broken else ()
    assert {row[:2] for row in found} == expected


def test_what_is_not_known_yet_is_not_broken() -> None:
    text = 'deny("c", "", "m") :- M = min V : { planned(_, "size", V) }, M > 10.'
    policies, _ = load_policies((("p.dl", text),))
    assert policies is not None
    facts = FactBase.build({"maybe": [("a", "size", "size."), ("a", "size", "size[")], "maybe_exact": [("a", "size")]})
    database = evaluate(policies.modal_program, facts)
    assert not database[policies.modal.broken] and database[policies.could["deny"]]
