"""The rules that derive each row of a relation, for all rows at once.

A proof of every edge of a large graph takes minutes. Here each rule is run once more over the derived rows, so that it
returns all of its own; rules that only pass a relation on are followed down to those that do not.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Set as AbstractSet
from itertools import islice
from typing import Any

from planner.foundation.vocabulary.records import frozen
from planner.language.syntax.rule_syntax import Atom, Literal
from planner.logic.datalog.engine.evaluate import Database
from planner.logic.datalog.engine.interpret import Assignment
from planner.logic.datalog.engine.program import CompiledFunction, RuleProgram
from planner.logic.datalog.explain.render import reason_text
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
    that derive that relation. A given fact has none. For relations that do not depend on themselves."""
    result = _Makers(program, database)
    result.follow(predicate, rows & database[predicate], 0)
    return dict(result.found)


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
        """All that the rule gives, with everything known that holds."""
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
    """The relation whose rows the rule passes on as they are: one atom of the body has the columns of the head."""
    same = [x.predicate for x in rule.body if isinstance(x, Atom) and _terms(x) == _terms(rule.head)]
    return same[0] if len(same) == 1 else None


def _terms(atom: Atom) -> list[str]:
    return [str(argument) for argument in atom.arguments]


class _Reasons:
    """The reasons of one rule. Values that the head does not have are looked up in the body, the least of several."""

    def __init__(self, rule: Rule, relations: Relations) -> None:
        self.rule, self.relations = rule, relations
        self.named = set(_NAMED.findall(rule.reason))
        self.outer = outer_names(rule.head, rule.body)
        self.ordered: list[Literal] | None = None

    def of(self, row: Row) -> str:
        start = matched_head(self.rule, row) or {}
        if not self.named <= start.keys():
            start = self._solved(start)
        return reason_text(self.rule, start)

    def _solved(self, start: Assignment) -> Assignment:
        """The values that the reason names. As the row holds by this rule, what can be in one way only is so."""
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
