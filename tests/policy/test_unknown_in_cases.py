"""Cases of policies in which values are not known."""

from __future__ import annotations

from pathlib import Path

import pytest

from planner.operations.rule_tests import run_tests

RULES = """
deny("owner", A, "has no owner") :- change(A, _, _, _, _, _), not planned(A, "tags.Owner", _).
deny("open", A, "is open") :- planned(A, "port", 22).
"""
KNOWN = '.case "known"\nchange("b", "t", "b", "", "p", "managed"). planned("b", "tags.Owner", "x").\n.want none deny.\n'
DENIED = '.case "denied"\nchange("b", "t", "b", "", "p", "managed"). planned("b", "port", 22).\n'
DENIED += '.want deny("owner", "b", "has no owner"), deny("open", "b", "is open").\n'


@pytest.mark.slow
@pytest.mark.parametrize(
    ("facts", "wanted", "holds"),
    [
        # what is not known neither passes nor fails
        ('unknown_after("a", "tags").', '.want none deny. .want unsettled("owner", "a").', True),
        ('unknown_after("a", "tags.Owner").', '.want none deny. .want unsettled("owner", "a").', True),
        ('unknown_after("a", "tags.Team").', '.want deny("owner", "a", "has no owner"). .want none unsettled.', True),
        ('planned("a", "tags.Owner", "x"). unknown_after("a", "port").', '.want unsettled("open", "a").', True),
        ('planned("a", "tags.Owner", "x"). unknown_after("a", "port").', ".want none unsettled.", False),
        ('unknown_after("a", "tags").', '.want deny("owner", "a", "has no owner").', False),
    ],
)
def test_unknown_values(tmp_path: Path, facts: str, wanted: str, holds: bool) -> None:
    (tmp_path / "house.dl").write_text(RULES)
    case = f'.case "unknown"\nchange("a", "t", "a", "", "p", "managed"). {facts}\n{wanted}\n'
    (tmp_path / "house.case").write_text(KNOWN + DENIED + case)
    tested = run_tests([str(tmp_path)])
    assert tested.diagnostics == []
    (outcomes,) = tested.outcomes.values()
    assert [outcome.holds for outcome in outcomes] == [True, True, holds]


@pytest.mark.slow
def test_a_denial_that_is_found_by_cases_is_wanted_of_its_rule(tmp_path: Path) -> None:
    (tmp_path / "ranges.dl").write_text(
        '/// inside(range): a range of ours. Example: inside("10.0.0.0/8")\n.decl inside(range: text)\n'
        'inside(C) :- planned(_, _, C), is_symbol(C), is_cidr(C), cidr_contains("10.0.0.0/8", C).\n'
        'deny("open", A, "opens " ++ C) :- planned(A, "cidr", C), is_symbol(C), is_cidr(C), not inside(C).\n'
    )
    (tmp_path / "ranges.case").write_text(
        '.case "denied, whatever else is not known"\nplanned("a", "cidr", "0.0.0.0/0"). unknown_after("b", "cidr").\n'
        '.want deny("open", "a", "opens 0.0.0.0/0"). .want unsettled("open", "b").\n'
        '.case "ours"\nplanned("a", "cidr", "10.1.0.0/16").\n.want none deny.\n'
    )
    tested = run_tests([str(tmp_path)])
    assert tested.diagnostics == []
    assert all(outcome.holds for outcomes in tested.outcomes.values() for outcome in outcomes)
