"""The instances of a plan as facts for queries (rules/graph/instances.dl)."""

from __future__ import annotations

from planner.engine.evaluation.context import EvaluationContext
from planner.engine.evaluation.repetition import expand
from planner.foundation.vocabulary.address import format_key, join, parse_resource_instance
from planner.foundation.vocabulary.diagnostic import Failure
from planner.logic.datalog.engine.fact_base import FactBase, FactBuilder
from planner.logic.datalog.language.model import Predicate
from planner.logic.facts.from_state import declared_instance, recorded_instance
from planner.world.state.model import State

_FILES = ("graph/instances.dl", "graph/own_references.dl", "graph/selected_instances.dl")


def is_about_instances(predicate: Predicate) -> bool:
    """Whether a relation describes instances. The instances are known only after an evaluation of the whole
    configuration."""
    return predicate.span.filename in _FILES and predicate.name != "mentions_itself"


def with_instances(facts: FactBase, context: EvaluationContext, state: State) -> FactBase:
    """`facts`, with added facts about the instances in the state and the instances in the configuration. For a block
    whose instances cannot be determined, the fact `unexpanded` is added instead."""
    builder = FactBuilder(facts)
    declared: set[str] = set()
    for module in context.all_instances():
        base = ".".join(f"module.{name}" for name in module.config.path)
        for decl in module.config.resources.values():
            object = join(base, decl.key)
            try:
                expansion = module.resource(decl.key).expansion or expand(decl, module.scope, object)
            except Failure:
                builder.add("unexpanded", object, source=decl.span)
                continue
            for key in expansion.instances:
                address = module.instance_address(decl, key)
                declared.add(address)
                declared_instance(builder, address, object, module.text, format_key(key), decl.span)
    for resource, instance in state.instances():
        recorded = parse_resource_instance(resource.address + format_key(instance.key))
        if str(recorded) not in declared:
            recorded_instance(builder, str(recorded), str(recorded.config), context.module(recorded.module) is None)
    return builder.build()
