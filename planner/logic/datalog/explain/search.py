"""Finds proofs for rows of evaluated relations.

For proofs, an evaluation records only the rounds. Outside recursive components, a row depends only on earlier strata.
Within a recursive component, the rank of a row is the round in which it was derived. A proof of a row uses only rows of
lower rank in the same component, so proofs have no cycles."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from collections.abc import Set as AbstractSet
from operator import itemgetter
from typing import Any, TypeAlias

from planner.language.syntax import rule_syntax as syntax
from planner.logic.datalog.engine.evaluate import Database
from planner.logic.datalog.engine.interpret import Assignment, Interpreter, Solution, value_of
from planner.logic.datalog.engine.program import RuleProgram
from planner.logic.datalog.explain.render import Absence, AggregateValue, Condition, render
from planner.logic.datalog.language.model import Rule, outer_names
from planner.logic.datalog.language.order import join_order
from planner.logic.datalog.language.values import Row, sort_key

# maximum number of derivations of a row that are followed, the most promising first, because a vertex may have ten
# thousand edges
MAX_FOLLOWED = 32
# up to this number of lookups by a combination of columns, scanning all rows is cheaper than building an index
SCANS = 1

Goal: TypeAlias = tuple[str, Row]


class Proof:
    """The proof of a row. A leaf (`rule` is None) is a fact or a row of a native operator (`native`). Otherwise, `rule`
    derives the row under `assignment`, and `body` contains an entry for each literal of the rule, in order. The same
    proof object may be in the bodies of several proofs. `height`: 0 for a leaf, otherwise one more than the maximum
    height of the proofs in `body`."""

    __slots__ = ("assignment", "body", "height", "native", "predicate", "row", "rule")

    def __init__(
        self,
        predicate: str,
        row: Row,
        rule: Rule | None = None,
        assignment: Assignment | None = None,
        body: tuple[Entry, ...] = (),
        height: int = 0,
        native: str | None = None,
    ) -> None:
        self.predicate, self.row, self.rule = predicate, row, rule
        self.assignment: Assignment = assignment or {}
        self.body, self.height, self.native = body, height, native

    def steps(self) -> Iterator[Proof]:
        """All steps of the proof: the proof itself and all proofs in it. Each occurs once, after at least one step that
        uses it."""
        waiting: list[Proof] = [self]
        seen: set[int] = set()
        while waiting:
            at = waiting.pop()
            if id(at) not in seen:
                seen.add(id(at))
                yield at
                waiting += [entry for entry in reversed(at.body) if isinstance(entry, Proof)]

    def leaves(self) -> Iterator[Proof]:
        return (step for step in self.steps() if step.rule is None)

    def __repr__(self) -> str:
        by = self.rule.name if self.rule else self.native or "given"
        return f"Proof({self.predicate}{self.row}, {by}, height {self.height})"


Entry: TypeAlias = Proof | Absence | Condition | AggregateValue


class Relations(Interpreter):
    """The relations of a database, with indexes for the combinations of columns that are used."""

    def __init__(self, database: Database) -> None:
        self.database = database
        self._indexes: dict[tuple[str, tuple[int, ...]], dict[Any, list[Row]]] = {}
        self._asked: dict[tuple[str, tuple[int, ...]], int] = {}

    def rows(self, atom: syntax.Atom, assignment: Assignment) -> Iterable[Row]:
        values = [value_of(a, assignment) for a in atom.arguments]
        keys = tuple(i for i, value in enumerate(values) if value is not None)
        rows = self.database[atom.predicate]
        if len(keys) == len(values):
            row = tuple(values)
            return (row,) if row in rows else ()
        return self._candidates(atom.predicate, rows, keys, [values[i] for i in keys]) if keys else rows

    def _candidates(
        self, predicate: str, rows: AbstractSet[Row], keys: tuple[int, ...], known: list[Any]
    ) -> Sequence[Row]:
        """The rows with the values `known` in the columns `keys`, perhaps with further rows. The first SCANS lookups
        of a predicate in the same columns scan all rows, because most proofs need only a few lookups. Then an index is
        built."""
        index = self._indexes.get((predicate, keys))
        if index is None:
            asked = self._asked[predicate, keys] = self._asked.get((predicate, keys), 0) + 1
            if asked <= SCANS:
                if len(keys) == 1:
                    at, value = keys[0], known[0]
                    return [row for row in rows if row[at] == value]
                first, second, *_ = keys
                a, b = known[:2]
                return [row for row in rows if row[first] == a and row[second] == b]
            index = self._indexes[predicate, keys] = defaultdict(list)
            key = itemgetter(*keys)
            for row in rows:
                index[key(row)].append(row)
        return index.get(tuple(known) if len(known) > 1 else known[0], ())


class Prover:
    """Finds proofs in an evaluated database. Proofs are cached and shared."""

    def __init__(self, program: RuleProgram, database: Database) -> None:
        self.program, self.database = program, database
        self.relations = Relations(database)
        self._proofs: dict[Goal, Proof] = {}
        self._rules: dict[str, list[Rule]] = {}
        self._orders: dict[tuple[int, tuple[str, ...]], tuple[list[syntax.Literal], set[str]]] = {}
        empty = {name for name in program.predicates if name in database and not database[name]}
        for rule in program.rules:
            if not any(
                isinstance(x, syntax.Atom) and x.predicate in empty for x in rule.body
            ):  # if one of these predicates has no rows, the rule derives no rows
                self._rules.setdefault(rule.head.predicate, []).append(rule)
        self._component = {p: n for n, stratum in enumerate(program.strata) for p in stratum.predicates}
        self._least = self._least_heights()

    def why(self, predicate: str, row: Row) -> Proof | None:
        """A proof of a row; None if the row is not in the relation. Among the proofs of minimal height, the earliest
        rule is preferred, then the smallest rows. If a row has more than MAX_FOLLOWED derivations, only the most
        promising ones are compared. Raises KeyError for a predicate that was not evaluated."""
        if row not in self.database[predicate]:
            return None
        return self._prove((predicate, row))

    # -------- search

    def _least_heights(self) -> dict[str, int]:
        """{predicate: lower bound of the height of its proofs}."""
        least: dict[str, int] = {}
        for stratum in self.program.strata:
            for name in stratum.predicates:
                predicate = self.program.predicates[name]
                given = predicate.operator is not None or bool(self.database.facts.relation(name))
                least[name] = 0 if given or not self._rules.get(name) else 1 << 30
            changed = True
            while changed:
                changed = False
                for number in stratum.rules:
                    rule = self.program.rules[number]
                    height = 1 + max((least[x.predicate] for x in rule.body if isinstance(x, syntax.Atom)), default=0)
                    if height < least[rule.head.predicate]:
                        least[rule.head.predicate] = height
                        changed = True
        return least

    def _lower_bound(self, goal: Goal) -> int:
        proof = self._proofs.get(goal)
        if proof is not None:
            return proof.height
        predicate, row = goal
        if self._leaf(goal) is not None:
            return 0
        return max(self._least[predicate], self.database.rank(predicate, row) + 1)

    def _leaf(self, goal: Goal) -> Proof | None:
        predicate, row = goal
        if row in self.database.facts.relation(predicate):
            return Proof(predicate, row)
        native = self.program.predicates[predicate].operator
        return Proof(predicate, row, native=native) if native is not None else None

    def _prove(self, goal: Goal) -> Proof:
        """The proof of a row. The search is depth-first and has its own stack, because proofs may be deeper than
        Python's stack."""
        proofs = self._proofs
        stack = [_Search(self, goal)] if goal not in proofs else []
        while stack:
            search = stack[-1]
            missing = search.advance()
            if missing is not None:
                stack.append(_Search(self, missing))
            else:
                assert search.best is not None, f"{search.goal} is in its relation, but has no proof"
                proofs[search.goal] = search.best
                stack.pop()
        return proofs[goal]

    def derivations(self, goal: Goal) -> list[tuple[int, int, tuple[Row, ...], Assignment, dict[int, Row]]]:
        """(lower bound of the height, rule number, rows of the atoms, assignment, {id of an atom: row}) for each
        derivation of a row in one step from rows of lower rank."""
        predicate, row = goal
        component, rank = self._component[predicate], self.database.rank(predicate, row)
        ways = []
        for rule in self._rules.get(predicate, ()):
            for assignment, rows in self.rule_solutions(rule, row):
                bound = 0
                for literal in rule.body:
                    if isinstance(literal, syntax.Atom):
                        used = rows[id(literal)]
                        within = self._component[literal.predicate] == component
                        if within and self.database.rank(literal.predicate, used) >= rank:
                            break
                        bound = max(bound, self._lower_bound((literal.predicate, used)))
                else:
                    body = tuple(rows[id(x)] for x in rule.body if isinstance(x, syntax.Atom))
                    ways.append((bound + 1, rule.number, body, assignment, rows))
        return ways

    def rule_solutions(self, rule: Rule, row: Row) -> Iterator[Solution]:
        """The solutions of the body of a rule that derive a row."""
        start = matched_head(rule, row)
        if start is None:
            return
        plan = self._orders.get((rule.number, tuple(start)))
        if plan is None:
            outer = outer_names(rule.head, rule.body)
            plan = self._orders[rule.number, tuple(start)] = (join_order(rule.body, start, outer), outer)
        ordered, outer = plan
        for assignment, rows in self.relations.solutions(ordered, start, outer):
            if all(value_of(a, assignment) == v for a, v in zip(rule.head.arguments, row, strict=True)):
                yield assignment, rows

    def entries(self, rule: Rule, assignment: Assignment, rows: dict[int, Row]) -> tuple[Entry, ...]:
        """The body of a proof: an entry for each literal of a rule."""
        outer = outer_names(rule.head, rule.body)
        listed: list[Entry] = []
        for literal in rule.body:
            if isinstance(literal, syntax.Atom):
                listed.append(self._proofs[literal.predicate, rows[id(literal)]])
            elif isinstance(literal, syntax.Negation):
                arguments = literal.atom.arguments
                pattern = tuple(None if isinstance(a, syntax.Wildcard) else value_of(a, assignment) for a in arguments)
                listed.append(Absence(literal.atom.predicate, pattern))
            elif isinstance(literal, syntax.Aggregate):
                inner = {name: value for name, value in assignment.items() if name in outer}
                value = value_of(literal.result, assignment)
                listed.append(AggregateValue(render(literal, inner), value))
            else:
                listed.append(Condition(render(literal, assignment)))
        return tuple(listed)


