"""The rules that derive each row of a relation."""

from __future__ import annotations

import pytest
from engine_helpers import derived

from planner.logic.datalog.engine.evaluate import evaluate
from planner.logic.datalog.engine.fact_base import FactBase
from planner.logic.datalog.explain import deriving_rules
from planner.logic.datalog.explain.deriving_rules import makers, relations_read

RULES = """
/// mention
.decl mention(a: symbol, b: symbol, path: symbol)
/// order
.decl order(a: symbol, b: symbol, by: symbol)
/// kind
.decl kind(a: symbol, kind: symbol)
/// cut
.decl cut(a: symbol)
.input mention, order, kind, cut
/// link
.decl link(a: symbol, b: symbol)
/// edge
.decl edge(a: symbol, b: symbol)
.output edge
@name("mentions") @reason("{A} mentions {B} in {P}, 100%")
link(A, B) :- mention(A, B, P).
@name("ordered") @reason("{A} is a {K} and comes after {B}")
link(A, B) :- order(A, B, _), kind(A, K).
@name("special") @reason("{A} is special")
link(A, B) :- order(A, B, _), kind(A, "special").
@name("passes")
edge(A, B) :- link(A, B), not cut(A).
@name("root") @reason("nothing waits for {B}")
edge("root", B) :- link(B, _), not link(_, B).
"""
FACTS = {
    "mention": [("a", "b", "x"), ("a", "b", "w"), ("b", "c", "y"), ("d", "c", "z")],
    "order": [("a", "b", "r"), ("a", "c", "r"), ("e", "c", "r")],
    "kind": [("a", "thing"), ("e", "special")],
    "cut": [("d",)],
    "link": [("b", "c"), ("c", "f")],
}


def test_each_rule_that_derives_a_row_is_returned_with_its_values() -> None:
    database = derived(RULES, FACTS)
    rows = makers(database.program, database, "edge", database["edge"])
    assert {row: [(maker.rule, maker.reason) for maker in those] for row, those in rows.items()} == {
        ("a", "b"): [("mentions", "a mentions b in w, 100%"), ("ordered", "a is a thing and comes after b")],
        ("a", "c"): [("ordered", "a is a thing and comes after c")],
        ("b", "c"): [("mentions", "b mentions c in y, 100%")],
        ("e", "c"): [("ordered", "e is a special and comes after c"), ("special", "e is special")],
        ("root", "a"): [("root", "nothing waits for a")],
        ("root", "d"): [("root", "nothing waits for d")],
        ("root", "e"): [("root", "nothing waits for e")],
    }
    assert ("c", "f") in database["edge"] and ("d", "c") not in database["edge"]


def test_only_the_wanted_rows_are_returned(monkeypatch: pytest.MonkeyPatch) -> None:
    database = derived(RULES, FACTS)
    with monkeypatch.context() as patch:
        patch.setattr(deriving_rules, "_FEW", 0)  # rules read all rows of other relations
        whole = makers(database.program, database, "edge", database["edge"])
    assert makers(database.program, database, "edge", database["edge"]) == whole
    for row in database["edge"]:
        assert makers(database.program, database, "edge", {row}) == ({row: whole[row]} if row in whole else {})


def test_only_relations_of_rules_that_the_facts_may_fit_are_read() -> None:
    program = derived(RULES, FACTS).program
    facts = FactBase.build({name: rows for name, rows in FACTS.items() if name not in ("order", "kind")})
    read = relations_read(program, facts, "edge")
    assert not {"order", "kind"} & {*read}
    assert {"order", "kind"} < {*relations_read(program, FactBase.build(FACTS), "edge")}
    whole = evaluate(program, facts)
    sparing = evaluate(program, facts, ["edge", *read], let_go=True)
    assert makers(program, sparing, "edge", whole["edge"]) == makers(program, whole, "edge", whole["edge"])
