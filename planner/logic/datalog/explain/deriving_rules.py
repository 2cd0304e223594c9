"""Finds the rules that derive each row, for all rows of a relation at once, because proving each edge of a large graph
separately would take minutes. Each rule is run again over the derived rows, except the rule with the most rows, which
must derive the rows that no other rule derives. If a rule only passes on the rows of another relation, the rules of
that relation are returned instead."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from itertools import islice, repeat
from operator import itemgetter
from typing import Any, NamedTuple, TypeAlias

from planner.foundation.vocabulary.records import frozen
from planner.language.syntax.rule_syntax import Atom, Constant, Literal, RuleVariable, Term, Wildcard
from planner.logic.datalog.engine.evaluate import Database, living
from planner.logic.datalog.engine.fact_base import FactBase
from planner.logic.datalog.engine.interpret import Assignment, value_of
from planner.logic.datalog.engine.program import CompiledFunction, RuleProgram
from planner.logic.datalog.explain.render import plain
from planner.logic.datalog.explain.search import Relations
from planner.logic.datalog.language.model import Rule, atoms, outer_names
from planner.logic.datalog.language.order import join_order
from planner.logic.datalog.language.values import Row, Rows

_NAMED = re.compile(r"\{(\w+)\}")
_FEW = 100  # below this number of requested rows, a rule reads only rows of other relations that may lead to them
DEEPEST = 12  # maximum length of a chain of rules that only pass on rows of another relation


@frozen
class Maker:
    """A rule that derives a row, and the rule's reason with the values of this row."""

    rule: str
    reason: str


class RuleReason(NamedTuple):
    """The reason of a rule. `form`: its text, with `%s` for each value."""

    rule: str
    form: str

    def with_values(self, values: tuple[str, ...]) -> str:
        return self.form % values


class DerivedRows(NamedTuple):
    """Rows that one rule derives. `columns`: for each variable in the reason of the rule, the values for the rows, in
    the order of the rows."""

    reason: RuleReason
    rows: Sequence[Row]
    columns: Sequence[Sequence[str]]

    def values(self) -> Iterator[tuple[str, ...]]:
        """For each row, the values in its reason, in the order of the rows."""
        return zip(*self.columns, strict=True) if self.columns else repeat((), len(self.rows))


Columns: TypeAlias = Mapping[str, Sequence[Any]]  # variable -> values for several rows


def makers(program: RuleProgram, database: Database, predicate: str, rows: AbstractSet[Row]) -> dict[Row, list[Maker]]:
    """{row: rules that derive it} for the given rows of a relation. If a rule only passes on the rows of another
    relation, the rules that derive that relation are returned instead. A row that is only a fact is left out. The
    relation `predicate` must not be recursive."""
    result: dict[Row, list[Maker]] = {}
    for derived in derivations(program, database, predicate, rows):
        for row, values in zip(derived.rows, derived.values(), strict=True):
            result.setdefault(row, []).append(Maker(derived.reason.rule, derived.reason.with_values(values)))
    return result


def derivations(
    program: RuleProgram, database: Database, predicate: str, rows: AbstractSet[Row]
) -> Iterator[DerivedRows]:
    """The result of `makers`, grouped by rule. A row occurs once for each rule that derives it."""
    return _Makers(program, database).follow(predicate, rows & database[predicate])


def relations_read(program: RuleProgram, facts: FactBase, predicate: str) -> tuple[str, ...]:
    """The names of the relations that `makers` reads for rows of this relation, sorted. If the database still contains
    them, they are not derived again."""
    functions = {function.rule: function for step in living(program, facts) for function in step.functions}
    names = {p.number: name for name, p in program.predicates.items()}
    waiting, reached = [predicate], {predicate}
    while waiting:
        for rule in program.rules_for(waiting.pop()):
            function = functions.get(rule.number)
            below = _passed_on(rule) if function is not None else None
            if below is not None and below not in reached and program.predicates[below].operator is None:
                waiting.append(below)
            reached.update(names[number] for number in (function.reads if function is not None else ()))
    return tuple(sorted(reached))


