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
    """A state that an apply of another unit will write: the unit, and the planned root outputs, which may have unknown
    parts."""

    unit: str
    outputs: Mapping[str, Value]

    @property
    def is_known(self) -> bool:
        return all(map(is_wholly_known, self.outputs.values()))


Settled: TypeAlias = "Mapping[InstanceKey, Value]"  # the planned objects of a resource, for expressions


@frozen(eq=False, kw_only=True)
class PlanOptions(WalkOptions):
    """The options of a plan. `refresh`: whether objects are read before they are planned. `timestamp`: the time of the
    plan (RFC 3339, UTC); "" for the current time."""

    mode: Mode = "normal"
    refresh: bool = True
    minimal_refresh: bool = False
    """whether only objects that are about to change are refreshed, as the rules determine
    (rules/plan/minimal_refresh.dl)"""
    limits: Limits = UNLIMITED
    deferred: tuple[tuple[str, str, str], ...] = ()
    """the blocks that are deferred to a later plan; they are also among the excluded addresses of `limits`; same form
    as in Plan.deferred"""
    timestamp: str = ""
    generate_to: str = ""  # the file for generated configuration
    generated: frozenset[str] = frozenset()  # the resources whose configuration is generated from the imported object
    describes_found: bool = False  # whether the results of searches include their configuration
    known_objects: tuple[KnownObject, ...] = ()
    """the objects that are already managed; search results are compared with them"""
    moves: bool = True  # whether moved blocks are applied; otherwise each object keeps its address
    before_destroy: bool = False
    """whether this plan only refreshes the state before a destroy plan; failed conditions are then warnings"""
    offline: bool = False  # whether no provider is called, so that differences from the real objects are not reported
    coming_states: Mapping[str, ComingState] = field(factory=dict)
    """the states that applies of other units will write, by the identity of the state (see
    `planner.world.state.backend`)"""
    evaluates_once: bool = False
    """whether each resource is planned only once, so that the compiled forms of its expressions can be freed
    afterwards"""
    settled: Mapping[str, Settled] = field(factory=dict)
    """values from an earlier plan that are not planned again, as {address: {instance key: value}}, for resources of the
    root module and outputs of called modules"""
    keep: Callable[[EvaluationContext], None] | None = None
    """a function that receives the values of the finished plan; if it is None, the values are freed"""

    @property
    def walk(self) -> Walk:
        """The name of the walk for this mode: plan, plan-destroy or plan-refresh-only."""
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
    """Determines which instances of resources -target and -exclude select. `in_part`: the vertices of resources of
    which possibly only some instances are selected (the relation `named_in_part`); only the instances of these are
    checked. None if these vertices are not known."""

    def __init__(self, command: FactBase, in_part: Collection[str] | None) -> None:
        self._command = command
        self._in_part = in_part
        self._is_limited = bool(command.relation("target") or command.relation("exclude"))

    def concern(self, node: str) -> bool:
        """Whether the instances of the resource of this vertex must be checked one by one. If not, all of them are
        selected."""
        return self._is_limited and (self._in_part is None or node in self._in_part)

    def facts(self) -> FactBuilder:
        """A builder with the facts about the command line; the caller adds the instances."""
        return FactBuilder(self._command)

    def left_out(self, facts: FactBuilder) -> set[str]:
        """The instances in the builder that are not selected."""
        result = evaluate(product_program("limits"), facts.build(), ["walked", "takes_part"])
        return {row[0] for row in result["walked"]} - {row[0] for row in result["takes_part"]}
