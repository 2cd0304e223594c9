"""Evaluates bodies of rules under an assignment of variables, without compiling them. The values are values of rules.
For other values, such as the symbols for unknown values in case_analysis.py, subclasses override the methods that
compare and compute values."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from operator import itemgetter
from typing import Any, TypeAlias

from planner.language.syntax import rule_syntax as syntax
from planner.logic.datalog.language.builtins import FUNCTIONS, RELATIONS, TESTS
from planner.logic.datalog.language.functions import COMPARISONS, aggregate
from planner.logic.datalog.language.model import inner_names, without_wildcards
from planner.logic.datalog.language.order import join_order
from planner.logic.datalog.language.values import Row, Value, encode

Assignment = dict[str, Value]
Way: TypeAlias = tuple[Row | None, Assignment]
"""a match of a literal: the matched row (only for an atom), and the extended assignment"""
Solution: TypeAlias = tuple[Assignment, dict[int, Row]]  # an assignment, and the matched rows by id of the atom


class Interpreter:
    # -------- the domain

    def rows(self, atom: syntax.Atom, assignment: Assignment) -> Iterable[Row]:
        """All rows of the atom's relation that match the atom, perhaps with rows that do not match."""
        raise NotImplementedError

    def order(self, body: tuple[syntax.Literal, ...], bound: Iterable[str], outer: set[str]) -> list[syntax.Literal]:
        """The literals of a body in an order in which variables are bound before they are needed."""
        return join_order(body, bound, outer)

    def value(self, term: syntax.Term, assignment: Assignment) -> Any:
        """The value of a term; None if it has no value, as for an unbound variable or a function without a result."""
        if isinstance(term, syntax.RuleVariable):
            return assignment.get(term.name)
        if isinstance(term, syntax.Constant):
            return encode(term.value)
        if isinstance(term, syntax.RuleCall):
            values = [self.value(a, assignment) for a in term.arguments]
            return None if None in values else self.computed(term.function, values)
        return None

    def computed(self, function: str, arguments: list[Any]) -> Any:
        """The result of a built-in function: a value, or the rows of a built-in relation."""
        return (FUNCTIONS.get(function) or RELATIONS[function]).function(*arguments)

    def equal(self, one: Any, other: Any) -> bool:
        return bool(one == other)

    def compared(self, operator: str, left: Any, right: Any) -> bool:
        return COMPARISONS[operator](left, right)

    def tested(self, function: str, arguments: list[Any]) -> bool:
        return bool(TESTS[function].function(*arguments))

    def related(self, literal: syntax.Builtin, inputs: list[Any], assignment: Assignment) -> Iterable[Row] | None:
        """The rows of outputs of a built-in relation; None if the inputs are invalid."""
        return RELATIONS[literal.relation].function(*inputs)  # type: ignore[no-any-return]

    def distinct(self, assignments: Iterable[Assignment]) -> list[Assignment]:
        return list({tuple(sorted(a.items(), key=itemgetter(0))): a for a in assignments}.values())

    def aggregated(self, function: str, values: list[Any]) -> Any:
        """The minimum, maximum or sum of values; None if there is no result, as for the minimum of no values."""
        return aggregate(function, values)

    # -------- literals

    def solutions(self, ordered: list[syntax.Literal], assignment: Assignment, outer: set[str]) -> Iterator[Solution]:
        """(assignment, matched rows) for each extension of an assignment that makes all literals true. Names that are
        not in `outer` are local to their aggregate."""
        if not ordered:
            yield assignment, {}
            return
        literal = ordered[0]
        for row, extended in self.extensions(literal, assignment, outer):
            for final, rows in self.solutions(ordered[1:], extended, outer):
                if row is not None:
                    rows[id(literal)] = row
                yield final, rows

    def extensions(self, literal: syntax.Literal, assignment: Assignment, outer: set[str]) -> Iterator[Way]:
        """The matches of one literal: the extensions of the assignment that make it true."""
        if isinstance(literal, syntax.Atom):
            yield from self.matching(literal, assignment)
        elif isinstance(literal, syntax.Negation):
            if next(self.matching(literal.atom, assignment), None) is None:
                yield None, assignment
        elif isinstance(literal, syntax.Builtin):
            yield from self.generated(literal, assignment)
        elif isinstance(literal, syntax.Aggregate):
            yield from self.bind(literal.result, self.aggregate(literal, assignment, outer), assignment)
        elif isinstance(literal, syntax.Comparison):
            yield from self.comparison(literal, assignment)
        elif self.holds(literal, assignment):
            yield None, assignment

    def matching(self, atom: syntax.Atom, assignment: Assignment) -> Iterator[tuple[Row, Assignment]]:
        for row in self.rows(atom, assignment):
            extended = self.unified(atom.arguments, row, assignment)
            if extended is not None:
                yield row, extended

    def unified(self, terms: tuple[syntax.Term, ...], row: Row, assignment: Assignment) -> Assignment | None:
        """The assignment, extended so that the terms are equal to a row; None if this is impossible."""
        extended = assignment
        for term, value in zip(terms, row, strict=True):
            if isinstance(term, syntax.Wildcard):
                continue
            known = self.value(term, extended)
            if known is not None:
                if not self.equal(known, value):
                    return None
            elif isinstance(term, syntax.RuleVariable):
                if extended is assignment:
                    extended = dict(assignment)
                extended[term.name] = value
            else:
                return None
        return extended

    def bind(self, target: syntax.Term, value: Any, assignment: Assignment) -> Iterator[Way]:
        """The assignment with this value of the variable `target`. There is no match if the value is None, or if the
        variable already has a different value."""
        assert isinstance(target, syntax.RuleVariable)
        if value is None:
            return
        if target.name not in assignment:
            yield None, {**assignment, target.name: value}
        elif self.equal(assignment[target.name], value):
            yield None, assignment

    def comparison(self, literal: syntax.Comparison, assignment: Assignment) -> Iterator[Way]:
        """The matches of a comparison. If an operand has no value, there is no match, except that `=` assigns a value
        to an unbound variable."""
        if literal.operator == "=":
            for target, term in literal.sides:
                if isinstance(target, syntax.RuleVariable) and target.name not in assignment:
                    yield from self.bind(target, self.value(term, assignment), assignment)
                    return
        left, right = self.value(literal.left, assignment), self.value(literal.right, assignment)
        if left is not None and right is not None and self.compared(literal.operator, left, right):
            yield None, assignment

    def holds(self, literal: syntax.Test, assignment: Assignment) -> bool:
        """Whether a test, perhaps negated, is true. If an argument has no value, the test is false, whether it is
        negated or not. Only the test `undefined` detects a missing value."""
        values = [self.value(t, assignment) for t in literal.arguments]
        if literal.function == "undefined":
            return (None in values) != literal.negated
        return None not in values and self.tested(literal.function, values) != literal.negated

    def generated(self, literal: syntax.Builtin, assignment: Assignment) -> Iterator[Way]:
        """The matches of a built-in relation, perhaps negated. There is no match if an input is invalid or has no
        value."""
        inputs = [self.value(term, assignment) for term in literal.inputs]
        rows = None if None in inputs else self.related(literal, inputs, assignment)
        outputs = literal.outputs
        if rows is None or any(self.value(t, assignment) is None for t in outputs if isinstance(t, syntax.RuleCall)):
            return
        items = (extended for row in rows if (extended := self.unified(outputs, row, assignment)) is not None)
        if not literal.negated:
            yield from ((None, extended) for extended in items)
        elif next(items, None) is None:
            yield None, assignment

    # -------- aggregates

    def aggregate(self, literal: syntax.Aggregate, assignment: Assignment, outer: set[str]) -> Any:
        """The value of an aggregate, computed from all distinct assignments to its variables and wildcards."""
        fixed = {name: value for name, value in assignment.items() if name in outer}
        scope = outer | inner_names(literal)
        return self.aggregate_of(literal, self.inner_order(literal, fixed, scope), fixed, scope)

    def inner_order(self, literal: syntax.Aggregate, bound: Iterable[str], scope: set[str]) -> list[syntax.Literal]:
        return self.order(without_wildcards(literal.body), bound, scope)

    def aggregate_of(
        self, literal: syntax.Aggregate, ordered: list[syntax.Literal], fixed: Assignment, scope: set[str]
    ) -> Any:
        """The value of an aggregate whose body is in evaluation order. `fixed`: the values of outer variables."""
        result = self.distinct(assignment for assignment, _ in self.solutions(ordered, fixed, scope))
        if literal.expression is None:
            return len(result)
        values = [self.value(literal.expression, assignment) for assignment in result]
        return self.aggregated(literal.function, [value for value in values if value is not None])


value_of = Interpreter().value  # the plain value of a term, None if the term has no value
