"""What rules mean, one feature at a time; large comparisons are in tests/differential."""

from __future__ import annotations

import gc
from typing import Any

import pytest
from datalog.naive_evaluator import evaluate_naively
from engine_helpers import derived, plain, program

from planner.foundation.vocabulary.diagnostic import Failure
from planner.logic.datalog.engine.evaluate import evaluate
from planner.logic.datalog.engine.fact_base import FactBase, FactBuilder
from planner.logic.datalog.language.values import FALSE, TRUE, Fraction
from planner.logic.datalog.tools.describe import predicate_statistics, rule_statistics

BASE = """
/// edge
.decl edge(a: symbol, b: symbol)
/// size
.decl size(a: symbol, n: number)
/// value
.decl value(a: symbol, v: any)
.input edge, size, value
/// out
.decl out(a: any)
/// pair
.decl pair(a: any, b: any)
.output out, pair
"""
FACTS: dict[str, Any] = {
    "edge": [("a", "b"), ("b", "c"), ("c", "a"), ("c", "d"), ("d", "d")],
    "size": [("a", 3), ("b", 7), ("c", -7), ("d", 0)],
    "value": [("a", 1), ("a", True), ("a", 1.0), ("a", "1"), ("b", False), ("b", 0), ("c", 0.5)],
}


@pytest.mark.parametrize(
    ("rules", "expected"),
    [
        ("out(A) :- edge(A, A).", {"d"}),
        ('out(B) :- edge("c", B).', {"a", "d"}),
        ("out(A) :- edge(A, _), not edge(_, A).", set()),
        ("out(A) :- edge(_, A), not edge(A, _).", set()),
        ("out(A) :- edge(A, B), edge(B, C), edge(C, A), A != B.", {"a", "b", "c"}),
        ('out("x") :- not edge("x", _).', {"x"}),
        ('out("x") :- edge(_, _).', {"x"}),
        ('out("x").', {"x"}),
        ('out("x") :- 1 < 2.', {"x"}),
        ('out("x") :- 2 < 1.', set()),
        ("out(A) :- size(A, N), N > 0.", {"a", "b"}),
        ("out(M) :- size(A, N), M = N * 2 + 1.", {7, 15, -13, 1}),
        ("out(M) :- size(A, N), M + 0 = 3, M = N.", {3}),
        ("out(M) :- size(_, N), M = N / 2.", {1, 3, -3, 0}),
        ("out(M) :- size(_, N), M = N % 2.", {1, -1, 0}),
        ("out(M) :- size(_, N), M = 21 / N.", {7, 3, -3}),
        ("out(A ++ N) :- size(A, N).", {"a3", "b7", "c-7", "d0"}),
        ('out(X) :- edge(A, B), X = A ++ "->" ++ B, starts_with(X, "c").', {"c->a", "c->d"}),
        ('out(A) :- edge(A, B), matches(A ++ B, "^[ab]{2}$").', {"a"}),
        ('out(A) :- edge(A, _), not matches(A, "[ab]").', {"c", "d"}),
        ('out(A) :- edge(A, _), P = "^" ++ A ++ "$", matches(A, P).', {"a", "b", "c", "d"}),
        ('out(A) :- edge(A, _), P = A ++ "(", matches(A, P).', set()),
        ('out(X) :- X = before("a.b.c", ".").', {"a"}),
        ('out(X) :- X = after("a.b.c", ".").', {"b.c"}),
        ('out(X) :- X = before_last("a.b.c", ".").', {"a.b"}),
        ('out(X) :- X = after_last("a.b.c", ".").', {"c"}),
        ('out(X) :- X = before("abc", ".").', set()),
        ('out(X) :- X = trim_prefix("a.b", "a.") ++ trim_suffix("c.d", ".x").', {"bc.d"}),
        ('out(X) :- X = replace("a.b.c", ".", "/").', {"a/b/c"}),
        ('out(X) :- X = substring("abcdef", 2, 3) ++ upper("x") ++ lower("Y").', {"cdeXy"}),
        ('out(X) :- X = length("é😀").', {2}),
        ('out(X) :- X = to_number("-12").', {-12}),
        ('out(X) :- X = to_number("twelve").', set()),
        ('out(X) :- X = to_number("²").', set()),
        ("out(X) :- X = to_symbol(12).", {"12"}),
        ("out(N) :- N = count : { edge(_, _) }.", {5}),
        ('out(N) :- N = count : { edge("x", _) }.', {0}),
        ("out(N) :- N = sum M : { size(_, M) }.", {3}),
        ("out(N) :- N = min M : { size(_, M) }.", {-7}),
        ("out(N) :- N = max A : { edge(A, _) }.", {"d"}),
        ("out(N) :- N = min M : { size(_, M), M > 100 }.", set()),
        ("out(N) :- N = sum M : { size(_, M), M > 100 }.", {0}),
        ('out(N) :- size(_, N), N = count : { edge("b", _) }.', set()),
        ("out(N) :- N = count : { edge(A, _), not edge(A, A) }.", {4}),
        ("out(N) :- N = sum M * K : { size(_, M), K = M + 1, M > 0 }.", {68}),
    ],
)
def test_one_column(rules: str, expected: set[Any]) -> None:
    text = BASE + rules
    assert plain(derived(text, FACTS)["out"]) == {(x,) for x in expected}
    loaded = program(text)
    assert plain(evaluate_naively(loaded, FactBase.build(FACTS))["out"]) == {(x,) for x in expected}


