"""Why does a row not hold: for each rule that could derive it, how far it gets and what then fails."""

from __future__ import annotations

from planner.foundation.vocabulary.records import frozen
from planner.language.syntax.rule_syntax import Literal
from planner.logic.datalog.engine.terms import Assignment, value_of
from planner.logic.datalog.explain.render import rendered
from planner.logic.datalog.explain.search import Prover, matched_head
from planner.logic.datalog.language.literals import outer_names
from planner.logic.datalog.language.model import Rule
from planner.logic.datalog.language.order import join_order
from planner.logic.datalog.language.values import Row, sort_key

MOST_STEPS = 20_000


@frozen
class Obstacle:
    """What keeps one rule from deriving a row. `literal` None: the head can never be this row. Otherwise the literals
    in `satisfied` can hold together, under `assignment`, and then `literal` fails; `text` is it with those values."""

    rule: Rule
    literal: Literal | None
    text: str
    satisfied: tuple[Literal, ...]
    assignment: Assignment


def why_not(prover: Prover, predicate: str, row: Row) -> list[Obstacle] | None:
    """An obstacle for each rule of the predicate, in the order of the rules; None if the row holds. Empty if no rule
    derives the predicate at all. Of the ways to satisfy part of a body, one that gets furthest is shown, the first in
    the order of rows; the search gives up after some thousand steps and shows the furthest so far."""
    if row in prover.database[predicate]:
        return None
    return [_obstacle(prover, rule, row) for rule in prover.program.rules_for(predicate)]


def _obstacle(prover: Prover, rule: Rule, row: Row) -> Obstacle:
    start = matched_head(rule, row)
    if start is None:
        return Obstacle(rule, None, str(rule.head), (), {})
    outer = outer_names(rule.head, rule.body)
    ordered = join_order(rule.body, start, outer)
    best = Obstacle(rule, None, str(rule.head), tuple(ordered), start)
    furthest = -1
    stack: list[tuple[int, Assignment]] = [(0, start)]
    for _ in range(MOST_STEPS):
        if not stack:
            break
        depth, assignment = stack.pop()
        if depth == len(ordered):
            # Everything holds and yet the row does not: a computed column of the head has another value.
            if depth > furthest:
                furthest = depth
                values = [value_of(a, assignment) for a in rule.head.arguments]
                text = f"{rule.head} gives {rule.head.predicate}({', '.join(map(str, values))})"
                best = Obstacle(rule, None, text, tuple(ordered), assignment)
            continue
        literal = ordered[depth]
        ways = list(prover.relations.extensions(literal, assignment, outer))
        if ways:
            ways.sort(key=lambda way: sort_key(way[0] or ()), reverse=True)
            stack += [(depth + 1, extended) for _row, extended in ways]
        elif depth > furthest:
            furthest = depth
            best = Obstacle(rule, literal, rendered(literal, assignment), tuple(ordered[:depth]), assignment)
    return best
