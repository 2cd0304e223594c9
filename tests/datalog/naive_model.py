"""What rules derive from facts, worked out without the engine: the oracle that proofs are checked against.

Rules are read as text by the reader of the proof checker; of the engine only what it was given is taken. Each group of
predicates that depend on each other is worked out after those that it needs, all its rules over and over until nothing
is new.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from datalog.proof_checker import TESTS, Reader, compare, run_test, unify, value

from planner.logic.datalog.engine.evaluate import Database
from planner.logic.datalog.engine.program import RuleProgram
from planner.logic.datalog.language.values import decode

Row = tuple[Any, ...]
BUILT_IN = {"find_all": (2, lambda text, pattern: enumerate(m.group() for m in re.finditer(pattern, text)))}
"""relations that are built in: how many columns they are given, and what makes the rows of the others"""


class Model:
    """All tuples that hold. `rules` are texts; `facts` the given rows."""

    def __init__(self, rules: Iterable[str], facts: Mapping[str, Iterable[Row]]) -> None:
        self._rows: dict[str, dict[Row, Row]] = {}
        self._indexes: dict[tuple[str, tuple[int, ...]], dict[Row, list[Row]]] = {}
        for name, rows in facts.items():
            for row in rows:
                self._add(name, row)
        read = [Reader(text).rule() for text in rules]
        by_head: dict[str, list[Any]] = {}
        for head, body in read:
            outer = _variables(head) | {v for literal in body for v in _outside(literal)}
            by_head.setdefault(head[1], []).append((head, _in_order(body, outer), outer))
        needs = {name: {p for _, body, _ in given for p in _predicates(body)} for name, given in by_head.items()}
        for group in _groups(needs):
            is_new = True
            while is_new:
                is_new = False
                for name in group:
                    for head, body, outer in by_head.get(name, ()):
                        rows = [tuple(value(t, bound) for t in head[2]) for bound in self._solve(body, {}, outer)]
                        for row in rows:
                            is_new |= None not in row and self._add(name, row)

    @classmethod
    def of(cls, program: RuleProgram, database: Database) -> Model:
        """Of what a program was given; what native operators made of it is taken as given, too."""
        native = {name for name, predicate in program.predicates.items() if predicate.operator is not None}
        given = {
            name: [plain(row) for row in (database[name] if name in native else database.facts.relation(name))]
            for name in program.predicates
        }
        return cls((rule.text for rule in program.rules), given)

    def holds(self, predicate: str) -> Iterable[Row]:
        """The rows of a predicate."""
        return self._rows.get(predicate, {}).values()

    def differences(self, program: RuleProgram, database: Database) -> list[str]:
        """The predicates of which a database has other rows."""
        return [
            name
            for name in program.predicates
            if self._rows.get(name, {}).keys() != {typed(plain(row)) for row in database[name]}
        ]

    def _add(self, name: str, row: Row) -> bool:
        rows = self._rows.setdefault(name, {})
        key = typed(row)
        if key in rows:
            return False
        rows[key] = row
        for (predicate, columns), index in self._indexes.items():
            if predicate == name:
                index.setdefault(tuple(key[c] for c in columns), []).append(row)
        return True

    def _matching(self, atom: Any, bound: dict[str, Any]) -> list[Row]:
        """The rows that agree with what is known of an atom."""
        wanted = {c: v for c, t in enumerate(atom[2]) if t[0] != "any" and (v := value(t, bound)) is not None}
        columns = tuple(wanted)
        index = self._indexes.get((atom[1], columns))
        if index is None:
            index = self._indexes[atom[1], columns] = {}
            for key, row in self._rows.get(atom[1], {}).items():
                index.setdefault(tuple(key[c] for c in columns), []).append(row)
        return list(index.get(typed(tuple(wanted.values())), ()))

    def _solve(self, body: Sequence[Any], bound: dict[str, Any], outer: set[str]) -> Iterator[dict[str, Any]]:
        if not body:
            yield bound
            return
        literal, rest = body[0], body[1:]
        if literal[0] == "atom" and literal[1][1] in BUILT_IN:
            given, rows = BUILT_IN[literal[1][1]]
            for row in rows(*(value(t, bound) for t in literal[1][2][:given])):
                extended = dict(bound)
                if unify(literal[1][2][given:], list(row), extended):
                    yield from self._solve(rest, extended, outer)
        elif literal[0] == "atom" and literal[1][1] not in TESTS:
            for row in self._matching(literal[1], bound):
                extended = dict(bound)
                if unify(literal[1][2], list(row), extended):
                    yield from self._solve(rest, extended, outer)
        elif literal[0] == "compare":
            left, right = value(literal[2], bound), value(literal[3], bound)
            if literal[1] == "=" and (left is None) != (right is None):
                unknown = literal[2] if left is None else literal[3]
                yield from self._solve(rest, {**bound, unknown[1]: right if left is None else left}, outer)
            elif left is not None and right is not None and compare(literal[1], left, right):
                yield from self._solve(rest, bound, outer)
        elif literal[0] == "aggregate":
            found = self._aggregate(literal, bound, outer)
            extended = dict(bound)
            if found is not None and unify([literal[1]], [found], extended):
                yield from self._solve(rest, extended, outer)
        elif literal[0] == "not" and literal[1][1] not in TESTS:
            if not self._matching(literal[1], bound):
                yield from self._solve(rest, bound, outer)
        elif run_test(literal[1], bound) == (literal[0] == "atom"):
            yield from self._solve(rest, bound, outer)

    def _aggregate(self, literal: Any, bound: dict[str, Any], outer: set[str]) -> Any:
        _, _, function, of, body = literal
        inner = {name: v for name, v in bound.items() if name in outer}
        values = [1 if of is None else value(of, s) for s in self._solve(_in_order(body, outer, inner), inner, outer)]
        if function == "count":
            return len(values)
        if function == "sum":
            total = sum(values)
            return int(total) if total == int(total) else total
        return (min if function == "min" else max)(values) if values else None


def plain(row: Row) -> Row:
    return tuple(map(decode, row))


def typed(row: Row) -> Row:
    return tuple(x if x.__class__ is str else (x.__class__.__name__, x) for x in row)


# ---------------------------------------------------------------- the order of literals


def _in_order(body: Sequence[Any], outer: set[str], known: Iterable[str] = ()) -> list[Any]:
    """What can be decided first, then the atom of which most is known."""
    bound, waiting, ordered = set(known), list(body), []
    while waiting:
        ready = [x for x in waiting if _is_ready(x, bound, outer)]
        if not ready:
            ready = [x for x in waiting if x[0] == "atom" and x[1][1] not in TESTS and x[1][1] not in BUILT_IN]
            ready.sort(key=lambda x: -len([t for t in x[1][2] if t[0] != "any" and _variables(t) <= bound]))
        literal = ready[0]
        waiting.remove(literal)
        ordered.append(literal)
        bound |= _outside(literal)
    return ordered


def _is_ready(literal: Any, bound: set[str], outer: set[str]) -> bool:
    if literal[0] == "compare":
        open_sides = [side for side in literal[2:] if not _variables(side) <= bound]
        return not open_sides or (literal[1] == "=" and len(open_sides) == 1 and open_sides[0][0] == "variable")
    if literal[0] == "aggregate":
        return {v for inner in literal[4] for v in _outside(inner)} & outer <= bound | _variables(literal[1])
    if literal[0] == "atom" and literal[1][1] in BUILT_IN:
        given, _ = BUILT_IN[literal[1][1]]
        return {v for term in literal[1][2][:given] for v in _variables(term)} <= bound
    return (literal[0] == "not" or literal[1][1] in TESTS) and _variables(literal[1]) <= bound


def _variables(term: Any) -> set[str]:
    if term[0] == "variable":
        return {term[1]}
    return {v for inner in term[2] for v in _variables(inner)} if term[0] == "call" else set()


def _outside(literal: Any) -> set[str]:
    """The variables of a literal; of an aggregate only its result."""
    if literal[0] == "compare":
        return _variables(literal[2]) | _variables(literal[3])
    return _variables(literal[1])


def _predicates(body: Iterable[Any]) -> Iterator[str]:
    for literal in body:
        if literal[0] == "aggregate":
            yield from _predicates(literal[4])
        elif literal[0] in ("atom", "not") and literal[1][1] not in TESTS and literal[1][1] not in BUILT_IN:
            yield literal[1][1]


def _groups(needs: Mapping[str, set[str]]) -> list[list[str]]:
    """Predicates that need each other together, each group behind those that it needs."""
    numbers: dict[str, int] = {}
    low: dict[str, int] = {}
    stack: list[str] = []
    groups: list[list[str]] = []

    def visit(name: str) -> None:
        numbers[name] = low[name] = len(numbers)
        stack.append(name)
        for needed in sorted(needs.get(name, ())):
            if needed not in numbers:
                visit(needed)
                low[name] = min(low[name], low[needed])
            elif needed in stack:
                low[name] = min(low[name], numbers[needed])
        if low[name] == numbers[name]:
            group = []
            while not group or group[-1] != name:
                group.append(stack.pop())
            groups.append(group)

    for name in sorted(needs):
        if name not in numbers:
            visit(name)
    return groups