def test_aggregates_by_group() -> None:
    database = derived(BASE + "pair(A, N) :- size(A, _), N = count : { edge(A, B), B != A }.", FACTS)
    assert database["pair"] == {("a", 1), ("b", 1), ("c", 2), ("d", 0)}


def test_aggregates_range_over_assignments_not_values() -> None:
    rules = "pair(A, N) :- edge(A, _), N = sum M : { edge(A, B), size(B, M) }."
    facts = {"edge": [("x", "a"), ("x", "b"), ("y", "a")], "size": [("a", 5), ("b", 5)]}
    assert derived(BASE + rules, facts)["pair"] == {("x", 10), ("y", 5)}


def test_two_aggregates_may_use_one_name_for_their_locals() -> None:
    rules = "pair(N, M) :- N = count : { edge(X, _) }, M = count : { size(_, X) }."
    assert derived(BASE + rules, FACTS)["pair"] == {(5, 4)}


def test_values_that_python_holds_for_equal_stay_apart() -> None:
    database = derived(BASE + "out(V) :- value(_, V).", FACTS)
    assert database["out"] == {(1,), (TRUE,), (Fraction(1.0),), ("1",), (FALSE,), (0,), (Fraction(0.5),)}
    for constant, row in [("1", (1,)), ("true", (TRUE,)), ("1.0", (Fraction(1.0),)), ('"1"', ("1",))]:
        assert derived(BASE + f"out(V) :- value(_, V), V = {constant}.", FACTS)["out"] == {row}
        assert derived(BASE + f"pair(A, {constant}) :- value(A, {constant}).", FACTS)["pair"] == {("a", *row)}


def test_values_of_any_type_compare_with_their_like_only() -> None:
    database = derived(BASE + "out(V) :- value(_, V), V < 1.", FACTS)
    assert database["out"] == {(0,), (Fraction(0.5),)}
    assert derived(BASE + 'out(V) :- value(_, V), V < "2".', FACTS)["out"] == {("1",)}


def test_any_becomes_a_number_behind_a_test() -> None:
    rules = (
        "size_of(A, V) :- value(A, V), is_number(V).\n/// size_of\n.decl size_of(a: symbol, n: number)\n.output size_of"
    )
    assert derived(BASE + rules, FACTS)["size_of"] == {
        ("a", 1),
        ("a", Fraction("1.0")),
        ("b", 0),
        ("c", Fraction("0.5")),
    }


RECURSIVE = """
/// path
.decl path(a: symbol, b: symbol)
.output path
path(A, B) :- edge(A, B).
"""


@pytest.mark.parametrize(
    "step",
    [
        "path(A, C) :- path(A, B), edge(B, C).",
        "path(A, C) :- edge(A, B), path(B, C).",
        "path(A, C) :- path(A, B), path(B, C).",
    ],
)
def test_recursion_however_written(step: str) -> None:
    database = derived(BASE + RECURSIVE + step, FACTS)
    assert database["path"] == {(a, b) for a in "abc" for b in "abcd"} | {("d", "d")}


