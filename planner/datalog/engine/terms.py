"""The meaning of terms, tests and comparisons under an assignment of variables: what naive.py and explain.py share."""

from __future__ import annotations

from planner.datalog.front.functions import COMPARISONS, FUNCTIONS, TESTS
from planner.datalog.front.values import Row, Value, encode
from planner.syntax.rule_syntax import Atom, Call, Comparison, Constant, Term, Test, Variable, Wildcard

Assignment = dict[str, Value]


def value_of(term: Term, assignment: Assignment) -> Value | None:
    """The value of a term; None if it has none: a variable without value, a partial function without answer."""
    if isinstance(term, Variable):
        return assignment.get(term.name)
    if isinstance(term, Constant):
        return encode(term.value)
    if isinstance(term, Call):
        values = [value_of(a, assignment) for a in term.arguments]
        if None in values:
            return None
        return FUNCTIONS[term.function].function(*values)  # type: ignore[no-any-return]
    return None


def holds(literal: Comparison | Test, assignment: Assignment) -> bool:
    """Whether a comparison or test of known values holds. One whose values do not exist does not,
    negated or not; but `undefined` asks for that."""
    terms = (literal.left, literal.right) if isinstance(literal, Comparison) else literal.arguments
    values = [value_of(t, assignment) for t in terms]
    if isinstance(literal, Test) and literal.function == "undefined":
        return (None in values) != literal.negated
    if None in values:
        return False
    if isinstance(literal, Comparison):
        return COMPARISONS[literal.operator](*values)
    return bool(TESTS[literal.function].function(*values)) != literal.negated


def matched(atom: Atom, row: Row, assignment: Assignment) -> Assignment | None:
    """The assignment, extended so that the atom is this row; None if it cannot be."""
    extended: Assignment | None = None
    for term, value in zip(atom.arguments, row, strict=True):
        if isinstance(term, Wildcard):
            continue
        known = value_of(term, assignment if extended is None else extended)
        if known is not None:
            if known != value:
                return None
        elif isinstance(term, Variable):
            if extended is None:
                extended = dict(assignment)
            extended[term.name] = value
        else:
            return None
    return assignment if extended is None else extended
