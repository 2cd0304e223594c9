"""What the rules of rules/test say of problems and runs."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from typing import Any

from attrs import frozen

from planner.datalog.engine.evaluate import evaluate
from planner.datalog.engine.fact_base import FactBuilder
from planner.programs.rule_programs import suite_program
from planner.vocabulary.diagnostic import Checked, Diagnostic

_PROBLEM = "problem"


def counts_as(problem: Diagnostic, expected: bool) -> str:
    """What becomes of a problem of a plan or apply: nothing, error or warning. `expected`: the run expects the object
    that it is about to fail."""
    return _counts_as(problem.severity, _without_address(problem.checked), expected)


def _without_address(checked: Checked | None) -> tuple[str, str, bool] | None:
    return None if checked is None else (checked.kind, checked.rule, checked.was_error)


@cache
def _counts_as(severity: str, checked: tuple[str, str, bool] | None, expected: bool) -> str:
    facts = FactBuilder()
    facts.add("test_problem", _PROBLEM, severity)
    if checked is not None:
        kind, rule, was_error = checked
        facts.add("problem_of", _PROBLEM, kind, rule)
        if was_error:
            facts.add("problem_was_error", _PROBLEM)
    if expected:
        facts.add("problem_expected", _PROBLEM)
    ((_, found),) = evaluate(suite_program(), facts.build(), ["counts_as"]).sorted("counts_as")
    return str(found)


@frozen
class RunFacts:
    """What is known of a run. `problems`: error, assertion."""

    done: bool = False
    problems: frozenset[str] = frozenset()
    stop_requested: bool = False
    cleanup_failed: bool = False
    changed: str | None = None
    """the state that it changed"""


@frozen
class Judged:
    """What the rules say of the runs of a file, in their order."""

    statuses: tuple[str, ...]
    skipped: tuple[bool, ...]
    status: str
    fails: tuple[str, ...]
    cleaning: tuple[tuple[str, int], ...]
    """(state, run that last changed it), in the order in which states are cleaned up"""


def judge(runs: Sequence[RunFacts]) -> Judged:
    """What comes of the runs of a file."""
    return _judge(tuple(runs))


@cache
def _judge(runs: tuple[RunFacts, ...]) -> Judged:
    facts = FactBuilder()
    for index, run in enumerate(runs):
        name = str(index)
        facts.add("test_run", name, str(index - 1) if index else "")
        if run.done:
            facts.add("run_done", name)
        for kind in sorted(run.problems):
            facts.add("run_problem", name, kind)
        if run.stop_requested:
            facts.add("stop_requested", name)
        if run.cleanup_failed:
            facts.add("cleanup_failed", name)
        if run.changed is not None:
            facts.add("changed_state", name, run.changed)
    wanted = ["run_status", "run_skipped", "tests_status", "tests_fail", "last_change", "cleaned_before"]
    found = evaluate(suite_program(), facts.build(), wanted)
    statuses = {row[0]: str(row[1]) for row in found.sorted("run_status")}
    skipped = {row[0] for row in found.sorted("run_skipped")}
    names = [str(index) for index in range(len(runs))]
    last = {str(row[0]): int(row[1]) for row in found.sorted("last_change")}
    return Judged(
        tuple(statuses[name] for name in names),
        tuple(name in skipped for name in names),
        str(found.sorted("tests_status")[0][0]),
        tuple(str(row[0]) for row in found.sorted("tests_fail")),
        tuple((state, last[state]) for state in _ordered(last, found.sorted("cleaned_before"))),
    )


def _ordered(states: Mapping[str, int], before: Iterable[Sequence[Any]]) -> list[str]:
    """States such that each comes before those that it is cleaned up before."""
    later: dict[str, int] = dict.fromkeys(states, 0)
    for _, other in before:
        later[str(other)] += 1
    return sorted(states, key=lambda state: (later[state], state))
