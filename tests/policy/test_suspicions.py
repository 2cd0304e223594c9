"""Rules of policies that can never derive anything are told, so that nobody takes their silence for a pass."""

from __future__ import annotations

import pytest

from planner.answers.policy.program import load_policies


@pytest.mark.parametrize(
    ("rule", "is_told"),
    [
        ('deny("x", A, "no") :- action(A, "delete"), edge(_, A).', True),
        ('deny("x", A, "no") :- action(A, "delete"), not edge(_, A).', True),
        ('deny("x", A, "no") :- action(A, "delete"), N = count : { edge(_, A) }, N > 1.', True),
        ('deny("x", A, "no") :- action(A, "delete"), instance_of(A, O), node(N, _, O), edge(_, N).', False),
        ('deny("x", A, "no") :- edge(A, B), edge(B, A).', False),
    ],
)
def test_instances_in_the_place_of_vertices(rule: str, is_told: bool) -> None:
    policies, problems = load_policies((("house.dl", rule),))
    assert policies is not None
    told = [p for p in problems if p.code == "policy.no_vertices"]
    assert bool(told) == is_told
    if told:
        assert told[0].subject is not None and told[0].subject.text.startswith("edge(")
        assert "A is a vertex in edge, but an instance in action" in told[0].detail
