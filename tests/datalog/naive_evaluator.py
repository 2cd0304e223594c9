"""The naive evaluator: the meaning of rules, as plainly as possible. The oracle of evaluate.py on small fact bases."""

from __future__ import annotations

from collections.abc import Iterable
from collections.abc import Set as AbstractSet

from planner.language.syntax.rule_syntax import Atom, Literal
from planner.logic.datalog.engine.fact_base import FactBase
from planner.logic.datalog.engine.interpret import Assignment, Interpreter, value_of
from planner.logic.datalog.engine.native import OPERATORS
from planner.logic.datalog.engine.program import RuleProgram
from planner.logic.datalog.language.model import outer_names
from planner.logic.datalog.language.order import is_ready
from planner.logic.datalog.language.values import Row

Relations = dict[str, set[Row]]


def evaluate_naively(program: RuleProgram, facts: FactBase) -> Relations:
    """Every relation of the program: in each stratum, apply all rules to all that is known until nothing changes."""
    known: Relations = {name: set(facts.relation(name)) for name in program.predicates}
    naive = _Naive(known)
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
                for assignment, _ in list(naive.solutions(naive.order(rule.body, (), outer), {}, outer)):
                    row = tuple(value_of(a, assignment) for a in rule.head.arguments)
                    if None not in row and row not in known[rule.head.predicate]:
                        known[rule.head.predicate].add(row)
                        changed = True
    return known


class _Naive(Interpreter):
    """All rows are candidates. Literals are taken in textual order, once the variables that they need have values."""

    def __init__(self, known: Relations) -> None:
        self.known = known

    def rows(self, atom: Atom, assignment: Assignment) -> AbstractSet[Row]:
        return self.known[atom.predicate]

    def order(self, body: tuple[Literal, ...], bound: Iterable[str], outer: set[str]) -> list[Literal]:
        known, waiting, ordered = set(bound), list(body), list[Literal]()
        while waiting:
            literal = next((x for x in waiting if isinstance(x, Atom) or is_ready(x, known, outer)), waiting[0])
            waiting.remove(literal)
            ordered.append(literal)
            known |= outer_names(None, (literal,))
        return ordered
