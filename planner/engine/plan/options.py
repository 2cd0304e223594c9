"""The user's options for a plan."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from typing import TYPE_CHECKING, TypeAlias

from planner.engine.evaluation.configuration_walk import WalkOptions
from planner.engine.evaluation.context import EvaluationContext
from planner.foundation.values.value import Value, is_wholly_known
from planner.foundation.vocabulary.limits import UNLIMITED, Limits, Mode, Walk, walk_of
from planner.foundation.vocabulary.records import field, frozen
from planner.logic.datalog.engine.evaluate import evaluate
from planner.logic.datalog.engine.fact_base import FactBase, FactBuilder
from planner.logic.facts.from_config import from_command
from planner.logic.programs.rule_programs import product_program
from planner.world.state.model import InstanceKey

if TYPE_CHECKING:
    from planner.logic.facts.managed import KnownObject


@frozen(eq=False)
class ComingState:
    """A state that another unit is about to write: the unit, and the planned root outputs, with unknown parts."""

    unit: str
    outputs: Mapping[str, Value]

    @property
    def is_known(self) -> bool:
        return all(map(is_wholly_known, self.outputs.values()))


Settled: TypeAlias = "Mapping[InstanceKey, Value]"  # the planned objects of a resource, for expressions


@frozen(eq=False, kw_only=True)
class PlanOptions(WalkOptions):
    """The options of a plan. `refresh`: read every object before planning. `timestamp`: RFC 3339, UTC; "" for the
    current time."""

    mode: Mode = "normal"
    refresh: bool = True
    minimal_refresh: bool = False
    """whether only objects that are about to change are refreshed, as the rules determine
    (rules/plan/minimal_refresh.dl)"""
    limits: Limits = UNLIMITED
    deferred: tuple[tuple[str, str, str], ...] = ()
    """the blocks among `excludes` that are deferred to a later plan, as in Plan.deferred"""
    timestamp: str = ""
    generate_to: str = ""  # the file for generated configuration
    generated: frozenset[str] = frozenset()  # the resources whose configuration is generated from the imported object
    describes_found: bool = False  # whether the results of searches include their configuration
    known_objects: tuple[KnownObject, ...] = ()
    """the objects that are already managed, with which search results are compared"""
    moves: bool = True  # whether moved blocks are applied; otherwise each object keeps its address
    before_destroy: bool = False
    """whether the walk only refreshes the state before a plan that destroys; failed conditions are then warnings"""
    offline: bool = False  # whether no provider is called, so that differences from the real objects are not reported
    coming_states: Mapping[str, ComingState] = field(factory=dict)
    """the states that other units are about to write, by state identity (`planner.world.state.backend`)"""
    evaluates_once: bool = False
    """whether the expressions of a resource are not needed after the resource is planned, so that their compiled forms
    can be freed"""
    settled: Mapping[str, Settled] = field(factory=dict)
    """values that are already planned and are not planned again, by address and instance key: resources of the root
    module, and outputs of called modules"""
    keep: Callable[[EvaluationContext], None] | None = None
    """receives the values of the finished plan; if it is None, the values are freed"""

    @property
    def walk(self) -> Walk:
        """The name of the graph of this plan."""
        return walk_of("plan", self.mode)

    @property
    def is_lenient(self) -> bool:
        """Whether failed conditions are only warnings, because the plan changes nothing."""
        return self.mode == "refresh-only" or self.before_destroy


# Applies -target and -exclude to instances of a resource. Whole resources and modules are removed from the graph before
# the walk. Addresses with keys are handled here, as soon as the instances are known: this module provides the facts,
# and rules/graph/instances.dl decides.


def command_line(walk: str, limits: Limits) -> FactBase:
    facts = FactBuilder()
    from_command(facts, walk, limits)
    return facts.build()


class InstanceLimits:
    """The instances of resources that the command line selects. `in_part`: vertices of resources that may be selected
    only in part (`named_in_part`); only their instances are checked. None if these vertices are not known."""

    def __init__(self, command: FactBase, in_part: Collection[str] | None) -> None:
        self._command = command
        self._in_part = in_part
        self._is_limited = bool(command.relation("target") or command.relation("exclude"))

    def concern(self, node: str) -> bool:
        """Whether the instances of this vertex's resource must be checked one by one. Otherwise all of them are
        selected."""
        return self._is_limited and (self._in_part is None or node in self._in_part)

    def facts(self) -> FactBuilder:
        """A builder with the facts about the command line; the caller adds the instances."""
        return FactBuilder(self._command)

    def left_out(self, facts: FactBuilder) -> set[str]:
        """The instances in the builder that are not selected."""
        result = evaluate(product_program("limits"), facts.build(), ["walked", "takes_part"])
        return {row[0] for row in result["walked"]} - {row[0] for row in result["takes_part"]}
