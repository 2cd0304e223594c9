"""Derives all rows that follow from the facts: from the facts upwards, one stratum after another, and semi-naive (each
round of a recursive stratum reads only new rows)."""

from __future__ import annotations

import gc
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping
from collections.abc import Set as AbstractSet
from operator import itemgetter
from time import perf_counter
from typing import Any, NamedTuple, TypeAlias, cast

from planner.logic.datalog.engine.components import Shared
from planner.logic.datalog.engine.fact_base import FactBase
from planner.logic.datalog.engine.native import OPERATORS
from planner.logic.datalog.engine.program import CompiledFunction, CompiledStratum, RuleProgram, reached
from planner.logic.datalog.language.values import Fraction, Row, Rows, sorted_rows

Relation = AbstractSet[Row]


class Database(Mapping[str, Relation]):
    """The evaluated relations: `database["edge"]` is the set of all rows, both facts and derived rows. The sets must
    not be changed. `facts`: the given rows. Raises KeyError for a predicate that was not requested (`want`). A
    predicate that was dropped during the evaluation (`let_go`) is derived again when it is used, with all predicates on
    which it depends."""

    def __init__(self, program: RuleProgram, facts: FactBase, relations: dict[str, Rows]) -> None:
        self.program, self.facts = program, facts
        self._relations = relations
        self._let_go: frozenset[str] = frozenset()
        # recursive predicate -> the rows derived in each round
        self.rounds: dict[str, list[Relation]] = {}
        # rule number -> seconds, and number of rows that the rule returned, including rows that were already known
        self.seconds: dict[int, float] = {}
        self.produced: dict[int, int] = {}
        self.native_seconds: dict[str, float] = {}  # predicate -> seconds of its native operator
        self._ranks: dict[str, dict[Row, int]] = {}

    def __getitem__(self, predicate: str) -> Relation:
        return self.rows(predicate).keys()

    def rows(self, predicate: str) -> Rows:
        """The relation of a predicate, in the evaluator's representation."""
        if predicate in self._let_go:
            self._complete()
        return self._relations[predicate]

    def __iter__(self) -> Iterator[str]:
        self._complete()
        return iter(self._relations)

    def __len__(self) -> int:
        return len(self._relations) + len(self._let_go)

    def _complete(self) -> None:
        if self._let_go:
            whole = evaluate(self.program, self.facts, [*self._relations, *self._let_go])
            self._relations, self.rounds, self._let_go = whole._relations, whole.rounds, frozenset()

    def sorted(self, predicate: str) -> list[Row]:
        return sorted_rows(self.rows(predicate))

    def rank(self, predicate: str, row: Row) -> int:
        """The number of the round in which a row of a recursive predicate was first derived; 0 for other predicates.
        Within its recursive component, a row depends only on rows of lower rank."""
        ranks = self._ranks.get(predicate)
        if ranks is None:
            if predicate in self._let_go:
                self._complete()
            ranks = {row: n for n, rows in enumerate(self.rounds.get(predicate, ())) for row in rows}
            self._ranks[predicate] = ranks
        return ranks.get(row, 0)

    def of_same_facts(self, facts: FactBase) -> Database:
        """A copy with the given facts, which must be equal to the former facts, but may have different sources."""
        copy = Database(self.program, facts, self._relations)
        copy.rounds, copy._ranks, copy._let_go = self.rounds, self._ranks, self._let_go
        copy.seconds, copy.produced, copy.native_seconds = self.seconds, self.produced, self.native_seconds
        return copy

    def narrowed(self, predicate: str, rows: Relation) -> Database:
        """A copy in which the predicate has only these rows, for a proof that does not need its other rows."""
        self._complete()
        copy = Database(self.program, self.facts, {**self._relations, predicate: dict.fromkeys(rows)})
        copy.rounds, copy._ranks = self.rounds, self._ranks
        return copy

    def beside(self, program: RuleProgram, relations: Mapping[str, Iterable[Row]]) -> Database:
        """A copy that also contains relations of another program. `program`: declares the relations of both programs
        (RuleProgram.beside)."""
        self._complete()
        more = {name: dict.fromkeys(rows) for name, rows in relations.items()}
        copy = Database(program, self.facts, {**self._relations, **more})
        copy.rounds, copy._ranks = self.rounds, self._ranks
        copy.seconds, copy.produced = self.seconds, self.produced
        return copy


def evaluate(
    program: RuleProgram, facts: FactBase, want: Iterable[str] | None = None, let_go: bool = False
) -> Database:
    """The rows of the predicates in `want` (None: all) and of the predicates on which they depend. `let_go`: whether
    intermediate relations are dropped as soon as no further rule needs them; then the evaluation needs much less
    memory. The facts of a derived predicate are added to its derived rows. Raises KeyError for an unknown predicate in
    `want`, ValueError for facts that do not match their declaration, and Failure if computed values grow without
    bound."""
    want = list(program.predicates if want is None else want)
    needed = program.needed(want)
    check_facts(program, facts, needed)
    paused = gc.isenabled()
    gc.disable()  # with millions of tuples and no cycles, garbage collection would take half of the time
    try:
        wanted = {program.predicates[name].number for name in want}
        tasks = demanded(program, facts, wanted) if let_go else everything(program, needed)
        return _Evaluation(program, facts, needed, let_go).run(tasks)
    finally:
        if paused:
            gc.enable()