def matched_head(rule: Rule, row: Row) -> Assignment | None:
    """The assignment that makes the head of a rule equal to a row. It contains only the variables that are themselves
    arguments of the head. None if there is no such assignment."""
    assignment: Assignment = {}
    for term, value in zip(rule.head.arguments, row, strict=True):
        if isinstance(term, syntax.RuleVariable):
            if assignment.setdefault(term.name, value) != value:
                return None
        else:
            known = value_of(term, {})
            if known is not None and known != value:
                return None
    return assignment


class _Search:
    """The search for the best proof of one row. Derivations are tried in the order of their lower bounds, until no
    remaining derivation can be better, or until MAX_FOLLOWED derivations have been tried."""

    __slots__ = ("best", "derivations", "followed", "goal", "prover")

    def __init__(self, prover: Prover, goal: Goal) -> None:
        self.prover, self.goal = prover, goal
        self.best = prover._leaf(goal)
        self.followed = 0
        # the last one is tried first
        self.derivations = [] if self.best else prover.derivations(goal)
        try:
            self.derivations.sort(key=itemgetter(0, 1, 2), reverse=True)
        except TypeError:
            self.derivations.sort(key=lambda d: (d[0], d[1], tuple(map(sort_key, d[2]))), reverse=True)

    def advance(self) -> Goal | None:
        """Try derivations. Returns a needed row that has no proof yet; None if the best proof is known."""
        prover = self.prover
        while self.derivations:
            bound, number, _body, assignment, rows = self.derivations[-1]
            if self.best is not None and (bound >= self.best.height or self.followed >= MAX_FOLLOWED):
                return None
            rule = prover.program.rules[number]
            height = 0
            for literal in rule.body:
                if isinstance(literal, syntax.Atom):
                    goal = (literal.predicate, rows[id(literal)])
                    proof = prover._proofs.get(goal)
                    if proof is None:
                        return goal
                    height = max(height, proof.height)
            self.derivations.pop()
            self.followed += 1
            if self.best is None or height + 1 < self.best.height:
                entries = prover.entries(rule, assignment, rows)
                self.best = Proof(*self.goal, rule, assignment, entries, height + 1)
        return None
