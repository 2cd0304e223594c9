"""The decisions of rules/test about the diagnostics and the runs of tests."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from functools import cache
from typing import Any

from planner.foundation.vocabulary.diagnostic import CheckedObject, Diagnostic
from planner.foundation.vocabulary.records import evolve, frozen
from planner.logic.datalog.engine.evaluate import evaluate
from planner.logic.datalog.engine.fact_base import FactBase, FactBuilder
from planner.logic.programs.rule_programs import product_program

_PROBLEM = "problem"


def counts_as(problem: Diagnostic, expected: bool) -> str:
    """The severity that a diagnostic has in a run: "error", "warning" or "nothing". `expected`: whether the run expects
    a failure of the object that the diagnostic is about."""
    return _counts_as(problem.severity, _without_address(problem.checked), expected)


def _without_address(checked: CheckedObject | None) -> tuple[str, str, bool] | None:
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
    ((_, item),) = evaluate(product_program("testing"), facts.build(), ["counts_as"]).sorted("counts_as")
    return str(item)


@frozen
class RunFacts:
    """The facts about a run. `problems`: the kinds of its problems (error, assertion). `mentions`: indexes of the runs
    whose outputs the run uses."""

    done: bool = False
    problems: frozenset[str] = frozenset()
    stop_requested: bool = False
    cleanup_failed: bool = False
    changed: str | None = None
    """the state that the run changed; None if it changed none"""
    state: str = ""
    """the state that the run uses"""
    parallel: bool = False
    keeps_state: bool = False
    mentions: frozenset[int] = frozenset()
    asks: bool = False
    """whether expressions of the run use outputs of other runs, including runs that do not exist"""
    applies: bool = False
    """whether the run changes its state"""


@frozen
class RunDecisions:
    """The decisions about the runs of a file. `statuses`: the status of each run, in the order of the file. `status`:
    the status of the file. `fails`: the reasons why the exit code reports a failure (run, cleanup, stop)."""

    statuses: tuple[str, ...]
    status: str
    fails: tuple[str, ...]
    cleaning: tuple[tuple[str, int], ...]
    """(state, run that last changed it), in the order of cleaning up"""
    kept: tuple[tuple[str, int], ...]
    """(state, run that last changed it) for states that are not cleaned up"""


@frozen
class Order:
    """The order of a file's runs; runs are identified by their indexes. `waits`: for each run, the runs that must end
    before it starts. `after`: for each run that uses outputs of runs, all runs for which it waits, directly or through
    other runs; empty for other runs. `skipped`: runs that are not executed."""

    waits: tuple[frozenset[int], ...]
    after: tuple[frozenset[int], ...]
    skipped: frozenset[int]


def judge(runs: Sequence[RunFacts]) -> RunDecisions:
    return _judge(tuple(runs))


def order(runs: Sequence[RunFacts]) -> Order:
    """Decide the order of a file's runs, and the runs that are not executed."""
    # `done` and `changed` matter only after a stop request; without them, more files have equal facts and share a
    # cached result
    return _order(tuple(r if r.stop_requested else evolve(r, done=False, changed=None) for r in runs))


def executed(runs: Sequence[RunFacts], edited: Collection[int]) -> frozenset[int]:
    """The indexes of the runs that have to be executed again. `edited`: indexes of the runs that are new, were edited
    or did not pass."""
    facts = _fact_builder(runs)
    for index in sorted(edited):
        facts.add("run_edited", str(index))
    result = evaluate(product_program("testing"), facts.build(), ["run_executed"])
    return frozenset(int(row[0]) for row in result.sorted("run_executed"))


def suite(runs: Iterable[RunFacts]) -> tuple[str, bool]:
    """The status of all runs of all files, and whether the exit code reports a failure."""
    facts = FactBuilder()
    for index, run in enumerate(runs):
        _state_facts(facts, str(index), "", run)
    result = evaluate(product_program("testing"), facts.build(), ["tests_status", "tests_fail"])
    return str(result.sorted("tests_status")[0][0]), bool(result.sorted("tests_fail"))


def _state_facts(facts: FactBuilder, name: str, before: str, run: RunFacts) -> None:
    facts.add("test_run", name, before)
    facts.add("run_state", name, run.state)
    for holds, predicate in (
        (run.done, "run_done"),
        (run.stop_requested, "stop_requested"),
        (run.cleanup_failed, "cleanup_failed"),
        (run.parallel, "parallel_run"),
        (run.keeps_state, "keeps_state"),
        (run.asks, "asks_runs"),
        (run.applies, "run_applies"),
    ):
        if holds:
            facts.add(predicate, name)
    for kind in sorted(run.problems):
        facts.add("run_problem", name, kind)
    for other in sorted(run.mentions):
        facts.add("run_mentions", name, str(other))
    if run.changed is not None:
        facts.add("changed_state", name, run.changed)


def _facts(runs: tuple[RunFacts, ...]) -> FactBase:
    return _fact_builder(runs).build()


def _fact_builder(runs: Sequence[RunFacts]) -> FactBuilder:
    facts = FactBuilder()
    for index, run in enumerate(runs):
        _state_facts(facts, str(index), str(index - 1) if index else "", run)
    return facts


@cache
def _order(runs: tuple[RunFacts, ...]) -> Order:
    result = evaluate(product_program("testing"), _facts(runs), ["run_waits", "run_after", "run_skipped"])

    def others(predicate: str) -> tuple[frozenset[int], ...]:
        sets: list[set[int]] = [set() for _ in runs]
        for run, other in result.sorted(predicate):
            sets[int(run)].add(int(other))
        return tuple(map(frozenset, sets))

    skipped = frozenset(int(row[0]) for row in result.sorted("run_skipped"))
    return Order(others("run_waits"), others("run_after"), skipped)


@cache
def _judge(runs: tuple[RunFacts, ...]) -> RunDecisions:
    wanted = ["run_status", "tests_status", "tests_fail", "last_change", "cleaned_up", "cleaned_before", "state_kept"]
    result = evaluate(product_program("testing"), _facts(runs), wanted)
    statuses = {row[0]: str(row[1]) for row in result.sorted("run_status")}
    cleaned = {str(row[0]): int(row[1]) for row in result.sorted("cleaned_up")}
    last = {str(row[0]): int(row[1]) for row in result.sorted("last_change")}
    return RunDecisions(
        tuple(statuses[str(index)] for index in range(len(runs))),
        str(result.sorted("tests_status")[0][0]),
        tuple(str(row[0]) for row in result.sorted("tests_fail")),
        tuple((state, cleaned[state]) for state in _ordered(cleaned, result.sorted("cleaned_before"))),
        tuple((state, last[state]) for state in sorted({str(row[0]) for row in result.sorted("state_kept")})),
    )


def _ordered(states: Mapping[str, int], before: Iterable[Sequence[Any]]) -> list[str]:
    """The states in the order in which they are cleaned up. `before`: pairs of states; the first is cleaned up before
    the second."""
    later: dict[str, int] = dict.fromkeys(states, 0)
    for _, other in before:
        later[str(other)] += 1
    return sorted(states, key=lambda state: (later[state], state))
