"""Three values: what policies say of a plan with unknown values agrees with every way in which they can turn out."""

from __future__ import annotations

from itertools import product
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from random_tests import examples
from thinned import thinned

from planner.answers.policy.facts.contents import maybe_rows
from planner.answers.policy.planned_values import ValueRows
from planner.answers.policy.program import Policies, load_policies
from planner.foundation.values.sets import make_set
from planner.foundation.values.types import DYNAMIC, NUMBER, STRING, ListType, MapType
from planner.foundation.values.value import NOT_NULL, List, Map, Null, Set, Unknown
from planner.language.syntax.rule_parse import parse_rules
from planner.language.syntax.rule_syntax import Directive, RuleSyntax
from planner.logic.datalog.engine.evaluate import evaluate
from planner.logic.datalog.engine.fact_base import FactBase

RULES = {
    "comparison": 'deny("c", A, "m") :- planned(A, "port", V), V > 22.',
    "equality": 'deny("c", A, "m") :- planned(A, "name", "x").',
    "absence": 'deny("c", A, "m") :- action(A, _), not planned(A, "name", _).',
    "absence of one value": 'deny("c", A, "m") :- action(A, _), not planned(A, "name", "x").',
    "absence below": 'deny("c", A, "m") :- action(A, _), not planned(A, "tags.Owner", _).',
    "absence at a computed path": """
        deny("c", A, "m") :- wanted(T), P = "tags." ++ T, action(A, _), not planned(A, P, _).""",
    "any path": 'deny("c", A, "m") :- planned(A, P, "x"), matches(P, "^tags\\\\.").',
    "any path with a test of its end": 'deny("c", A, "m") :- planned(A, P, "x"), ends_with(P, "Owner").',
    "any path that begins so": 'deny("c", A, "m") :- planned(A, P, "x"), starts_with(P, "na").',
    "a helper": """
        has(A, T) :- part(A, "tags", T, _).
        deny("c", A, "m") :- action(A, _), wanted(T), not has(A, T).""",
    "a helper that passes values on": """
        has(A, V) :- planned(A, "name", V).
        deny("c", A, "m") :- has(A, V), bad(V).
        deny("d", A, "m") :- has(A, V), not bad(V).""",
    "two helpers": """
        has(A, V) :- planned(A, "name", V).
        good(A) :- has(A, V), not bad(V).
        deny("c", A, "m") :- action(A, _), not good(A).""",
    "a join of two objects": 'deny("c", A, "m") :- planned(A, "name", V), planned(B, "name", V), A != B.',
    "a count": 'deny("c", "", "m") :- N = count : { planned(_, "name", "x") }, N > 1.',
    "a count for each": 'deny("c", A, "m") :- action(A, _), N = count : { planned(A, _, "x") }, N > 1.',
    "a sum": 'deny("c", "", "m") :- S = sum V : { planned(_, "port", V), is_number(V) }, S > 30.',
    "a count of helpers": """
        has(A, V) :- planned(A, "name", V).
        deny("c", "", "m") :- N = count : { has(_, V), not bad(V) }, N != 1.""",
    "a size": 'deny("c", A, "m") :- size_of(A, "list", N), N > 1.',
    "in JSON": 'deny("c", A, "m") :- json_value(A, "name", "a[0]", "x").',
    "not in JSON": 'deny("c", A, "m") :- action(A, _), not json_part(A, "name", "", "a", _).',
    "elements": 'deny("c", A, "m") :- part(A, "list", _, I), planned(A, I, "x").',
    "no element": """
        has(A) :- part(A, "list", _, I), planned(A, I, "x").
        deny("c", A, "m") :- action(A, _), not has(A).""",
    "a computed path below": 'deny("c", A, "m") :- part(A, "list", 0, I), B = I ++ "", planned(A, B, "x").',
    "both verdicts": """
        warn("w", A, "m") :- planned(A, "name", "x").
        deny("c", A, "m") :- warn(_, A, _), planned(A, "port", 22).""",
    "recursion": """
        near(A, B) :- planned(A, "name", B).
        near(A, C) :- near(A, B), planned(B, "name", C).
        deny("c", A, "m") :- near(A, "b").""",
    "a computed message": 'deny("c", A, "is " ++ V) :- planned(A, "name", V), L = lower(V), L != "y".',
    "helpers with many columns": """
        all(A, V, W, P, X) :- planned(A, "name", V), planned(A, "port", W), part(A, "list", _, P), planned(A, P, X).
        deny("c", A, "m") :- all(A, V, _, _, X), all(B, V, W, _, X), all(B, V, W, P, X), all(A, X, W, P, _).
        deny("d", A, "m") :- action(A, _), not all(A, "x", 22, _, _).""",
    "a document that helpers look into": """
        member(D, S) :- planned(_, "name", D), is_json(D), json_element(D, "", _, S).
        first(D, S) :- member(D, S), P = S ++ "[0]", json(D, P, "x").
        deny("c", A, "m") :-
            planned(A, "name", D), member(D, S), first(D, S), first(D, T), member(D, T), first(D, "a").""",
    "what the plan says of itself": 'deny("c", A, "m") :- unknown_after(A, "name"), planned(A, "port", _).',
}
DECLARATIONS = {
    "wanted": '/// wanted(t): a tag. Example: wanted("Owner")\n.decl wanted(t: symbol)\nwanted("Owner").',
    "bad": '/// bad(v): a value. Example: bad("x")\n.decl bad(v: any)\nbad("x"). bad(22).',
    "has(A, V)": '/// has(a, v): has it. Example: has("a", 1)\n.decl has(a: symbol, v: any)',
    "has(A, T)": '/// has(a, v): has it. Example: has("a", 1)\n.decl has(a: symbol, v: any)',
    "has(A) ": '/// has(a): has it. Example: has("a")\n.decl has(a: symbol)',
    "good": '/// good(a): is. Example: good("a")\n.decl good(a: symbol)',
    "all(A": '/// all(a, v, w, p, x): has it. Example: all("a", 1, 1, "p", 1)\n'
    ".decl all(a: symbol, v: any, w: any, p: any, x: any)",
    "member(D": '/// member(d, s): a part. Example: member("{}", "a")\n.decl member(d: any, s: symbol)',
    "first(D": '/// first(d, s): it begins so. Example: first("{}", "a")\n.decl first(d: any, s: symbol)',
    "near": '/// near(a, b): is. Example: near("a", "b")\n.decl near(a: symbol, b: any)',
}
LOADED: dict[str, Policies] = {}


