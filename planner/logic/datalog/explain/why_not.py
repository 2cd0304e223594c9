"""Explains why a row is not derived: for each rule of its predicate, which literals are true, and which literal
fails."""

from __future__ import annotations

from typing import Any

from planner.foundation.vocabulary.records import frozen
from planner.language.syntax.rule_syntax import Atom, Literal
from planner.logic.datalog.engine.interpret import Assignment, value_of
from planner.logic.datalog.explain.render import json_row, render
from planner.logic.datalog.explain.search import Prover, matched_head
from planner.logic.datalog.language.model import Rule, outer_names
from planner.logic.datalog.language.order import join_order
from planner.logic.datalog.language.values import Row, decode, sort_key

MAX_STEPS = 20_000


@frozen
class Obstacle:
    """The reason why one rule does not derive a row. If `literal` is None, the head of the rule does not match the row.
    Otherwise, all literals before `literal` are true under `assignment`, and `literal` is false. `text`: the failing
    literal with values."""

    rule: Rule
    literal: Literal | None
    text: str
    assignment: Assignment


def why_not(prover: Prover, predicate: str, row: Row) -> list[Obstacle] | None:
    """An obstacle for each rule of the predicate, in the order of the rules; None if the row is in the relation. An
    obstacle contains the assignment that makes the most literals true. If there are several such assignments, it
    contains the first in the order of rows. After MAX_STEPS steps, the search stops with the best assignment found so
    far."""
    if row in prover.database[predicate]:
        return None
    return [_obstacle(prover, rule, row) for rule in prover.program.rules_for(predicate)]


def _obstacle(prover: Prover, rule: Rule, row: Row) -> Obstacle:
    start = matched_head(rule, row)
    if start is None:
        return Obstacle(rule, None, str(rule.head), {})
    outer = outer_names(rule.head, rule.body)
    ordered = join_order(rule.body, start, outer)
    best = Obstacle(rule, None, str(rule.head), start)
    furthest = -1
    stack: list[tuple[int, Assignment]] = [(0, start)]
    for _ in range(MAX_STEPS):
        if not stack:
            break
        depth, assignment = stack.pop()
        if depth == len(ordered):
            # all literals are true, but a computed column of the head has a different value
            if depth > furthest:
                furthest = depth
                values = [value_of(a, assignment) for a in rule.head.arguments]
                text = f"{rule.head} gives {rule.head.predicate}({', '.join(map(str, values))})"
                best = Obstacle(rule, None, text, assignment)
            continue
        literal = ordered[depth]
        ways = list(prover.relations.extensions(literal, assignment, outer))
        if ways:
            ways.sort(key=lambda way: sort_key(way[0] or ()), reverse=True)
            stack += [(depth + 1, extended) for _row, extended in ways]
        elif depth > furthest:
            furthest = depth
            best = Obstacle(rule, literal, render(literal, assignment), assignment)
    return best


# Explains why a row is not derived, down to missing facts: for each rule, the literal that fails, and recursively why
# this literal fails.
#
#     [{"rule": "plan/actions.delete-then-create", "literal": 0, "fails": "replaced(a)", "bound": {"I": "a"},
#       "head_fits": true, "because": [{"rule": ..., ...}]}]
#
# `literal` is the index of the failing literal in the rule's body. The key is missing if the head does not match the
# row or computes a different value. `bound` are the variables that earlier literals have bound. `tuple` is present if
# the failing literal is positive and all its columns are bound, and `because` if there are rules for its predicate.


DEEPEST = 6  # maximum number of nested levels of `because`


def obstacles(prover: Prover, predicate: str, row: Row, deepest: int = DEEPEST) -> list[dict[str, Any]]:
    """The obstacles of a row that is not derived, in the order of the rules, as JSON. `deepest`: the maximum number of
    nested levels."""
    return _below(prover, predicate, row, deepest, frozenset())


def _below(
    prover: Prover, predicate: str, row: Row, deepest: int, above: frozenset[tuple[str, Row]]
) -> list[dict[str, Any]]:
    obstacles = []
    above |= {(predicate, row)}
    for obstacle in why_not(prover, predicate, row) or ():
        written = obstacle_json(obstacle)
        goal = _goal(obstacle)
        if goal is not None:
            written["tuple"] = json_row(*goal)
        if goal is not None and deepest > 1 and goal not in above and prover.program.rules_for(goal[0]):
            inner = [o for o in _below(prover, *goal, deepest - 1, above) if o["head_fits"]]
            if inner:
                written["because"] = inner
        obstacles.append(written)
    return obstacles


def obstacle_json(obstacle: Obstacle) -> dict[str, Any]:
    bound = {name: decode(value) for name, value in sorted(obstacle.assignment.items())}
    written: dict[str, Any] = {
        "rule": obstacle.rule.name,
        "fails": obstacle.text,
        "bound": bound,
        "head_fits": obstacle.literal is not None,
    }
    if obstacle.literal is not None:
        written["literal"] = next(i for i, x in enumerate(obstacle.rule.body) if x is obstacle.literal)
    return written


def _goal(obstacle: Obstacle) -> tuple[str, Row] | None:
    literal = obstacle.literal
    if not isinstance(literal, Atom):
        return None
    values = tuple(value_of(a, obstacle.assignment) for a in literal.arguments)
    return (literal.predicate, values) if None not in values else None


def obstacles_text(found: list[dict[str, Any]], goal: list[Any], levels: int = 2, indent: str = "  ") -> str:
    """The obstacles of a goal (predicate and row) as indented lines. `levels`: the number of levels (0: all levels).
    Rules that only pass on another relation are left out. Rules that fail in the same way share a line."""
    lines: list[str] = []
    _lines(found, goal, levels or DEEPEST, indent, lines)
    return "\n".join(lines)


def _lines(found: list[dict[str, Any]], goal: list[Any], levels: int, indent: str, lines: list[str]) -> None:
    alike: dict[str, list[dict[str, Any]]] = {}
    for obstacle in _skip_passing_entries(found, goal):
        alike.setdefault(obstacle["fails"], []).append(obstacle)
    for fails, obstacles in alike.items():
        rules = list(dict.fromkeys(o["rule"] for o in obstacles))
        more = f" and {len(rules) - 3} more" if len(rules) > 3 else ""
        lines.append(f"{indent}[{', '.join(rules[:3])}{more}] would need {fails}")
        first = obstacles[0]
        if levels > 1 and "because" in first:
            _lines(first["because"], first["tuple"], levels - 1, indent + "  ", lines)


def _skip_passing_entries(found: list[dict[str, Any]], goal: list[Any]) -> list[dict[str, Any]]:
    """The obstacles, in which each obstacle of a rule that only passes on another relation is replaced by the obstacles
    below it."""
    decisive = []
    for obstacle in found:
        if obstacle["head_fits"]:
            passes = "because" in obstacle and obstacle["tuple"][1:] == goal[1:]
            decisive += _skip_passing_entries(obstacle["because"], obstacle["tuple"]) if passes else [obstacle]
    return decisive