def test_mutual_recursion() -> None:
    rules = """
    /// even
    .decl even(a: symbol)
    /// odd
    .decl odd(a: symbol)
    .output even
    even("a"). odd(B) :- even(A), edge(A, B). even(B) :- odd(A), edge(A, B).
    """
    facts = {"edge": [("a", "b"), ("b", "c"), ("c", "d")]}
    database = derived(BASE + rules, facts)
    assert database["even"] == {("a",), ("c",)}
    assert database["odd"] == {("b",), ("d",)}
    assert [len(rows) for rows in database.rounds["even"]] == [1, 0, 1, 0, 0]


def test_facts_for_derived_predicates_hold_beside_what_is_derived() -> None:
    facts = {"edge": [("a", "b")], "path": [("b", "z")]}
    database = derived(BASE + RECURSIVE + "path(A, C) :- edge(A, B), path(B, C).", facts)
    assert database["path"] == {("a", "b"), ("b", "z"), ("a", "z")}


@pytest.mark.parametrize(
    ("body", "rows"),
    [
        ("edge(A, B)", {("a", "b"), ("b", "c")}),
        ("edge(A, B), A != B", {("a", "b"), ("b", "c")}),
        ("edge(A, B), not size(A, 0)", {("a", "b"), ("b", "c")}),
        ('edge(A, B), A != "a"', {("b", "c")}),
        ("edge(A, B), not size(_, _)", set()),
        ("edge(A, B), not value(_, _)", {("a", "b"), ("b", "c")}),
    ],
)
def test_rows_taken_as_they_are_leave_the_relation_they_come_from_alone(body: str, rows: set[Any]) -> None:
    """Before and after such a rule others may give nothing, or more."""
    none, more = "pair(A, B) :- value(A, B).\n", "pair(B, A) :- edge(A, B).\n"
    facts: dict[str, Any] = {"edge": [("a", "b"), ("b", "c")], "size": [("z", 1)]}
    for rules, expected in (
        (f"pair(A, B) :- {body}.\n", rows),
        (f"{none}pair(A, B) :- {body}.\n{none}{more}", rows | {("b", "a"), ("c", "b")}),
        (f"{more}pair(A, B) :- {body}.\n", rows | {("b", "a"), ("c", "b")}),
    ):
        database = derived(BASE + rules, facts)
        assert plain(database["pair"]) == expected
        assert database["edge"] == {("a", "b"), ("b", "c")}


def test_only_what_is_wanted_is_derived() -> None:
    database = derived(BASE + RECURSIVE + "out(A) :- size(A, _).", FACTS, want=["out"])
    assert set(database) == {"size", "out"}
    with pytest.raises(KeyError):
        database["path"]
    with pytest.raises(KeyError):
        derived(BASE, FACTS, want=["nothing"])


def test_facts_are_left_as_they_are_and_may_be_used_again() -> None:
    builder = FactBuilder()
    builder.add("edge", "a", "b", source="first")
    builder.add("edge", "a", "b", source="second")
    builder.add("edge", "b", "c")
    facts = builder.build()
    loaded = program(BASE + RECURSIVE + "path(A, C) :- path(A, B), edge(B, C).")
    first = evaluate(loaded, facts)
    assert evaluate(loaded, facts)["path"] == first["path"]
    assert facts.relation("edge") == {("a", "b"), ("b", "c")}
    assert facts.source("edge", ("a", "b")) == "first"
    assert facts.source("edge", ("b", "c")) is None
    more = FactBuilder(facts)
    more.add("edge", "c", "d")
    assert len(more.build()) == 3
    assert len(facts) == 2
    assert facts.predicates == ["edge"]


