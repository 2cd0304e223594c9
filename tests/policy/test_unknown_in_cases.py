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
