"""The meaning of terms, tests and comparisons under an assignment of variables: what the naive evaluator and proofs
share."""

from __future__ import annotations

from collections.abc import Iterator

from planner.language.syntax.rule_syntax import (
    Atom,
    Builtin,
    Comparison,
    Constant,
    RuleCall,
    RuleVariable,
    Term,
    Test,
    Wildcard,
)
from planner.logic.datalog.language.builtins import FUNCTIONS, RELATIONS, TESTS
from planner.logic.datalog.language.functions import COMPARISONS
from planner.logic.datalog.language.values import Row, Value, encode

Assignment = dict[str, Value]


def value_of(term: Term, assignment: Assignment) -> Value | None:
    """The value of a term; None if it has none: a variable without value, a partial function without answer."""
    if isinstance(term, RuleVariable):
        return assignment.get(term.name)
    if isinstance(term, Constant):
        return encode(term.value)
    if isinstance(term, RuleCall):
        values = [value_of(a, assignment) for a in term.arguments]
        if None in values:
            return None
        return (FUNCTIONS.get(term.function) or RELATIONS[term.function]).function(*values)  # type: ignore[no-any-return]
    return None


def holds(literal: Comparison | Test, assignment: Assignment) -> bool:
    """Whether a comparison or test of known values holds. One whose values do not exist does not, negated or not; but
    `undefined` tests for that."""
    terms = (literal.left, literal.right) if isinstance(literal, Comparison) else literal.arguments
    values = [value_of(t, assignment) for t in terms]
    if isinstance(literal, Test) and literal.function == "undefined":
        return (None in values) != literal.negated
    if None in values:
        return False
    if isinstance(literal, Comparison):
        return COMPARISONS[literal.operator](*values)
    return bool(TESTS[literal.function].function(*values)) != literal.negated


def generated(literal: Builtin, assignment: Assignment) -> Iterator[Assignment]:
    """The assignments under which a built-in relation, whose inputs are known, holds. One whose inputs do not exist, or
    make no sense, does not, negated or not."""
    values = [value_of(term, assignment) for term in literal.inputs]
    rows = None if None in values else RELATIONS[literal.relation].function(*values)
    if rows is None:
        return
    outputs = literal.outputs
    if any(value_of(term, assignment) is None for term in outputs if isinstance(term, RuleCall)):
        return
    found = (_fitting(outputs, row, assignment) for row in rows)
    if not literal.negated:
        yield from (extended for extended in found if extended is not None)
    elif all(extended is None for extended in found):
        yield assignment


def matched(atom: Atom, row: Row, assignment: Assignment) -> Assignment | None:
    """The assignment, extended so that the atom is this row; None if it cannot be."""
    return _fitting(atom.arguments, row, assignment)


def _fitting(terms: tuple[Term, ...], row: Row, assignment: Assignment) -> Assignment | None:
    extended: Assignment | None = None
    for term, value in zip(terms, row, strict=True):
        if isinstance(term, Wildcard):
            continue
        known = value_of(term, assignment if extended is None else extended)
        if known is not None:
            if known != value:
                return None
        elif isinstance(term, RuleVariable):
            if extended is None:
                extended = dict(assignment)
            extended[term.name] = value
        else:
            return None
    return assignment if extended is None else extended
