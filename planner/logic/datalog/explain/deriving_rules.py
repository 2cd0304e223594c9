"""The rules that derive each row of a relation, for all rows at once. Separate proofs for every edge of a large graph
would take minutes. Instead, each rule is run once more over the derived rows and returns all its rows. Rules that only
pass on another relation are followed to the rules of that relation."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Set as AbstractSet
from itertools import islice, zip_longest
from typing import Any

from planner.foundation.vocabulary.records import frozen
from planner.language.syntax.rule_syntax import Atom, Literal, RuleVariable, Term, Wildcard
from planner.logic.datalog.engine.evaluate import Database
from planner.logic.datalog.engine.interpret import Assignment
from planner.logic.datalog.engine.program import CompiledFunction, RuleProgram
from planner.logic.datalog.explain.render import plain
from planner.logic.datalog.explain.search import Relations, matched_head
from planner.logic.datalog.language.model import Rule, outer_names
from planner.logic.datalog.language.order import join_order
from planner.logic.datalog.language.values import Row

_NAMED = re.compile(r"\{(\w+)\}")
DEEPEST = 12
"""relations that pass rows on to each other"""


@frozen
class Maker:
    """A rule that derives a row, and its reason with the values in it."""

    rule: str
    reason: str


def makers(program: RuleProgram, database: Database, predicate: str, rows: AbstractSet[Row]) -> dict[Row, list[Maker]]:
    """The rules that derive each of these rows, without those that only pass on another relation; for these, the rules
    that derive that relation. A given fact has no rule. Only for relations that do not depend on themselves."""
    result = _Makers(program, database)
    result.follow(predicate, rows & database[predicate], 0)
    return dict(result.found)


def relations_read(program: RuleProgram, predicate: str) -> tuple[str, ...]:
    """The relations that `makers` reads for rows of this one. A database that has kept them need not derive them
    again."""
    functions = {function.rule: function for step in program.compiled.steps for function in step.functions}
    names = {p.number: name for name, p in program.predicates.items()}
    waiting, reached = [predicate], {predicate}
    while waiting:
        for rule in program.rules_for(waiting.pop()):
            function = functions.get(rule.number)
            below = _passed_on(rule)
            if below is not None and below not in reached and program.predicates[below].operator is None:
                waiting.append(below)
            reached.update(names[number] for number in (function.reads if function is not None else ()))
    return tuple(sorted(reached))


class _Makers:
    def __init__(self, program: RuleProgram, database: Database) -> None:
        self.program, self.database = program, database
        self.relations = Relations(database)
        self.found: dict[Row, list[Maker]] = defaultdict(list)
        self.numbers = {p.number: name for name, p in program.predicates.items()}
        self.functions: dict[int, CompiledFunction] = {}
        for step in program.compiled.steps:
            for function in step.functions:
                self.functions.setdefault(function.rule, function)
        self.rows_of: list[Any] = [None] * len(program.predicates)
        self.indexes: list[Any] = [None] * len(program.compiled.indexes)

    def follow(self, predicate: str, wanted: AbstractSet[Row], depth: int) -> None:
        passing: dict[str, set[Row]] = {}
        for rule in self.program.rules_for(predicate):
            rows = wanted & self._rows(rule)
            below = _passed_on(rule)
            if below is not None and self.program.predicates[below].operator is None and depth < DEEPEST:
                passing.setdefault(below, set()).update(rows)
                continue
            reasons = _Reasons(rule, self.relations)
            for row in rows:
                self.found[row].append(Maker(rule.name, reasons.of(row)))
        for below, rows in passing.items():
            if rows:
                self.follow(below, rows, depth + 1)

    def _rows(self, rule: Rule) -> AbstractSet[Row]:
        """All rows that the rule derives from the database."""
        function = self.functions.get(rule.number)
        if function is None:
            return frozenset()
        for number in function.reads:
            self._known(number)
        if not all(self.rows_of[number] for number in function.positives):
            return frozenset()
        for need in function.needs:
            index = self.program.compiled.indexes[need]
            if self.indexes[need] is None:
                made: Any = defaultdict(list) if index.has_rows else set()
                self.program.functions[f"x{need}"](self._known(index.predicate), made)
                self.indexes[need] = made
        delta = self._known(function.delta) if function.delta >= 0 else None
        run = self.program.functions[f"f{function.number}"]
        rows = run(self.rows_of, self.indexes, delta, {})
        return rows.keys()  # type: ignore[no-any-return]

    def _known(self, number: int) -> Any:
        if self.rows_of[number] is None:
            self.rows_of[number] = self.database.rows(self.numbers[number])
        return self.rows_of[number]


def _passed_on(rule: Rule) -> str | None:
    """The relation whose rows the rule passes on unchanged: an atom of the body has the columns of the head."""
    same = [x.predicate for x in rule.body if isinstance(x, Atom) and _terms(x) == _terms(rule.head)]
    return same[0] if len(same) == 1 else None


def _terms(atom: Atom) -> list[str]:
    return [str(argument) for argument in atom.arguments]


class _Reasons:
    """The reasons of one rule. Values that are not in the head are looked up in the body; of several values the least
    is used."""

    def __init__(self, rule: Rule, relations: Relations) -> None:
        self.rule, self.relations = rule, relations
        self.parts = _NAMED.split(rule.reason)
        self.named = set(self.parts[1::2])
        self.outer = outer_names(rule.head, rule.body)
        self.ordered: list[Literal] | None = None
        self.lookups: list[_Lookup] | None = None

    def of(self, row: Row) -> str:
        start = matched_head(self.rule, row) or {}
        if not self.named <= start.keys():
            start = self._looked_up(start) or self._solved(start)
        if not self.rule.reason:
            return self.rule.text
        texts = [plain(start[name]) if name in start else f"{{{name}}}" for name in self.parts[1::2]]
        return "".join(map("".join, zip_longest(self.parts[::2], texts, fillvalue="")))

    def _looked_up(self, start: Assignment) -> Assignment | None:
        """The values in the reason, if simple lookups find each of them uniquely. Since this rule derives the row, a
        unique value is correct."""
        if self.lookups is None:
            self.lookups = self._plan(start)
        assignment = dict(start)
        for lookup in self.lookups:
            values = lookup.index.get(tuple([assignment[key] for key in lookup.known]))
            if values is None:
                return None
            assignment.update(zip(lookup.sought, values, strict=True))
        return assignment if self.named <= assignment.keys() else None

    def _plan(self, start: Assignment) -> list[_Lookup]:
        """Lookups in atoms that contain only variables and wildcards; the lookup with the fewest rows per key comes
        next."""
        atoms = [x for x in self.rule.body if isinstance(x, Atom) and all(map(_is_variable, x.arguments))]
        known, plan = set(start), list[_Lookup]()
        while not self.named <= known and atoms:
            near = [_Lookup.of(self.relations.database[atom.predicate], atom, known) for atom in atoms]
            best = min(range(len(near)), key=lambda n: near[n].ways)
            del atoms[best]
            if near[best].sought:
                plan.append(near[best])
                known.update(near[best].sought)
        return plan

    def _solved(self, start: Assignment) -> Assignment:
        """The values in the reason, found by a search."""
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


def _is_variable(term: Term) -> bool:
    return isinstance(term, RuleVariable | Wildcard)


@frozen(eq=False)
class _Lookup:
    """The values of the variables `sought` by those of the variables `known`; None if there are several. `ways`: the
    average number of rows for a key."""

    known: tuple[str, ...]
    sought: tuple[str, ...]
    index: dict[Row, Row | None]
    ways: float

    @classmethod
    def of(cls, rows: AbstractSet[Row], atom: Atom, known: set[str]) -> _Lookup:
        places = {term.name: at for at, term in enumerate(atom.arguments) if isinstance(term, RuleVariable)}
        keys = tuple(name for name in places if name in known)
        sought = tuple(name for name in places if name not in known)
        at, others = [places[name] for name in keys], [places[name] for name in sought]
        index: dict[Row, Row | None] = {}
        for row in rows:
            key, value = tuple([row[n] for n in at]), tuple([row[n] for n in others])
            if index.setdefault(key, value) != value:
                index[key] = None
        return cls(keys, sought, index, len(rows) / len(index) if index else 0.0)