class _Makers:
    def __init__(self, program: RuleProgram, database: Database) -> None:
        self.program, self.database = program, database
        self.relations, self.plain = Relations(database), _PlainValues()
        self.numbers = {p.number: name for name, p in program.predicates.items()}
        self.functions: dict[int, CompiledFunction] = {}
        for step in program.compiled.steps:
            for function in step.functions:
                self.functions.setdefault(function.rule, function)
        self.rows_of: list[Any] = [None] * len(program.predicates)
        self.indexes: list[Any] = [None] * len(program.compiled.indexes)
        self.values: dict[tuple[int, int], set[Any]] = {}

    def follow(self, predicate: str, wanted: AbstractSet[Row]) -> Iterator[DerivedRows]:
        waiting = [(predicate, wanted, 0)]
        while waiting:
            predicate, wanted, depth = waiting.pop()
            passing: dict[str, AbstractSet[Row]] = {}
            for rule, rows in self._rows_by_rule(predicate, wanted):
                below = _passed_on(rule)
                if below is not None and self.program.predicates[below].operator is None and depth < DEEPEST:
                    passing[below] = passing[below] | rows if below in passing else rows
                elif rows:
                    yield _Reasons(rule, self.relations, self.plain).of(list(rows))
            waiting += [(below, rows, depth + 1) for below, rows in reversed(passing.items()) if rows]

    def _rows_by_rule(self, predicate: str, wanted: AbstractSet[Row]) -> Iterator[tuple[Rule, AbstractSet[Row]]]:
        """(rule, requested rows that it derives) for each rule of a relation. All remaining rows that are not facts are
        assigned to the rule with the most rows."""
        rules = [rule for rule in self.program.rules_for(predicate) if rule.number in self.functions]
        produced = self.database.produced
        most = max(rules, key=lambda rule: produced.get(rule.number, 0), default=None)
        passed: dict[int, Rows] = {}
        rows = {rule.number: self._rows(rule, wanted, passed) for rule in rules if rule is not most}
        given = self.database.facts.relation(predicate)
        if most is not None:
            others = set(wanted & given).union(*rows.values())
            rows[most.number] = (wanted - others) | self._rows(most, others, {})
        for rule in rules:
            yield rule, rows.pop(rule.number)

    def _rows(self, rule: Rule, wanted: AbstractSet[Row], passed: dict[int, Rows]) -> AbstractSet[Row]:
        """The requested rows that a rule derives. If the rule only passes on rows of another relation, only the
        requested rows of that relation are read. They are added to `passed`, a cache for other rules: {number of the
        relation: rows}."""
        if not wanted:
            return wanted
        if self.database.produced and rule.number not in self.database.produced:  # the rule was dead
            return frozenset()
        function = self.functions[rule.number]
        for number in (*function.reads, *(self.program.compiled.indexes[need].predicate for need in function.needs)):
            self._known(number)
        if not all(self.rows_of[number] for number in function.positives):
            return frozenset()
        for number, constants in function.constants:
            if not all(value in self._values(number, column) for column, value in constants):
                return frozenset()
        below, names = _passed_on(rule), [atom.predicate for atom, _ in atoms(rule.body)]
        narrowed: dict[int, Rows] = {}
        if below is not None and names.count(below) == 1:
            number = self.program.predicates[below].number
            if number not in passed:
                passed[number] = dict.fromkeys(wanted & self._known(number).keys())
            narrowed[number] = passed[number]
            wanted = passed[number].keys()
            if not wanted or self._is_apart(rule, below, wanted):
                return frozenset()
        elif len(wanted) < _FEW:
            narrowed = self._about(rule, names, wanted)
        rows_of = list(self.rows_of) if narrowed else self.rows_of
        for number, rows in narrowed.items():
            rows_of[number] = rows
        indexes = self._indexes(function, rows_of, narrowed)
        delta = self._known(function.delta) if function.delta >= 0 else None
        derived: Rows = self.program.functions[f"f{function.number}"](rows_of, indexes, delta, {})
        return wanted & derived.keys()

    def _about(self, rule: Rule, names: list[str], wanted: AbstractSet[Row]) -> dict[int, Rows]:
        """{number of a predicate: rows that can lead to a requested row} for each relation that the rule reads exactly
        once."""
        values = {
            str(term): set(column) for term, column in zip(rule.head.arguments, zip(*wanted, strict=True), strict=True)
        }
        result: dict[int, Rows] = {}
        for atom in rule.body:
            if isinstance(atom, Atom) and names.count(atom.predicate) == 1:
                number = self.program.predicates[atom.predicate].number
                for at, term in enumerate(atom.arguments):
                    if isinstance(term, RuleVariable) and term.name in values:
                        rows = result.get(number, self.rows_of[number])
                        result[number] = {row: None for row in rows if row[at] in values[term.name]}
        return result

    def _indexes(self, function: CompiledFunction, rows_of: list[Any], narrowed: Collection[int]) -> list[Any]:
        indexes: list[Any] = [None] * len(self.indexes)
        for need in function.needs:
            index = self.program.compiled.indexes[need]
            known = self.indexes[need] if index.predicate not in narrowed else None
            if known is None:
                known = defaultdict(list) if index.has_rows else set[Any]()
                self.program.functions[f"x{need}"](rows_of[index.predicate], known)
                if index.predicate not in narrowed:
                    self.indexes[need] = known
            indexes[need] = known
        return indexes

    def _is_apart(self, rule: Rule, below: str, rows: AbstractSet[Row]) -> bool:
        """Whether another atom of a rule matches none of the given rows, which the rule passes on from the relation
        `below`."""
        columns = {str(term): n for n, term in enumerate(rule.head.arguments) if isinstance(term, RuleVariable)}
        for atom in rule.body:
            if isinstance(atom, Atom) and atom.predicate != below:
                known = self._known(self.program.predicates[atom.predicate].number)
                for at, term in enumerate(atom.arguments):
                    column = columns.get(str(term))
                    if column is not None:
                        values = set(map(itemgetter(column), rows))
                        if values.isdisjoint(map(itemgetter(at), known)):
                            return True
        return False

    def _values(self, number: int, column: int) -> AbstractSet[Any]:
        values = self.values.get((number, column))
        if values is None:
            values = self.values[number, column] = set(map(itemgetter(column), self._known(number)))
        return values

    def _known(self, number: int) -> Any:
        if self.rows_of[number] is None:
            self.rows_of[number] = self.database.rows(self.numbers[number])
        return self.rows_of[number]