def loaded(name: str) -> Policies:
    if name not in LOADED:
        rules = RULES[name]
        declared = dict.fromkeys(text for key, text in DECLARATIONS.items() if f"{key}(" in rules or key in rules)
        policies, problems = load_policies((("p.dl", "\n".join([*declared, rules])),))
        assert policies is not None, problems
        LOADED[name] = policies
    return LOADED[name]


TEXTS = ("x", "b", "yy", '{"a": ["x"]}', Null())
NUMBERS = (22, 23, Null())
MAPS = (Null(), Map(STRING, {}), Map(STRING, {"Owner": "x"}), Map(STRING, {"Other": "yy"}))
LISTS = (Null(), List(STRING, ()), List(STRING, ("x",)), List(STRING, ("yy", "x")))
OUTCOMES = {
    STRING: TEXTS,
    NUMBER: NUMBERS,
    MapType(STRING): MAPS,
    ListType(STRING): LISTS,
    DYNAMIC: ("x", 22, *MAPS[1:3]),
}
UNKNOWN_TEXT = Unknown(STRING)
SET = Set(STRING, ("x", UNKNOWN_TEXT, Unknown(STRING, NOT_NULL)))

objects = st.fixed_dictionaries(
    {
        "name": st.sampled_from([*TEXTS, UNKNOWN_TEXT, UNKNOWN_TEXT, Unknown(DYNAMIC)]),
        "port": st.sampled_from([*NUMBERS, Unknown(NUMBER)]),
        "tags": st.sampled_from(
            [
                *MAPS,
                Unknown(MapType(STRING)),
                Map(STRING, {"Owner": UNKNOWN_TEXT}),
                Map(STRING, {"Other": UNKNOWN_TEXT}),
            ]
        ),
        "list": st.sampled_from([*LISTS, Unknown(ListType(STRING)), List(STRING, (UNKNOWN_TEXT, "yy")), SET]),
    }
)


def outcomes(value: Any) -> list[Any]:
    """Every way in which the unknown parts of a value may turn out, in a small world."""
    if isinstance(value, Unknown):
        return list(OUTCOMES[value.type])
    if isinstance(value, dict):
        return [dict(zip(value, chosen, strict=True)) for chosen in product(*map(outcomes, value.values()))]
    if isinstance(value, Map):
        return [Map(value.element, made) for made in outcomes(value.items)]
    if isinstance(value, List):
        return [List(value.element, items) for items in product(*map(outcomes, value.items))]
    if isinstance(value, Set):
        known = [[x for x in outcomes(item) if not isinstance(x, Null)] for item in value.items]
        return [make_set(value.element, items) for items in product(*known)]
    return [value]


