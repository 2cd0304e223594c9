"""Which policies need no trying out: those that can only take as long as there is much to judge."""

from __future__ import annotations

import pytest

from planner.answers.policy.bounded_cost import is_tame
from planner.answers.policy.program import load_policies

DECLARED = """
/// listed(type): one of a few. Example: listed("a_b")
.decl listed(type: word)
listed("a_b").
/// other(type): one of a few. Example: other("a_b")
.decl other(type: text)
other("a_b").
/// near(addr, other): somehow near. Example: near("a.b", "a.c")
.decl near(addr: instance, other: instance)
"""
TAME = (
    'deny("x", A, T ++ "") :- change(A, K, _, _, _, _), listed(K), other(T), P = "t." ++ T, not planned(A, P, _).',
    'deny("x", A, P ++ "") :- part(A, "rule", _, I), L = I ++ ".c", part(A, L, _, P), planned(A, P, "x").',
    'deny("x", A, P ++ "") :- planned(A, P, "x").',
    'deny("x", "", "many") :- N = count : { action(_, "delete") }, N > 3.',
)
WILD = (
    'deny("x", A, P ++ Q) :- planned(A, P, V), planned(A, Q, V).',
    'deny("x", A, "is") :- planned(A, "a", V), planned(B, "a", V), A != B.',
    'deny("x", A, "is") :- action(A, "create"), depends(A, B), depends(B, C), action(C, "delete").',
    'near(A, B) :- depends(A, B).\nnear(A, C) :- near(A, B), near(B, C).\ndeny("x", A, "is") :- near(A, A).',
    'deny("x", "", "many") :- N = count : { planned(A, P, V), planned(B, P, V) }, N > 3.',
)


@pytest.mark.parametrize(("rules", "tame"), [*((rules, True) for rules in TAME), *((rules, False) for rules in WILD)])
def test_tame(rules: str, tame: bool) -> None:
    policies, problems = load_policies((("rules.dl", f"{DECLARED}{rules}\n"),))
    assert policies is not None, problems
    assert is_tame(policies.program.rules) is tame
