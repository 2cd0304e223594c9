"""Questions answered by pyDatalog, goal-directed, over relations that exist.

pyDatalog sees one clause: the question as a head, and for each literal a predicate of its own over the literal's
variables. Python functions resolve those predicates, so that constants, wildcards, negations and tests mean exactly
what they mean in rules: pyDatalog compares values for equality only, and rounds none. It gets no recursion, no text,
and literals in joining order, on which its time depends.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import count
from typing import Any

from planner.language.syntax.rule_syntax import Literal
from planner.logic.datalog.engine.evaluate import Database
from planner.logic.datalog.engine.interpret import Assignment
from planner.logic.datalog.explain.search import Relations
from planner.logic.datalog.language.model import variables
from planner.logic.datalog.language.order import join_order
from planner.logic.datalog.language.values import Row

_numbers = count(1)  # pyDatalog's table of resolvers belongs to the process: names must be unique in it


def solve(database: Database, body: tuple[Literal, ...], columns: tuple[str, ...]) -> set[Row]:
    """The assignments to `columns`, which are the variables of the body, under which all literals hold."""
    relations = Relations(database)
    clause: list[tuple[Literal, list[str]]] = []
    for literal in join_order(body, (), set(columns)):
        names = list(dict.fromkeys(v.name for v in variables(literal)))
        if names:
            clause.append((literal, names))
        elif next(relations.extensions(literal, {}, set(columns)), None) is None:
            return set()  # nothing to look up: it does not hold
    if not clause:
        return {()}
    return _ask(relations, clause, columns)


def _ask(relations: Relations, clause: list[tuple[Literal, list[str]]], columns: tuple[str, ...]) -> set[Row]:
    from pyDatalog import Logic, pyEngine

    Logic()  # an empty database of clauses, for this thread
    question = f"question{next(_numbers)}"
    registered: list[str] = []
    try:
        body = []
        for literal, names in clause:
            predicate = f"literal{next(_numbers)}"
            registered.append(f"{predicate}/{len(names)}")
            pyEngine.Python_resolvers[registered[-1]] = _resolver(relations, literal, names)
            body.append(pyEngine.Literal(predicate, [pyEngine.Var(name) for name in names]))
        head = pyEngine.Literal(question, [pyEngine.Var(name) for name in columns])
        pyEngine.assert_(pyEngine.Clause(head, body))  # noqa: PT009
        goal = pyEngine.Literal(question, [pyEngine.Var(name) for name in columns])
        return set(goal.ask() or ())
    finally:
        for name in registered:
            pyEngine.Python_resolvers.pop(name, None)
        Logic()


def _resolver(relations: Relations, literal: Literal, names: list[str]) -> Callable[..., Iterator[Row]]:
    """The function that pyDatalog calls with a term for each variable of the literal: it returns the rows of values
    that fit."""

    def resolve(*terms: Any) -> Iterator[Row]:
        known: Assignment = {name: term.id for name, term in zip(names, terms, strict=True) if term.is_const()}
        ways = relations.extensions(literal, known, set(names))
        return iter({tuple(extended[name] for name in names) for _row, extended in ways})

    return resolve
