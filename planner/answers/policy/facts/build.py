"""Builds the facts of a plan in the relations that policies read."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from planner.answers.policy.facts.changes import Changes, Dependencies
from planner.answers.policy.facts.configuration import ConfigurationFacts
from planner.answers.policy.facts.contents import Contents
from planner.answers.policy.facts.owners import ConfiguredOwners
from planner.answers.policy.facts.relations import PolicyFacts, PolicyInputs, deferred_resources
from planner.answers.policy.facts.surroundings import NOTHING, Around, PlanSurroundings
from planner.answers.policy.impact import Impact
from planner.answers.policy.planned_values import ValueRows
from planner.language.config.model import Config
from planner.logic.datalog.language.values import Row
from planner.logic.model.graph import Graph
from planner.logic.model.plan import Plan


def plan_facts(
    plan: Plan, config: Config, reads: PolicyInputs, graph: Callable[[], Graph], around: PlanSurroundings = NOTHING
) -> PolicyFacts:
    """The facts of a plan for the policies that `reads` describes. `graph`: builds the plan graph, which only few
    policies need. `around`: the context of the plan."""
    owners = ConfiguredOwners(plan, config)
    declared = ConfigurationFacts(plan, config, owners, reads)
    contents = Contents(plan, owners, reads, declared.root_variables, ValueRows)
    contents.read()
    surroundings = Around(plan, around, contents.after)
    impact = Impact(plan, graph, owners)
    tellers = (Changes(plan, owners.changes), declared, Dependencies(impact), surroundings)
    mentions = around.references() if "reference" in reads else None
    relations = relations_of(reads, tellers)  # building these relations may add unknown values
    everything = {**relations, **contents.relations(surroundings.unknown_arguments)}
    unknown = {**contents.after.unknown, **contents.elsewhere, **surroundings.unknown}
    blocks = ((address, mode, type_) for address, _, mode, type_ in declared.resource())
    later = tuple(deferred_resources(plan.deferred, blocks, lambda: impact.dependents))
    return PolicyFacts(everything, contents.hidden, owners, mentions, reads.given, unknown=unknown, later=later)


def relations_of(reads: PolicyInputs, tellers: Iterable[Any]) -> dict[str, Iterable[Row]]:
    """{relation that policies read: its rows}. The rows are the result of the method of one of `tellers` that has the
    name of the relation. Relations without such a method are left out."""
    relations: dict[str, Iterable[Row]] = {}
    for predicate in sorted(reads.predicates):
        for teller in tellers:
            tell = getattr(teller, predicate, None)
            if tell is not None:
                relations[predicate] = tell()
    return relations
