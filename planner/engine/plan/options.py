"""What the user asks of a plan."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TypeAlias

from planner.engine.evaluation.configuration_walk import WalkOptions
from planner.engine.evaluation.context import EvaluationContext
from planner.foundation.values.value import Value, is_wholly_known
from planner.foundation.vocabulary.limits import UNLIMITED, Limits, Mode, Walk, walk_of
from planner.foundation.vocabulary.records import field, frozen
from planner.world.state.model import InstanceKey
from planner.world.state.value_record import Digester


@frozen(eq=False)
class ComingState:
    """What a state is going to be: the unit that writes it, and its root outputs then, with unknown parts."""

    unit: str
    outputs: Mapping[str, Value]

    @property
    def is_known(self) -> bool:
        return all(map(is_wholly_known, self.outputs.values()))


Settled: TypeAlias = "Mapping[InstanceKey, Value]"
"""the planned objects of a resource, as expressions see them"""


@frozen(eq=False, kw_only=True)
class PlanOptions(WalkOptions):
    """`refresh`: read every object before planning.
    `timestamp`: RFC 3339, UTC; "" for now."""

    mode: Mode = "normal"
    refresh: bool = True
    limits: Limits = UNLIMITED
    deferred: tuple[tuple[str, str, str], ...] = ()
    """blocks among `excludes` that are left for later, as in Plan.deferred"""
    timestamp: str = ""
    generate_to: str = ""
    """the file for generated configuration"""
    generated: frozenset[str] = frozenset()
    """resources whose configuration is generated from the imported object"""
    moves: bool = True
    """moved blocks apply to objects; otherwise each keeps its address"""
    before_destroy: bool = False
    """the walk only refreshes the state for a plan that destroys: failed conditions are warnings"""
    offline: bool = False
    """no provider is called, so that refreshing is not reported"""
    coming_states: Mapping[str, ComingState] = field(factory=dict)
    """states that something else is about to write (`planner.world.state.backend`)"""
    evaluates_once: bool = False
    """expressions of a resource are not evaluated again when it has been planned: what they were compiled to goes"""
    settled: Mapping[str, Settled] = field(factory=dict)
    """resources of the root module, by address, that are planned already: nothing is done about them here"""
    keep: Callable[[EvaluationContext], None] | None = None
    """takes the values that the plan was made with, when it is finished; else they are let go of"""
    digester: Digester | None = None
    """what makes digests of the values, for the record of what was applied"""

    @property
    def walk(self) -> Walk:
        """What the graph of this plan is called."""
        return walk_of("plan", self.mode)

    @property
    def is_lenient(self) -> bool:
        """Whether failed conditions are only warnings, because nothing is changed."""
        return self.mode == "refresh-only" or self.before_destroy
