"""Describes the predicates of a program: the rules that derive them, the rules that read them, and their
dependencies."""

from __future__ import annotations

from typing import NamedTuple

from planner.foundation.vocabulary.records import frozen
from planner.logic.datalog.engine.evaluate import Database
from planner.logic.datalog.engine.program import RuleProgram
from planner.logic.datalog.language.model import Predicate, Rule, atoms
from planner.logic.datalog.language.strata import dependencies


@frozen
class Description:
    """A predicate with the rules that derive it, the rules that read it, and the native predicates that are computed
    from it."""

    predicate: Predicate
    rules: tuple[Rule, ...]
    readers: tuple[Rule, ...]
    natives: tuple[str, ...]


def describe(program: RuleProgram) -> dict[str, Description]:
    """{predicate: its description}, in the order of declarations."""
    derives: dict[str, list[Rule]] = {name: [] for name in program.predicates}
    reads: dict[str, list[Rule]] = {name: [] for name in program.predicates}
    natives: dict[str, list[str]] = {name: [] for name in program.predicates}
    for rule in program.rules:
        derives[rule.head.predicate].append(rule)
        for name in dict.fromkeys(atom.predicate for atom, _how in atoms(rule.body)):
            reads[name].append(rule)
    for predicate in program.predicates.values():
        for name in dict.fromkeys(predicate.inputs):
            natives[name].append(predicate.name)
    return {
        name: Description(predicate, tuple(derives[name]), tuple(reads[name]), tuple(natives[name]))
        for name, predicate in program.predicates.items()
    }


class Read(NamedTuple):
    """A dependency between two predicates: `reader` is derived from `read`. `how`: positive, negation, aggregate or
    native; all except positive need the complete relation `read`."""

    reader: str
    read: str
    how: str


@frozen
class PredicateGraph:
    """The dependencies between predicates. `levels`: {predicate: its level}. The level is the length of the longest
    chain of relations that must be complete before the predicate can be derived. A positive read may be from the same
    level; any other read is from a lower level. `recursive`: the predicates that depend on themselves."""

    levels: dict[str, int]
    recursive: frozenset[str]
    reads: tuple[Read, ...]


def predicate_graph(program: RuleProgram, of: str | None = None) -> PredicateGraph:
    """The sorted dependencies between predicates. If `of` is given, they are only the dependencies of this predicate
    and of all predicates on which it depends. Raises KeyError for an unknown predicate."""
    graph = dependencies(program.predicates.values(), program.rules)
    wanted = set(graph)
    if of is not None:
        wanted, waiting = {of}, [of]
        while waiting:
            new = set(graph[waiting.pop()]) - wanted
            wanted |= new
            waiting += sorted(new)
    levels: dict[str, int] = {}
    recursive: set[str] = set()
    for stratum in program.strata:
        members = set(stratum.predicates)
        below = (
            levels[read] + (dependency.how != "positive")
            for name in stratum.predicates
            for read, dependency in graph[name].items()
            if read not in members
        )
        levels.update(dict.fromkeys(stratum.predicates, max(below, default=0)))
        if stratum.is_recursive:
            recursive |= members
    reads = sorted(Read(a, b, d.how) for a in wanted for b, d in graph[a].items())
    return PredicateGraph({n: levels[n] for n in sorted(wanted)}, frozenset(recursive & wanted), tuple(reads))


# Statistics of an evaluation.


@frozen
class PredicateStatistics:
    """The cost of evaluating a predicate. `rows`: the final number of rows. `rounds`: the number of rounds of a
    recursive predicate, including the first round (without recursive rules) and the last round (without new rows); 0
    for other predicates. `seconds`: the time of the predicate's rules, including indexes, or of its native operator."""

    name: str
    rows: int
    rounds: int
    seconds: float


@frozen
class RuleStatistics:
    """The cost of evaluating a rule. `produced`: the number of rows that the rule returned, including rows that were
    already known."""

    rule: Rule
    produced: int
    seconds: float


def predicate_statistics(database: Database) -> list[PredicateStatistics]:
    """The costs of all evaluated predicates, the most expensive first."""
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
    """The costs of all evaluated rules, the most expensive first."""
    statistics = [
        RuleStatistics(database.program.rules[number], database.produced[number], spent)
        for number, spent in database.seconds.items()
    ]
    return sorted(statistics, key=lambda s: (-s.seconds, s.rule.number))
