"""What cases exercise, and which mistakes they notice."""

from __future__ import annotations

import pytest

from planner.logic.datalog.engine.cache import load_program
from planner.logic.datalog.engine.program import RuleProgram
from planner.logic.datalog.tools.cases import Case, load_cases
from planner.logic.datalog.tools.coverage import Mutant, coverage, mutants

DECLARED = """
/// size(x, n): a size.
.decl size(x: symbol, n: number)
/// kept(x): is kept.
.decl kept(x: symbol)
/// deny(x): is denied.
.decl deny(x: symbol)
.input size, kept
.output deny
"""
RULE = '@name("r")\ndeny(X) :- size(X, N), N > 10, not kept(X), X != "free".\n'


def program(rule: str = RULE) -> RuleProgram:
    loaded, problems = load_program([("rules.dl", DECLARED + rule)])
    assert loaded is not None, problems
    return loaded


def cases(loaded: RuleProgram, text: str) -> list[Case]:
    found, problems = load_cases(loaded, "rules.case", text)
    assert not problems
    return found


GOOD = """
size("a", 11). size("b", 10). size("c", 12). kept("c"). size("free", 20).
.case "all at once"
.want deny("a").
"""
POOR = """
.case "one"
size("a", 20).
.want deny("a").
"""


@pytest.mark.parametrize(
    ("text", "held", "failed"),
    [
        (GOOD, [True, True, True, True], [False, True, True, True]),
        (POOR, [True, True, True, True], [False, False, False, False]),
        ('.case "none"\nsize("a", 1).\n.want none deny.', [True, False, False, False], [False, True, False, False]),
    ],
)
def test_coverage(text: str, held: list[bool], failed: list[bool]) -> None:
    loaded = program()
    (found,) = coverage(loaded, cases(loaded, text), loaded.rules)
    assert [x.held for x in found.literals] == held
    assert [x.failed for x in found.literals] == failed
    assert found.fired == all(held)
    assert [x.chooses for x in found.literals] == [False, True, True, True] and found.ways == 7


def alive(text: str) -> list[str]:
    """The mutants that cases do not notice."""
    from planner.logic.datalog.tools.cases import run_case

    def noticed(mutant: Mutant) -> bool:
        loaded, _ = load_program([("rules.dl", mutant.of(DECLARED + RULE))])
        return loaded is None or any(run_case(loaded, case) for case in cases(loaded, text))

    return [mutant.what for mutant in mutants(program().rules) if not noticed(mutant)]


def test_good_cases_notice_every_mistake() -> None:
    assert alive(GOOD) == []
    assert alive(POOR) == [
        "without N > 10",
        "N >= 10 instead of N > 10",
        "N > 11 instead of N > 10",
        "without not kept(X)",
        'without X != "free"',
        'X != "free?" instead of X != "free"',
    ]


@pytest.mark.parametrize(
    ("rule", "what"),
    [
        ('deny(X) :- size(X, 3).', ['size(X, 4) instead of size(X, 3)']),
        ('deny(X) :- size(X, _), starts_with(X, "a").',
         ['without size(X, _)', 'without starts_with(X, "a")',
          'starts_with(X, "a?") instead of starts_with(X, "a")']),
        ('deny(X) :- size(X, _), not starts_with(X, "a").',
         ['without size(X, _)', 'without not starts_with(X, "a")', 'without the not in not starts_with(X, "a")',
          'not starts_with(X, "a?") instead of not starts_with(X, "a")']),
        ('deny(X) :- size(X, N), M = N + 1, M <= 3.',
         ['without size(X, N)', 'without M = N + 1', 'without M <= 3', 'M < 3 instead of M <= 3',
          'M <= 4 instead of M <= 3']),
    ],
)  # fmt: skip
def test_mutants(rule: str, what: list[str]) -> None:
    assert [mutant.what for mutant in mutants(program(rule).rules)] == what
    for mutant in mutants(program(rule).rules):
        assert mutant.of(DECLARED + rule) != DECLARED + rule
