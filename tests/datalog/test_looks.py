"""Which values of a column can make a difference."""

from __future__ import annotations

import pytest

from planner.logic.datalog.engine.cache import load_program
from planner.logic.datalog.engine.program import UNSEEN, Look, RuleProgram

DECLARATIONS = """
/// fact(item, word): given.
.decl fact(item: symbol, word: symbol)
.input fact
/// other(word): given, too.
.decl other(word: symbol)
.input other
/// middle(item, word): on the way.
.decl middle(item: symbol, word: symbol)
/// result(item): asked for.
.decl result(item: symbol)
.output result
/// shown(word): asked for.
.decl shown(word: any)
.output shown
"""


def program(rules: str) -> RuleProgram:
    loaded, diagnostics = load_program([("a.dl", DECLARATIONS + rules)])
    assert loaded is not None, diagnostics
    return loaded


@pytest.mark.parametrize(
    ("rules", "look"),
    [
        ("result(I) :- fact(I, _).", UNSEEN),
        ("result(I) :- fact(I, _W).", UNSEEN),
        ("result(I) :- other(I), not fact(I, _).", UNSEEN),
        ('result(I) :- fact(I, "a").', Look(frozenset({"a"}))),
        ('result(I) :- other(I), not fact(I, "a").', Look(frozenset({"a"}))),
        ('result(I) :- fact(I, "a"). result(I) :- fact(I, "b").', Look(frozenset({"a", "b"}))),
        ("result(I) :- fact(I, W), other(W).", Look(compared=True)),
        ("result(I) :- fact(I, I).", Look(compared=True)),
        ('result(I) :- fact(I, W), starts_with(W, "a").', Look(compared=True)),
        ('result(I) :- fact(I, W), W != "a".', Look(compared=True)),
        ("result(I) :- other(I), N = count : { fact(I, _) }, N > 1.", Look(compared=True)),
        ("middle(I, W) :- fact(I, W). result(I) :- middle(I, _).", UNSEEN),
        ('middle(I, W) :- fact(I, W). result(I) :- middle(I, "a").', Look(frozenset({"a"}))),
        ("middle(I, W) :- fact(I, W). result(I) :- middle(I, W), other(W).", Look(compared=True)),
        ("shown(W) :- fact(_, W).", Look(shown=True)),
        ('shown(W ++ "x") :- fact(_, W).', Look(compared=True)),
        ("middle(I, W) :- fact(I, W). shown(W) :- middle(_, W).", Look(shown=True)),
    ],
)
def test_what_rules_look_at(rules: str, look: Look) -> None:
    assert program(rules).compiled.looks["fact"][1] == look


def test_a_native_operator_compares_whole_rows() -> None:
    native = "/// longer(a, b): native.\n.native longer(a: symbol, b: symbol) = closure(fact)\n.output longer\n"
    assert program(native).compiled.looks["fact"][1].compared
