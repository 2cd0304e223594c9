"""Instances that a walk has before it, to facts: the predicates of rules/graph/instances.dl."""

from __future__ import annotations

from planner.foundation.vocabulary.span import Span
from planner.logic.datalog.engine.fact_base import FactBuilder
from planner.logic.model.sources import StateEntry


def declared_instance(
    facts: FactBuilder, address: str, object: str, module_instance: str, key: str, declaration: Span
) -> None:
    """Add an instance that the configuration turns out to have. `key` as it is written, "" for none."""
    facts.add("expanded", address, object, module_instance, key, source=declaration)


def recorded_instance(facts: FactBuilder, address: str, object: str, abandoned: bool = False) -> None:
    """Add an instance that only the state has. `abandoned`: its module instance is not declared any more."""
    source = StateEntry(address)
    facts.add("left_over", address, object, source=source)
    if abandoned:
        facts.add("abandoned", address, source=source)