_BASES = {"symbol": frozenset((str,)), "number": frozenset((int, Fraction))}


def check_facts(program: RuleProgram, facts: FactBase, needed: frozenset[int]) -> None:
    """Raises ValueError if facts of the predicates `needed` do not have the declared columns and base types."""
    for predicate in program.predicates.values():
        if predicate.number not in needed:
            continue
        rows = facts.rows(predicate.name)
        if not rows:
            continue
        if set(map(len, rows)) != {predicate.arity}:
            wrong = next(row for row in rows if len(row) != predicate.arity)
            raise ValueError(f"the fact {predicate.name}{wrong!r} does not match {predicate.declaration}")
        for number, column in enumerate(predicate.columns):
            base = _BASES.get(column.type.base)
            if base is not None and not set(map(type, map(itemgetter(number), rows))) <= base:
                values = sorted(repr(row[number]) for row in rows if type(row[number]) not in base)
                raise ValueError(f"{values[0]} in the column {column.name} does not match {predicate.declaration}")


class _Evaluation:
    def __init__(self, program: RuleProgram, facts: FactBase, needed: frozenset[int], is_sparing: bool) -> None:
        self.program, self.facts, self.needed, self.is_sparing = program, facts, needed, is_sparing
        self.functions = program.functions
        self.indexes: list[Any] = [None] * len(program.compiled.indexes)
        self.names = list(program.predicates)
        # relations of the fact base are shared until a row is derived for them
        self.relations: list[Rows] = [facts.rows(name) for name in self.names]
        self.database = Database(program, facts, {})
        self.shared: Shared = {}

    def run(self, tasks: list[Task]) -> Database:
        done = {number for task in tasks for number in task.step.predicates}
        let_go = {p.number for p in self.program.predicates.values() if not p.is_input} & self.needed - done
        for step, relations, indexes in tasks:
            begin = perf_counter()
            self.step(step)
            if step.native:
                self.database.native_seconds[self.names[step.predicates[0]]] = perf_counter() - begin
            for number in relations:
                self.shared.pop(id(self.relations[number]), None)
                self.database.rounds.pop(self.names[number], None)
                self.relations[number] = {}
                let_go.add(number)
            for number in indexes:
                self.indexes[number] = None
        self.database._relations = {self.names[n]: self.relations[n] for n in sorted(self.needed - let_go)}
        self.database._let_go = frozenset(self.names[n] for n in let_go)
        return self.database

    def step(self, step: CompiledStratum) -> None:
        if step.native:
            (number,) = step.predicates
            derived = OPERATORS[step.native](*(self.relations[n] for n in step.inputs), self.shared)
            given = self.relations[number]
            if isinstance(derived, Mapping) and not given and not self.is_read(number):
                self.relations[number] = cast(Rows, derived)
                return
            rows = dict.fromkeys(derived)
            self.relations[number] = rows | given if given else rows
            return
        own: set[int] = set()  # heads whose rows are no longer shared
        for function in step.functions:
            if function.delta >= 0:
                continue
            head = function.head
            known = self.relations[head]
            grows = self.is_sparing and head in own
            rows = self.call(function, None, known if grows else {})
            if rows is known or not rows:
                continue
            if not known:
                self.relations[head] = rows
                if all(rows is not self.relations[n] for n in function.positives):  # else shared
                    own.add(head)
            elif head in own:
                known |= rows
            else:
                self.relations[head] = known | rows if len(known) > len(rows) else rows | known
                own.add(head)
        if step.is_recursive:
            self.fixpoint(step)

    def is_read(self, number: int) -> bool:
        reads = self.program.compiled.reads
        return any(number in reads[other] for other in self.needed if other != number)

    def call(self, function: CompiledFunction, delta: Rows | None, rows: Rows) -> Rows:
        """The rows in `rows`, with the rows that a rule derives. `delta`: the rows that were new in the last round. If
        `rows` is empty, the result may be an existing relation, which must not be changed."""
        begin, before = perf_counter(), len(rows)
        indexes, relations, rule = self.indexes, self.relations, function.rule
        derived = rows
        if all(relations[number] for number in function.positives):  # if a relation is empty, no index is needed
            for need in function.needs:
                if indexes[need] is None:
                    self.build(need)
            derived = self.functions[f"f{function.number}"](relations, indexes, delta, rows)
        database = self.database
        database.seconds[rule] = database.seconds.get(rule, 0.0) + perf_counter() - begin
        more = len(derived) - before if derived is rows else len(derived)
        database.produced[rule] = database.produced.get(rule, 0) + more
        return derived

    def build(self, number: int) -> None:
        index = self.program.compiled.indexes[number]
        made: Any = defaultdict(list) if index.has_rows else set()
        self.indexes[number] = made
        self.functions[f"x{number}"](self.relations[index.predicate], made)

    def fixpoint(self, step: CompiledStratum) -> None:
        """Evaluate a recursive stratum in rounds until there are no new rows. Each round joins the rows of the last
        round with all known rows."""
        relations, members = self.relations, step.predicates
        used = {n for f in step.functions for n in f.needs if self.program.compiled.indexes[n].predicate in members}
        own: dict[int, list[int]] = {n: [] for n in members}
        for number in used:
            own[self.program.compiled.indexes[number].predicate].append(number)
        delta = {n: relations[n] for n in members}
        rounds: dict[int, list[Relation]] = {n: [relations[n].keys()] for n in members}
        for n in members:
            relations[n] = dict(relations[n])
        recursive = [f for f in step.functions if f.delta >= 0]
        while any(delta.values()):
            derived: dict[int, Rows] = {n: {} for n in members}
            for function in recursive:
                if delta[function.delta]:
                    derived[function.head] |= self.call(function, delta[function.delta], {})
            for n in members:
                known = relations[n]
                derived[n] = {row: None for row in derived[n] if row not in known}
                known |= derived[n]
                rounds[n].append(derived[n].keys())
                for number in own[n]:
                    if self.indexes[number] is not None and derived[n]:
                        self.functions[f"x{number}"](derived[n], self.indexes[number])
            delta = derived
        for n in members:
            self.database.rounds[self.names[n]] = rounds[n]