def _passed_on(rule: Rule) -> str | None:
    """The relation whose rows a rule passes on unchanged: the relation of the only atom of the body that has the same
    columns as the head. None if there is no such relation."""
    same = [x.predicate for x in rule.body if isinstance(x, Atom) and _terms(x) == _terms(rule.head)]
    return same[0] if len(same) == 1 else None


def _terms(atom: Atom) -> list[str]:
    return [str(argument) for argument in atom.arguments]


class _Reasons:
    """Finds the reasons of one rule for its rows. The values of variables that are not in the head are looked up in the
    body. If there are several possible values, the smallest are used."""

    def __init__(self, rule: Rule, relations: Relations, plain: _PlainValues) -> None:
        self.rule, self.relations, self.plain = rule, relations, plain
        parts = _NAMED.split(rule.reason) if rule.reason else [rule.text]
        self.reason = RuleReason(rule.name, "%s".join([part.replace("%", "%%") for part in parts[::2]]))
        self.names = parts[1::2]
        self.named = set(self.names)
        self.outer = outer_names(rule.head, rule.body)
        self.ordered: list[Literal] | None = None

    def of(self, rows: Sequence[Row]) -> DerivedRows:
        """The given rows, which the rule must derive, with the values in the reason."""
        return DerivedRows(self.reason, rows, self._columns(rows) if self.names else ())

    def _columns(self, rows: Sequence[Row]) -> Sequence[Sequence[str]]:
        columns: dict[str, Sequence[Any]] = {}
        for term, column in zip(self.rule.head.arguments, zip(*rows, strict=True), strict=True):
            if isinstance(term, RuleVariable):
                columns.setdefault(term.name, column)
        looked_up = self._looked_up(columns, len(rows))
        unknown = (None,) * len(rows)
        named = [looked_up.get(name, unknown) for name in self.names]
        if not any(None in column for column in named):
            return [list(map(self.plain.__getitem__, column)) for column in named]
        result = []
        for row, values in enumerate(zip(*named, strict=True)):
            if None in values:
                solved = self._solve({name: column[row] for name, column in columns.items()})
                result.append(tuple([self.plain[solved[x]] if x in solved else f"{{{x}}}" for x in self.names]))
            else:
                result.append(tuple(map(self.plain.__getitem__, values)))
        return list(zip(*result, strict=True))

    def _looked_up(self, columns: Columns, count: int) -> Columns:
        """The columns, extended by the values that simple lookups find; None where a value is not unique. A unique
        value is correct, because this rule derives the rows. Only atoms without function calls are used for lookups.
        The atom with the fewest rows for each key is used first."""
        simple = [x for x in self.rule.body if isinstance(x, Atom) and all(map(_is_plain, x.arguments))]
        while not columns.keys() >= self.named and simple:
            near = [_Lookup.of(self.relations.database[atom.predicate], atom, columns) for atom in simple]
            best = min(range(len(near)), key=lambda n: near[n].ways()) if len(near) > 1 else 0
            del simple[best]
            columns = {**columns, **near[best].values(columns, count)}
        return columns

    def _solve(self, start: Assignment) -> Assignment:
        """The assignment with the values in the reason for one row, found by a search."""
        if self.ordered is None:
            self.ordered = join_order(self.rule.body, start, self.outer)
        assignment = start
        for at, literal in enumerate(self.ordered):
            if self.named <= assignment.keys():
                return assignment
            ways = list(islice(self.relations.extensions(literal, assignment, self.outer), 2))
            if len(ways) > 1:
                result = self.relations.solutions(self.ordered[at:], assignment, self.outer)
                wanted = sorted(self.named)
                several = (each for each, _ in result)
                return min(several, key=lambda a: [str(a.get(name, "")) for name in wanted], default=start)
            assignment = ways[0][1] if ways else assignment
        return assignment


