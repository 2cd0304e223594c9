"""References of a resource to itself: instances that wait for other instances of the same resource, as the rules of
rules/graph/own_references.dl derive it."""

from __future__ import annotations

from typing import TypeAlias

from planner.logic.datalog.engine.evaluate import evaluate
from planner.logic.datalog.engine.fact_base import FactBase
from planner.logic.programs.rule_programs import limit_program

Waits: TypeAlias = dict[str, list[str]]
"""instance address -> the other instances of its resource that it waits for"""


def waiting_instances(facts: FactBase) -> tuple[Waits, dict[str, int] | None]:
    """Which of the instances each one waits for, and a place for each after those that it waits for; None when some
    wait for one another. The facts are `expanded` and `mentions_itself` of one resource."""
    derived = evaluate(limit_program(), facts, ["instance_waits", "instance_level", "instance_cycle"])
    waits: Waits = {row[0]: [] for row in facts.relation("expanded")}
    for address, other in derived.sorted("instance_waits"):
        waits[address].append(other)
    if derived["instance_cycle"]:
        return waits, None
    levels: dict[str, int] = dict(derived["instance_level"])
    order = sorted(waits, key=lambda address: levels.get(address, 0))
    return waits, {address: place for place, address in enumerate(order)}
