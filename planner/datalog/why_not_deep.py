"""Why does a row not hold, down to facts that are missing: what keeps each rule from deriving it, and what in turn keeps
from holding what that rule would need.

    [{"rule": "plan/actions.delete-then-create", "literal": 0, "fails": "replaced(a)", "bound": {"I": "a"},
      "head_fits": true, "because": [{"rule": ..., ...}]}]

`literal` is the index of the failing literal in the rule's body, absent when the head does not fit (or computes another
value); `bound` are the variables that the literals before it, in the order of evaluation, have bound. `because` is there
where the failing literal is a positive one whose columns are all bound and that rules derive.
"""

from __future__ import annotations

from typing import Any

from planner.datalog.explain import Prover
from planner.datalog.terms import value_of
from planner.datalog.values import Row, decode
from planner.datalog.why_not import Obstacle
from planner.syntax.rule_syntax import Atom

DEEPEST = 6
"""levels of `because`"""


def obstacles(prover: Prover, predicate: str, row: Row, deepest: int = DEEPEST) -> list[dict[str, Any]]:
    """The obstacles of a row that does not hold, in the order of the rules."""
    return _below(prover, predicate, row, deepest, frozenset())


def _below(
    prover: Prover, predicate: str, row: Row, deepest: int, above: frozenset[tuple[str, Row]]
) -> list[dict[str, Any]]:
    found = []
    above |= {(predicate, row)}
    for obstacle in prover.why_not(predicate, row) or ():
        written = obstacle_json(obstacle)
        goal = _goal(obstacle)
        if goal is not None and deepest > 1 and goal not in above and prover.program.rules_for(goal[0]):
            inner = [o for o in _below(prover, *goal, deepest - 1, above) if o["head_fits"]]
            if inner:
                written["because"] = inner
        found.append(written)
    return found


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


def obstacles_text(found: list[dict[str, Any]], indent: str = "  ") -> str:
    """The obstacles as indented lines."""
    lines = []
    stack = [(indent, o) for o in reversed(found)]
    while stack:
        lead, obstacle = stack.pop()
        if obstacle["head_fits"]:
            lines.append(f"{lead}[{obstacle['rule']}] would need {obstacle['fails']}")
            stack += [(lead + "  ", inner) for inner in reversed(obstacle.get("because", ()))]
    return "\n".join(lines)
