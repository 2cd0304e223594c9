"""References of a resource to itself: instances that wait for other instances of the same resource, as the rules of
rules/graph/own_references.dl derive it."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TypeAlias

from planner.datalog.engine.evaluate import evaluate
from planner.datalog.engine.fact_base import FactBuilder
from planner.evaluation.instance import Instance
from planner.facts.instances import declared_instance
from planner.programs.rule_programs import limit_program
from planner.vocabulary.address import format_key

Waits: TypeAlias = dict[str, list[str]]
"""instance address -> the other instances of its resource that it waits for"""


def waiting_instances(instances: Iterable[Instance], mentioned: Iterable[str]) -> tuple[Waits, dict[str, int] | None]:
    """Which declared instances of a resource each one waits for, and a place for each after those that it waits for;
    None when some wait for one another. `mentioned`: what the resource's block names of itself."""
    facts = FactBuilder()
    waits: Waits = {}
    for it in instances:
        assert it.decl is not None
        waits[it.address] = []
        declared_instance(facts, it.address, it.config_address, it.module_text, format_key(it.key), it.decl.span)
        for target in mentioned:
            facts.add("mentions_itself", it.config_address, target)
    wanted = ["instance_waits", "instance_level", "instance_cycle"]
    derived = evaluate(limit_program(), facts.build(), wanted)
    for address, other in derived.sorted("instance_waits"):
        waits[address].append(other)
    if derived["instance_cycle"]:
        return waits, None
    levels: dict[str, int] = dict(derived["instance_level"])
    order = sorted(waits, key=lambda address: levels.get(address, 0))
    return waits, {address: place for place, address in enumerate(order)}