@pytest.mark.parametrize(
    ("facts", "message"),
    [
        ({"edge": [("a",)]}, r"edge\('a',\) does not match edge"),
        ({"edge": [("a", 1)]}, "1 in the column b does not match edge"),
        ({"size": [("a", True)]}, "true in the column n does not match size"),
    ],
)
def test_facts_that_do_not_fit_are_refused(facts: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        derived(BASE + "out(A) :- edge(A, _).\npair(A, N) :- size(A, N).", facts)


DEMAND = """
.decl walk(name: symbol)  .input walk
.decl node(name: symbol, kind: symbol)  .input node
.decl far(a: symbol)  far(N) :- node(N, "far").
.decl spare(a: symbol)  spare(N) :- node(N, _).
.decl way(a: symbol)  way(N) :- spare(N), walk("apply").
.decl kind(a: symbol, b: symbol)  kind(N, "near") :- node(N, _).
.decl near(a: symbol)  near(N) :- kind(N, "near").
.decl none(a: symbol)  none(N) :- kind(N, "far").
.decl goal(a: symbol)  .output goal
goal(N) :- near(N), not far(N).
goal(N) :- way(N).
goal(N) :- none(N).
"""


def test_only_what_can_come_to_something_is_derived_and_the_rest_when_it_is_asked_for() -> None:
    text = "\n".join(line.replace(".decl", "/// d\n.decl") for line in DEMAND.splitlines())
    loaded = program(text.replace("  ", "\n"))
    facts = FactBase.build({"walk": [("plan",)], "node": [("a", "x"), ("b", "far")]})
    database = evaluate(loaded, facts, ["goal"], let_go=True)
    assert set(database["goal"]) == {("a",)}
    evaluated = {loaded.rules[number].head.predicate for number in database.seconds}
    assert evaluated == {"goal", "near", "kind", "far"}  # nobody applies, and no rule gives a kind "far"
    assert set(database["spare"]) == {("a",), ("b",)}
    assert {name: len(rows) for name, rows in database.items()} == {
        "walk": 1,
        "node": 2,
        "far": 1,
        "spare": 2,
        "way": 0,
        "kind": 2,
        "near": 2,
        "none": 0,
        "goal": 1,
    }


def test_what_was_given_for_a_derived_predicate_is_not_all_of_it() -> None:
    text = (
        BASE
        + "/// d\n.decl more(a: symbol)\nmore(A) :- edge(A, _).\n"
        + "/// d\n.decl last(a: symbol)\nlast(A) :- more(A), size(A, _).\n"
        + "out(A) :- edge(A, _).\nout(A) :- last(A).\n"
    )
    loaded = program(text)
    facts = FactBase.build({"edge": [("a", "b"), ("b", "c")], "more": [("x",)]})
    for wanted in ("out", "last", "more"):
        database = evaluate(loaded, facts, [wanted, "out"], let_go=True)
        assert set(database["more"]) == {("a",), ("b",), ("x",)}
        assert set(database["last"]) == set()


@pytest.mark.parametrize(("joins", "tests"), [(3, 3), (14, 1), (15, 1), (16, 1), (25, 0), (30, 10)])
def test_rules_may_be_as_deep_as_one_likes(joins: int, tests: int) -> None:
    body = [f"edge(A{n}, A{n + 1})" for n in range(joins)] + [f'A0 != "{n}"' for n in range(tests)]
    text = BASE + f"out(A0) :- {', '.join(body)}.\n"
    assert plain(derived(text, {"edge": [("a", "b"), ("b", "a"), ("b", "c")]})["out"]) == {("a",), ("b",)}


@pytest.mark.parametrize("value", [None, [], {}, float("nan"), b"x"])
def test_what_is_no_value_is_refused(value: Any) -> None:
    with pytest.raises(TypeError, match="cannot be stored in a column"):
        FactBuilder().add("edge", value)


def test_values_that_grow_beyond_all_bounds_are_refused() -> None:
    doubling = "".join(f"/// d\n.decl d{i}(a: symbol)\n.output d{i}\n" for i in range(30))
    doubling += 'd0("x").' + "".join(f"d{i + 1}(X) :- d{i}(Y), Z = Y, X = Y ++ Z." for i in range(29))
    with pytest.raises(Failure, match="Computed value too large"):
        derived(doubling, {})
    squaring = "".join(f"/// d\n.decl d{i}(a: number)\n.output d{i}\n" for i in range(30))
    squaring += "d0(3)." + "".join(f"d{i + 1}(X) :- d{i}(Y), X = Y * Y." for i in range(29))
    with pytest.raises(Failure, match="Computed value too large"):
        derived(squaring, {})


def test_collecting_garbage_goes_on_afterwards() -> None:
    assert gc.isenabled()
    derived(BASE + "out(A) :- edge(A, _).", FACTS)
    assert gc.isenabled()
    with pytest.raises(ValueError, match="does not match"):
        derived(BASE + "out(A) :- edge(A, _).", {"edge": [("a",)]})
    assert gc.isenabled()


def test_sorted_rows_have_one_order() -> None:
    database = derived(BASE + "out(V) :- value(_, V).", FACTS)
    assert database.sorted("out") == [(FALSE,), (TRUE,), (0,), (Fraction(0.5),), (1,), (Fraction(1.0),), ("1",)]


def test_statistics() -> None:
    database = derived(BASE + RECURSIVE + "path(A, C) :- path(A, B), edge(B, C).", FACTS)
    by_name = {s.name: s for s in predicate_statistics(database)}
    assert by_name["path"].rows == 13
    assert by_name["path"].rounds == 4
    assert by_name["edge"].rounds == 0
    assert by_name["path"].seconds > 0
    rules = {s.rule.name: s for s in rule_statistics(database)}
    assert rules["rules.1"].produced == 5
    assert rules["rules.2"].produced >= 8


NUMBERS = """
/// measure
.decl measure(a: symbol, v: any)
.input measure
/// out
.decl out(v: any)
.output out
"""


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ("V = 0.1 + 0.2", Fraction("0.3")),
        ("V = 1.5 + 1.5", 3),
        ("V = 3 - 0.25", Fraction("2.75")),
        ("V = 0.1 * 10", 1),
        ("V = 7 / 2", 3),
        ("V = 7.5 / 2", Fraction("3.75")),
        ("V = -7.5 % 2", Fraction("-1.5")),
        ("V = 12345678901234567890.000000001 * 3", Fraction("37037036703703703670.000000003")),
        ('V = to_number("70.50")', Fraction("70.5")),
        ('V = to_number("-2.5e3")', -2500),
        ('V = to_number("1.0")', 1),
        ('V = "costs " ++ 70.5', "costs 70.5"),
        ('V = sum N : { measure("a", N) }', Fraction("70.8")),
        ('V = min N : { measure("a", N) }', Fraction("0.1")),
        ('V = max N : { measure("a", N) }', Fraction("70.5")),
        ('V = sum N : { measure("whole", N) }', 3),
        ("V = count : { measure(_, N), is_number(N) }", 5),
        ('measure("a", V), V > 70', Fraction("70.5")),
        ('measure("a", V), V <= 0.1', Fraction("0.1")),
        ('V = cidr_prefix("10.1.2.3/8")', 8),
        ('V = cidr_addresses("0::/1")', 2**127),
        ('V = cidr_addresses("10.0.0.1")', 1),
        ('V = 1, cidr_contains("10.0.0.0/8", "10.9.0.0/16"), not cidr_contains("10.0.0.0/8", "0.0.0.0/0")', 1),
        ('V = 1, cidr_contains("0::/0", "::1"), not cidr_contains("::/0", "10.0.0.0/8")', 1),
        ('V = 1, cidr_overlaps("10.0.0.0/8", "0.0.0.0/1"), not cidr_overlaps("10.0.0.0/8", "128.0.0.0/1")', 1),
        ('V = 1, is_cidr("10.0.0.0/8"), not is_cidr("Internet"), not is_cidr("10.0.0.0/33")', 1),
        ('measure("b", N), incomparable(N, 1), V = "text"', "text"),
        ('measure("b", N), undefined(to_number(N) + 1), V = "text"', "text"),
    ],
)
def test_numbers_are_exact_decimals(body: str, expected: object) -> None:
    facts = {"measure": [("a", 70.5), ("a", 0.2), ("a", 0.1), ("whole", 0.5), ("whole", 2.5), ("b", "x")]}
    assert derived(NUMBERS + f"out(V) :- {body}.", facts)["out"] == {(expected,)}
    loaded = program(NUMBERS + f"out(V) :- {body}.")
    assert evaluate_naively(loaded, FactBase.build(facts))["out"] == {(expected,)}


@pytest.mark.parametrize(
    "body",
    [
        'V = to_number("1,5")',
        'V = to_number("0x10")',
        "V = 1.5 / 0",
        'T = "Internet", V = cidr_prefix(T)',
        "V = sum N : { measure(_, N) }",
        'V = "a" + 1.5',
    ],
)
def test_computations_without_a_value(body: str) -> None:
    facts = {"measure": [("a", 70.5), ("b", "x")]}
    if "+" in body:
        body = 'measure("b", N), V = N + 1.5'
    assert derived(NUMBERS + f"out(V) :- {body}.", facts)["out"] == set()
