"""Why does a row not hold, down to facts that are missing: what keeps each rule from deriving it, and what in turn
keeps from holding what that rule would need.

    [{"rule": "plan/actions.delete-then-create", "literal": 0, "fails": "replaced(a)", "bound": {"I": "a"},
      "head_fits": true, "because": [{"rule": ..., ...}]}]

`literal` is the index of the failing literal in the rule's body, absent when the head does not fit (or computes another
value); `bound` are the variables that the literals before it, in the order of evaluation, have bound. `tuple` is there
where the failing literal is a positive one whose columns are all bound, and `because` where rules derive such tuples.
"""

from __future__ import annotations

from typing import Any

from planner.language.syntax.rule_syntax import Atom
from planner.logic.datalog.engine.terms import value_of
from planner.logic.datalog.explain.render import json_row
from planner.logic.datalog.explain.search import Prover
from planner.logic.datalog.explain.why_not import Obstacle, why_not
from planner.logic.datalog.language.values import Row, decode

DEEPEST = 6
"""levels of `because`"""


def obstacles(prover: Prover, predicate: str, row: Row, deepest: int = DEEPEST) -> list[dict[str, Any]]:
    """The obstacles of a row that does not hold, in the order of the rules."""
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
    """One obstacle as plain JSON values."""
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
    """The obstacles of a goal (a tuple with its predicate in front) as indented lines, to so many levels (0: all).
    Steps that only pass a relation on under another name are left out, and rules that fail alike share a line."""
    lines: list[str] = []
    _lines(found, goal, levels or DEEPEST, indent, lines)
    return "\n".join(lines)


def _lines(found: list[dict[str, Any]], goal: list[Any], levels: int, indent: str, lines: list[str]) -> None:
    alike: dict[str, list[dict[str, Any]]] = {}
    for obstacle in _decisive(found, goal):
        alike.setdefault(obstacle["fails"], []).append(obstacle)
    for fails, obstacles in alike.items():
        rules = list(dict.fromkeys(o["rule"] for o in obstacles))
        more = f" and {len(rules) - 3} more" if len(rules) > 3 else ""
        lines.append(f"{indent}[{', '.join(rules[:3])}{more}] would need {fails}")
        first = obstacles[0]
        if levels > 1 and "because" in first:
            _lines(first["because"], first["tuple"], levels - 1, indent + "  ", lines)


def _decisive(found: list[dict[str, Any]], goal: list[Any]) -> list[dict[str, Any]]:
    """Instead of what only passes a relation on, what stands below it."""
    decisive = []
    for obstacle in found:
        if obstacle["head_fits"]:
            passes = "because" in obstacle and obstacle["tuple"][1:] == goal[1:]
            decisive += _decisive(obstacle["because"], obstacle["tuple"]) if passes else [obstacle]
    return decisive