def facts(values: dict[str, Any], claims: FactBase | None = None) -> FactBase:
    rows = ValueRows()
    for address, value in values.items():
        rows.add_object(address, value)
    return FactBase.build(
        {
            "planned": rows.values,
            "size_of": rows.sizes,
            "part": rows.parts,
            # what the plan says of itself does not change when values become known
            "unknown_after": claims.relation("unknown_after") if claims is not None else rows.unknown,
            "maybe": maybe_rows(rows),
            "maybe_exact": rows.exact,
            "maybe_open": rows.open,
            "action": [(address, "create") for address in values],
        }
    )


def certain_and_possible(policies: Policies, base: FactBase) -> tuple[set[Any], set[Any]]:
    found = evaluate(policies.modal_program, base)
    could = policies.modal.could.get("deny")
    certain = {row[:2] for row in found["deny"]}
    return certain, certain | (set(found[could]) if could else set())


@pytest.mark.parametrize("name", thinned([*RULES], 2))
@settings(max_examples=examples(16))
@given(values=st.fixed_dictionaries({"a": objects, "b": objects}))
def test_every_outcome_agrees(name: str, values: dict[str, Any]) -> None:
    policies = loaded(name)
    if name == "a computed path below":  # it names the number of an element, which a set may change
        values = {a: {**v, "list": Null() if isinstance(v["list"], Set) else v["list"]} for a, v in values.items()}
    base = facts(values)
    certain, possible = certain_and_possible(policies, base)
    as_written = {row[:2] for row in evaluate(policies.program, base, ["deny"])["deny"]}
    assert certain <= as_written  # so that planner.answers.policy.two_valued has a proof for it
    for number, outcome in enumerate(outcomes(values)):
        if number % 7 and number > 60:
            continue  # enough of the many
        denied = {row[:2] for row in evaluate(policies.program, facts(outcome, base), ["deny"])["deny"]}
        assert certain <= denied, (certain - denied, outcome)
        assert denied <= possible, (denied - possible, outcome)


@pytest.mark.parametrize("name", RULES)
@settings(max_examples=10)
@given(values=st.fixed_dictionaries({"a": objects, "b": objects}))
def test_without_unknown_values_nothing_is_undecided(name: str, values: dict[str, Any]) -> None:
    policies = loaded(name)
    known = outcomes(values)[0]
    certain, possible = certain_and_possible(policies, facts(known))
    denied = {row[:2] for row in evaluate(policies.program, facts(known), ["deny"])["deny"]}
    assert certain == possible == denied


def test_what_cannot_be_met_is_not_undecided() -> None:
    """Unknown values elsewhere leave a policy alone."""
    unknown = {"name": UNKNOWN_TEXT, "port": 1, "tags": Null(), "list": Null()}
    for name in ("comparison", "any path", "any path with a test of its end", "a size", "elements"):
        assert certain_and_possible(loaded(name), facts({"a": unknown})) == (set(), set()), name
    below = (
        'deny("c", A, "m") :- planned(A, "name.x", _).\ndeny("c", A, "m") :- action(A, _), not planned(A, "port.x", _).'
    )
    policies, problems = load_policies((("p.dl", below),))
    assert policies is not None, problems
    text_and_number = {"name": UNKNOWN_TEXT, "port": Unknown(NUMBER), "tags": Null(), "list": Null()}
    found = certain_and_possible(policies, facts({"a": text_and_number}))
    assert found == ({("c", "a")}, {("c", "a")})  # neither has parts
    whole = {"name": "x", "port": 1, "tags": Unknown(MapType(STRING)), "list": Null()}
    assert certain_and_possible(loaded("any path that begins so"), facts({"a": {**whole, "name": "b"}})) == (
        set(),
        set(),
    )
    assert certain_and_possible(loaded("equality"), facts({"a": whole})) == ({("c", "a")}, {("c", "a")})


@pytest.mark.parametrize("name", RULES)
def test_what_is_made_is_what_its_text_says(name: str) -> None:
    """Nobody parses the rewritten rules, but whoever does gets the same."""
    file = loaded(name).modal.file
    read, problems = parse_rules(file.source.filename, file.source.text)
    assert problems == [] and len(read.statements) == len(file.statements)
    for made, parsed in zip(file.statements, read.statements, strict=True):
        assert said(made) == said(parsed)


def said(statement: Any) -> Any:
    if isinstance(statement, RuleSyntax):
        head, given = statement.head, [(key.text, value.value) for key, value in statement.annotations]
        return given, str(head), head.start, [*map(str, statement.body)], statement.span.text, statement.span.line
    if isinstance(statement, Directive):
        return statement.kind, [*map(str, statement.names)]
    columns = [(column.name, str(column.type)) for column in statement.columns]
    return str(statement.name), columns, statement.operator and str(statement.operator), statement.doc
