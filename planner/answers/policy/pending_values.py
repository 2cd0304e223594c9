"""Finds the unknown values and references on which undecided verdicts depend."""

from __future__ import annotations

from planner.answers.policy.planned_values import END, LINKS, MAYBE, REACHED, THROUGH, VALUES, relation_name
from planner.answers.policy.three_valued import LOST, Modal
from planner.language.syntax.rule_syntax import Atom, Negation, Wildcard
from planner.logic.datalog.engine.evaluate import Database
from planner.logic.datalog.engine.interpret import Assignment, value_of
from planner.logic.datalog.engine.program import RuleProgram
from planner.logic.datalog.explain.search import Prover
from planner.logic.datalog.language.values import Row


def waits(
    program: RuleProgram, modal: Modal, database: Database, prover: Prover, predicate: str, row: Row, keys: int = 1
) -> tuple[set[Row], set[tuple[str, bool]]]:
    """(unknown values, objects with unknown references) on which a row of the rewritten program depends. A value is a
    row of `keys` columns and a path. An object is (address, whether only the instance to which it refers is
    unknown)."""
    items: set[Row] = set()
    untold: set[tuple[str, bool]] = set()
    stack, seen = [(predicate, row)], {(predicate, row)}
    while stack:
        goal = stack.pop()
        if goal[0] in MAYBE:
            items.add(goal[1][: keys + 1])
            continue
        if goal[0] == THROUGH:
            untold.add(_hidden(goal[1]))
            continue
        for _, number, _, assignment, rows in prover.derivations(goal):
            rule = prover.program.rules[number]
            below = [(x.predicate, rows[id(x)]) for x in rule.body if id(x) in rows]  # type: ignore[union-attr]
            for literal in rule.body:
                if not isinstance(literal, Negation):
                    continue
                if literal.atom.predicate in VALUES:
                    items |= _covering(database, literal.atom, assignment, keys)
                elif literal.atom.predicate in LINKS:
                    untold |= _linking(database, literal.atom, assignment)
                else:
                    below += _could(program, modal, database, literal, assignment)
            for other in below:
                if other not in seen:
                    seen.add(other)
                    stack.append(other)
    return items, untold


def _linking(database: Database, atom: Atom, assignment: Assignment) -> set[tuple[str, bool]]:
    """(object, whether only the instance to which it refers is unknown) for each object that may have a link which
    matches an atom."""
    about, other = (None if isinstance(t, Wildcard) else value_of(t, assignment) for t in atom.arguments)
    groups = {row[0] for row in database.facts.relation(REACHED) if other in (None, row[1])}
    return {_hidden(row) for row in database.facts.relation(THROUGH) if row[2] in groups and about in (None, row[0])}


def _hidden(through: Row) -> tuple[str, bool]:
    _, what, group = map(str, through)
    return what, group.startswith(what)


def _covering(database: Database, atom: Atom, assignment: Assignment, keys: int) -> set[Row]:
    """The unknown values at or above the path that an atom about values names."""
    *whose, path = (None if isinstance(t, Wildcard) else value_of(t, assignment) for t in atom.arguments[: keys + 1])
    return {
        row[: keys + 1]
        for row in database.facts.relation(relation_name("maybe", keys))
        if all(w is None or w == v for w, v in zip(whose, row, strict=False))
        and (path is None or f"{path}{END}".startswith(str(row[keys + 1])))
    }


def _could(
    program: RuleProgram, modal: Modal, database: Database, literal: Negation, assignment: Assignment
) -> list[tuple[str, Row]]:
    """The rows on which a negation depends because they may hold."""
    could = modal.could.get(literal.atom.predicate)
    if could is None or could not in database:
        return []
    width = program.predicates[could].arity
    wanted = [None if isinstance(t, Wildcard) else value_of(t, assignment) for t in literal.atom.arguments[:width]]
    return [
        (could, row)
        for row in database[could]
        if all(w is None or w == v or v == LOST for w, v in zip(wanted, row, strict=True))
    ]
