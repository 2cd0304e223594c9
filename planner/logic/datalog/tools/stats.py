"""What an evaluation did: rows and rounds of each predicate, time of each rule."""

from __future__ import annotations

from planner.foundation.vocabulary.records import frozen
from planner.logic.datalog.engine.evaluate import Database
from planner.logic.datalog.language.model import Rule


@frozen
class PredicateStatistics:
    """`rows` hold in the end; `rounds` is 0 outside recursion; `seconds` is the time of its rules, indexes
    included, or of the native operator."""

    name: str
    rows: int
    rounds: int
    seconds: float


@frozen
class RuleStatistics:
    """`produced` counts the rows that the rule's evaluations gave, those known already included."""

    rule: Rule
    produced: int
    seconds: float


def predicate_statistics(database: Database) -> list[PredicateStatistics]:
    """Every evaluated predicate, the most costly first."""
    seconds = dict(database.native_seconds)
    for number, spent in database.seconds.items():
        head = database.program.rules[number].head.predicate
        seconds[head] = seconds.get(head, 0.0) + spent
    statistics = [
        PredicateStatistics(name, len(rows), len(database.rounds.get(name, ())), seconds.get(name, 0.0))
        for name, rows in database.items()
    ]
    return sorted(statistics, key=lambda s: (-s.seconds, s.name))


def rule_statistics(database: Database) -> list[RuleStatistics]:
    """Every evaluated rule, the most costly first."""
    statistics = [
        RuleStatistics(database.program.rules[number], database.produced[number], spent)
        for number, spent in database.seconds.items()
    ]
    return sorted(statistics, key=lambda s: (-s.seconds, s.rule.number))