# Plans the evaluation of a few predicates: which rules can derive rows from the facts, which of these rules are needed,
# and how long each relation and index is needed. A rule is dead if one of its positive atoms cannot have a row: the
# predicate has no facts and only dead rules, or no row can have the constants of the atom. For example, `pruned(N) :-
# temporary(N), walk("apply").` is dead if the only fact is `walk("plan")`; `temporary` is then not derived unless a
# live rule reads it.


Columns: TypeAlias = list[set[Any] | None]  # possible values of each column; None: any


class Task(NamedTuple):
    """A step with its live rules. `relations`, `indexes`: the numbers of the relations and indexes that no later step
    reads."""

    step: CompiledStratum
    relations: tuple[int, ...]
    indexes: tuple[int, ...]


def everything(program: RuleProgram, needed: Collection[int]) -> list[Task]:
    """The tasks for the predicates `needed`, with all their rules, and without dropping relations."""
    return [Task(step, (), ()) for step in program.compiled.steps if step.predicates[0] in needed]


def demanded(program: RuleProgram, facts: FactBase, wanted: Collection[int]) -> list[Task]:
    """The tasks that are needed for the requested predicates. Relations with facts, and requested relations, are never
    dropped."""
    given = [facts.rows(name) for name in program.predicates]
    alive = living(program, facts)
    needed = _needed_predicates(alive, wanted)
    steps = [step for step in alive if not needed.isdisjoint(step.predicates)]
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


def living(program: RuleProgram, facts: FactBase) -> list[CompiledStratum]:
    """The steps of a program, without the functions that cannot derive any row from the facts."""
    given = [facts.rows(name) for name in program.predicates]
    arities = [predicate.arity for predicate in program.predicates.values()]
    possible: list[Columns | None] = [
        [None] * arity if rows else None for rows, arity in zip(given, arities, strict=True)
    ]
    for number, column in _compared_columns(program):
        columns = possible[number]
        if columns is not None:
            columns[column] = set(map(itemgetter(column), given[number]))

    def may_fire(function: CompiledFunction) -> bool:
        if any(possible[number] is None for number in function.positives):
            return False
        for number, constants in function.constants:
            columns = possible[number] or []
            for column, value in constants:
                results = columns[column]
                if results is not None and value not in results:
                    return False
        return True

    results: list[CompiledStratum] = []
    for step in program.compiled.steps:
        if step.native and any(possible[number] is not None for number in step.inputs):
            for number in step.predicates:
                possible[number] = [None] * arities[number]
        alive: set[int] = set()
        while more := [f for f in step.functions if f.number not in alive and may_fire(f)]:
            for function in more:
                alive.add(function.number)
                possible[function.head] = _wider(possible[function.head], function.head_columns)
        results.append(step._replace(functions=tuple(f for f in step.functions if f.number in alive)))
    return results


def _compared_columns(program: RuleProgram) -> set[tuple[int, int]]:
    """(predicate, column) of each column that rules compare with constants."""
    return {
        (number, column)
        for step in program.compiled.steps
        for function in step.functions
        for number, constants in function.constants
        for column, _ in constants
    }


def _wider(known: Columns | None, head: tuple[tuple[Any, ...] | None, ...]) -> Columns:
    """The possible values of columns, extended by the values of the rows that a rule with this head may derive."""
    if known is None:
        return [None if values is None else set(values) for values in head]
    return [
        None if column is None or values is None else column.union(values)
        for column, values in zip(known, head, strict=True)
    ]


def _needed_predicates(steps: list[CompiledStratum], wanted: Collection[int]) -> set[int]:
    reads: dict[int, set[int]] = {}
    for step in steps:
        for number in step.predicates:
            reads.setdefault(number, set()).update(step.inputs)
        for function in step.functions:
            reads[function.head].update(function.reads)
    return reached(wanted, lambda number: reads.get(number, ()))
