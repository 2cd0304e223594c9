"""What a walk is given to do, and what it gives back. The walk knows nothing else of plans, applies or providers."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Protocol, TypeAlias

from planner.engine.walk.machine import Event, Expanded, Failed, Finished, Machine, NodeState, Skip
from planner.foundation.support.signals import StopSignal
from planner.foundation.vocabulary.diagnostic import Diagnostic, has_errors
from planner.foundation.vocabulary.records import field, frozen

__all__ = [
    "NOTHING",
    "Diagnosed",
    "StopSignal",
    "WalkResult",
    "Work",
    "WorkResult",
    "event_of",
    "in_order",
]


@frozen(eq=False)
class WorkResult:
    """What the work on one node gave: an error among the diagnostics fails the node; `children` are nodes to add, each
    with the nodes it waits for (the node is then done when they are)."""

    diagnostics: tuple[Diagnostic, ...] = ()
    children: Mapping[str, Iterable[str]] | None = None

    @property
    def is_plain(self) -> bool:
        """Whether the node is done and that is all there is to say."""
        return self.children is None and not self.diagnostics


NOTHING = WorkResult()


class Work(Protocol):
    """The work of all nodes of a walk, children included."""

    def is_inline(self, node: str) -> bool:
        """True when the work only computes: it runs on the walk's own thread, without a thread hop. May be asked again,
        with the same answer."""
        ...

    def run(self, node: str) -> WorkResult:
        """Do it. May run on several threads at once, for different nodes. A `Failure` counts as its diagnostics."""
        ...


@frozen(eq=False)
class WalkResult:
    """How a walk ended. `diagnostics` are by node name, so that timing never shows; `skips` say what never ran."""

    diagnostics: tuple[Diagnostic, ...]
    machine: Machine
    skips: dict[str, Skip] = field(factory=dict)
    stopped: bool = False

    @property
    def states(self) -> dict[str, NodeState]:
        """The last state of each node."""
        return self.machine.state

    @property
    def on_cycle(self) -> tuple[str, ...]:
        """Nodes that never ran because they wait for each other."""
        return tuple(sorted(name for name, skip in self.skips.items() if skip.because == "cycle"))


Diagnosed: TypeAlias = dict[str, tuple[Diagnostic, ...]]


def event_of(node: str, result: WorkResult) -> Event:
    """What the result of a node's work means to the machine."""
    if has_errors(result.diagnostics):
        return Failed(node)
    if result.children is not None:
        return Expanded(node, result.children)
    return Finished(node)


def in_order(diagnosed: Diagnosed) -> tuple[Diagnostic, ...]:
    """The diagnostics of all nodes, by node name."""
    return tuple(diagnostic for node in sorted(diagnosed) for diagnostic in diagnosed[node])
