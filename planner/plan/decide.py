"""The action of one object, as the rules of rules/plan/actions.dl and reasons.dl derive it from what is known about it.

Only the shape of the facts matters (which predicates hold, not for which instance or path), so each shape is derived
once per process and remembered: ten thousand resources that are created alike cost one derivation. A value is part of
the shape where the rules look at it, as datalog/engine/looks.py reads off them.
"""

from __future__ import annotations

from functools import cache
from typing import Any, TypeAlias, cast

from attrs import frozen

from planner.datalog.engine.evaluate import evaluate
from planner.datalog.engine.fact_base import FactBuilder
from planner.model.plan import Action
from planner.programs.rule_programs import decision_program

Facts: TypeAlias = dict[str, tuple[str, ...]]
"""predicate -> the values of its second column; an empty tuple for predicates about the instance alone"""

_DERIVED = ("action", "reason", "destroy_prevented", "undecided", "unforeseen")
_INSTANCE = "instance"
_OTHER = "\0"
"""in the place of every value that no rule looks at; no text of a rule has it"""


@frozen
class Decision:
    """What the rules say: `reason` is the ecosystem's action_reason ("" for none)."""

    action: Action
    reason: str
    destroy_prevented: bool
    undecided: tuple[str, ...] = ()
    """what the provider would have to say; only where it could not be asked"""
    unforeseen: bool = False
    """whether a plan that is being applied decided otherwise"""


def decide(facts: Facts) -> Decision:
    """The decision about an object of which these facts hold."""
    seen = _seen()
    shape: set[tuple[str, ...]] = set()
    for name, values in facts.items():
        if not values:
            shape.add((name,))
            continue
        words = seen[name]
        if words is None:
            shape.update((name, value) for value in values)
        else:
            shape.update((name, value if value in words else _OTHER) for value in values)
    return _decide(frozenset(shape))


@cache
def _seen() -> dict[str, frozenset[object] | None]:
    """For predicates with a second column: the values that a rule looks at there, None for all."""
    looks = decision_program().compiled.looks
    return {
        name: None if columns[1].compared or columns[1].shown else columns[1].constants
        for name, columns in looks.items()
        if len(columns) > 1
    }


def rows(instance: str, facts: Facts) -> tuple[tuple[str, ...], ...]:
    """The facts about an instance as rows with the predicate in front, sorted: what the plan keeps for `why`."""
    found: list[tuple[str, ...]] = []
    for name in sorted(facts):
        found += [(name, instance, value) for value in facts[name]] or [(name, instance)]
    return tuple(found)


@cache
def _decide(shape: frozenset[tuple[str, ...]]) -> Decision:
    builder = FactBuilder()
    for name, *values in shape:
        builder.add(name, _INSTANCE, *values)
    found = evaluate(decision_program(), builder.build(), list(_DERIVED))
    actions: list[Any] = found.sorted("action")
    if len(actions) != 1:
        raise AssertionError(f"the rules derive {len(actions)} actions from {sorted(shape)}")
    reasons = found.sorted("reason")
    return Decision(
        cast(Action, actions[0][1]),
        reasons[0][1] if reasons else "",
        bool(found["destroy_prevented"]),
        tuple(str(row[1]) for row in found.sorted("undecided")),
        bool(found["unforeseen"]),
    )
