"""The naive evaluator: what rules mean, as plainly as possible. The oracle of evaluate.py on small fact bases."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from collections.abc import Set as AbstractSet

from planner.language.syntax.rule_syntax import (
    Aggregate,
    Atom,
    Builtin,
    Comparison,
    Literal,
    Negation,
    RuleVariable,
    Wildcard,
)
from planner.logic.datalog.engine.fact_base import FactBase
from planner.logic.datalog.engine.native import OPERATORS
from planner.logic.datalog.engine.program import RuleProgram
from planner.logic.datalog.engine.terms import Assignment, generated, holds, matched, value_of
from planner.logic.datalog.language.functions import aggregate
from planner.logic.datalog.language.model import outer_names, with_arguments
from planner.logic.datalog.language.order import is_ready
from planner.logic.datalog.language.values import Row

Relations = dict[str, set[Row]]
Known = Mapping[str, AbstractSet[Row]]


def evaluate_naively(program: RuleProgram, facts: FactBase) -> Relations:
    """Every relation of the program: in each stratum, apply all rules to all that is known until nothing changes."""
    known: Relations = {name: set(facts.relation(name)) for name in program.predicates}
    for stratum in program.strata:
        for name in stratum.predicates:
            predicate = program.predicates[name]
            if predicate.operator is not None:
                known[name].update(OPERATORS[predicate.operator](*(known[i] for i in predicate.inputs), {}))
        changed = True
        while changed:
            changed = False
            for number in stratum.rules:
                rule = program.rules[number]
                outer = outer_names(rule.head, rule.body)
                for assignment in list(solutions(rule.body, {}, known, outer)):
                    row = tuple(value_of(a, assignment) for a in rule.head.arguments)
                    if None not in row and row not in known[rule.head.predicate]:
                        known[rule.head.predicate].add(row)
                        changed = True
    return known


def solutions(body: tuple[Literal, ...], assignment: Assignment, known: Known, outer: set[str]) -> Iterator[Assignment]:
    """Every extension of the assignment under which all literals hold. Names that are not in `outer` are local to their
    aggregate."""
    if not body:
        yield assignment
        return
    literal = next((x for x in body if is_decidable(x, assignment, outer)), body[0])
    rest = tuple(x for x in body if x is not literal)
    for extended in extensions(literal, assignment, known, outer):
        yield from solutions(rest, extended, known, outer)


def is_decidable(literal: Literal, assignment: Assignment, outer: set[str]) -> bool:
    """Whether the variables that a literal needs have values."""
    return isinstance(literal, Atom) or is_ready(literal, set(assignment), outer)


def extensions(literal: Literal, assignment: Assignment, known: Known, outer: set[str]) -> Iterator[Assignment]:
    if isinstance(literal, Atom):
        for row in known[literal.predicate]:
            extended = matched(literal, row, assignment)
            if extended is not None:
                yield extended
    elif isinstance(literal, Negation):
        if not any(matched(literal.atom, row, assignment) is not None for row in known[literal.atom.predicate]):
            yield assignment
    elif isinstance(literal, Builtin):
        yield from generated(literal, assignment)
    elif isinstance(literal, Aggregate):
        yield from _bound(literal.result, aggregate_value(literal, assignment, known, outer), assignment)
    elif isinstance(literal, Comparison) and literal.operator == "=" and _unknown(literal, assignment) is not None:
        target = _unknown(literal, assignment)
        other = literal.right if target is literal.left else literal.left
        yield from _bound(target, value_of(other, assignment), assignment)
    elif holds(literal, assignment):
        yield assignment


def _unknown(literal: Comparison, assignment: Assignment) -> RuleVariable | None:
    for side in (literal.left, literal.right):
        if isinstance(side, RuleVariable) and side.name not in assignment:
            return side
    return None


def _bound(target: object, value: object, assignment: Assignment) -> Iterator[Assignment]:
    """The assignment in which the target has the value, if it can have it."""
    assert isinstance(target, RuleVariable)
    if value is not None and assignment.get(target.name, value) == value:
        yield {**assignment, target.name: value}  # type: ignore[dict-item]


def aggregate_value(literal: Aggregate, assignment: Assignment, known: Known, outer: set[str]) -> object | None:
    """The value of an aggregate: over all distinct assignments to its variables and wildcards."""
    fixed = {name: value for name, value in assignment.items() if name in outer}
    body: list[Literal] = []
    number = 0
    for inner in literal.body:
        if isinstance(inner, Atom) or (isinstance(inner, Builtin) and not inner.negated):
            arguments = list(inner.arguments if isinstance(inner, Atom) else inner.outputs)
            for i, argument in enumerate(arguments):
                if isinstance(argument, Wildcard):
                    number += 1
                    arguments[i] = RuleVariable(f"_ {number}", argument.start, argument.end)
            body.append(with_arguments(inner, tuple(arguments)))
        else:
            body.append(inner)
    assignments = {tuple(sorted(a.items(), key=lambda x: x[0])): a for a in solutions(tuple(body), fixed, known, outer)}
    if literal.expression is None:
        return len(assignments)
    values = [value_of(literal.expression, a) for a in assignments.values()]
    return aggregate(literal.function, [v for v in values if v is not None])