class _PlainValues(dict[Any, str]):
    def __missing__(self, value: Any) -> str:
        text = self[value] = plain(value)
        return text


def _is_plain(term: Term) -> bool:
    return isinstance(term, RuleVariable | Wildcard | Constant)


class _Lookup(NamedTuple):
    """Looks up the values of the variables `sought`, if the values of the variables `known` are given. Both are
    {variable: index of a column of `rows`}."""

    rows: AbstractSet[Row]
    known: dict[str, int]
    sought: dict[str, int]

    @classmethod
    def of(cls, rows: AbstractSet[Row], atom: Atom, columns: Columns) -> _Lookup:
        at = {term.name: n for n, term in enumerate(atom.arguments) if isinstance(term, RuleVariable)}
        for n, term in enumerate(atom.arguments):
            if isinstance(term, Constant):
                value = value_of(term, {})
                rows = {row for row in rows if row[n] == value}
        known = {name: n for name, n in at.items() if name in columns}
        sought = {name: n for name, n in at.items() if name not in columns}
        return cls(rows, known, sought)

    def ways(self) -> float:
        """The average number of rows for each combination of values of the known variables."""
        return len(self.rows) / max(1, len(set(map(_columns(self.known.values()), self.rows))))

    def values(self, columns: Columns, count: int) -> Columns:
        """{variable: values for the rows} for each variable in `sought`; None where there is not exactly one value."""
        if not self.sought:
            return {}
        keys: Sequence[Any] = [()] * count
        if self.known:
            parts = [columns[name] for name in self.known]
            keys = list(zip(*parts, strict=True)) if len(parts) > 1 else parts[0]
        key, value = _columns(self.known.values()), _columns(self.sought.values())
        index: dict[Any, Any] = dict(zip(map(key, self.rows), map(value, self.rows), strict=True))
        if len(index) < len(self.rows):  # a key has several rows
            wanted = set(keys)
            index = {}
            for row in self.rows:
                if (at := key(row)) in wanted and index.setdefault(at, values := value(row)) != values:
                    index[at] = None
        results = list(map(index.get, keys))
        if len(self.sought) == 1:
            return {next(iter(self.sought)): results}
        nothing = (None,) * len(self.sought)
        return dict(zip(self.sought, zip(*[values or nothing for values in results], strict=True), strict=True))


def _columns(numbers: Collection[int]) -> Callable[[Row], Any]:
    """A function that returns these columns of a row: for one column its value, otherwise a tuple."""
    return itemgetter(*numbers) if numbers else itemgetter(slice(0))
