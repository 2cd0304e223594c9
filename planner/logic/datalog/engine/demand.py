"""What an evaluation for a few predicates has to do: which rules can derive anything from the facts at hand, which of
those somebody needs, and how long each relation and index is needed.

A rule is dead when one of its positive atoms can have no row: nothing was given for the predicate and all rules for it
are dead, or none of them gives the constants that the atom has. `pruned(N) :- temporary(N), walk("apply").` is dead
while the only fact is `walk("plan")`, and unless a rule that lives reads `temporary`, nothing has to be known about it.
"""

from __future__ import annotations

from collections.abc import Collection
from operator import itemgetter
from typing import Any, NamedTuple, TypeAlias

from planner.logic.datalog.engine.compiled import CompiledFunction, CompiledStratum
from planner.logic.datalog.engine.fact_base import FactBase
from planner.logic.datalog.engine.program import RuleProgram, reached
from planner.logic.datalog.language.values import Rows

Columns: TypeAlias = list[set[Any] | None]
"""which values may stand in each column of a relation; None: any"""


class Task(NamedTuple):
    """A step with the functions of rules that live; then the relations and the indexes that no later step reads."""

    step: CompiledStratum
    relations: tuple[int, ...]
    indexes: tuple[int, ...]


def everything(program: RuleProgram, needed: Collection[int]) -> list[Task]:
    """Every step for these predicates, nothing left out or dropped."""
    return [Task(step, (), ()) for step in program.compiled.steps if step.predicates[0] in needed]


def demanded(program: RuleProgram, facts: FactBase, wanted: Collection[int]) -> list[Task]:
    """What has to be done for the wanted predicates only. Relations that were given are never dropped."""
    given = [facts.rows(name) for name in program.predicates]
    living = _living(program, given)
    needed = _needed(living, wanted)
    steps = [step for step in living if not needed.isdisjoint(step.predicates)]
    relations: dict[int, int] = {}
    indexes: dict[int, int] = {}
    for at, step in enumerate(steps):
        for function in step.functions:
            relations |= dict.fromkeys(function.reads, at)
            indexes |= dict.fromkeys(function.needs, at)
        relations |= dict.fromkeys((*step.predicates, *step.inputs), at)
    ends: list[tuple[list[int], list[int]]] = [([], []) for _ in steps]
    for number, at in relations.items():
        if number not in wanted and not given[number]:
            ends[at][0].append(number)
    for number, at in indexes.items():
        ends[at][1].append(number)
    return [Task(step, tuple(ends[at][0]), tuple(ends[at][1])) for at, step in enumerate(steps)]


def _living(program: RuleProgram, given: list[Rows]) -> list[CompiledStratum]:
    """The steps without the functions that can derive nothing."""
    arities = [predicate.arity for predicate in program.predicates.values()]
    possible: list[Columns | None] = [
        [None] * arity if rows else None for rows, arity in zip(given, arities, strict=True)
    ]
    for number, column in _compared(program):
        columns = possible[number]
        if columns is not None:
            columns[column] = set(map(itemgetter(column), given[number]))

    def may_fire(function: CompiledFunction) -> bool:
        if any(possible[number] is None for number in function.positives):
            return False
        for number, constants in function.constants:
            columns = possible[number] or []
            for column, value in constants:
                found = columns[column]
                if found is not None and value not in found:
                    return False
        return True

    found: list[CompiledStratum] = []
    for step in program.compiled.steps:
        if step.native and any(possible[number] is not None for number in step.inputs):
            for number in step.predicates:
                possible[number] = [None] * arities[number]
        alive: set[int] = set()
        while more := [f for f in step.functions if f.number not in alive and may_fire(f)]:
            for function in more:
                alive.add(function.number)
                possible[function.head] = _wider(possible[function.head], function.head_columns)
        found.append(step._replace(functions=tuple(f for f in step.functions if f.number in alive)))
    return found


def _compared(program: RuleProgram) -> set[tuple[int, int]]:
    """The columns, of which predicate, that rules compare with constants."""
    return {
        (number, column)
        for step in program.compiled.steps
        for function in step.functions
        for number, constants in function.constants
        for column, _ in constants
    }


def _wider(known: Columns | None, head: tuple[tuple[Any, ...] | None, ...]) -> Columns:
    """What may stand in the columns when rows of this head may hold too."""
    if known is None:
        return [None if values is None else set(values) for values in head]
    return [
        None if column is None or values is None else column.union(values)
        for column, values in zip(known, head, strict=True)
    ]


def _needed(steps: list[CompiledStratum], wanted: Collection[int]) -> set[int]:
    """The wanted predicates, and those that rules for needed ones read."""
    reads: dict[int, set[int]] = {}
    for step in steps:
        for number in step.predicates:
            reads.setdefault(number, set()).update(step.inputs)
        for function in step.functions:
            reads[function.head].update(function.reads)
    return reached(wanted, lambda number: reads.get(number, ()))
