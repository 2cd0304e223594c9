"""The state machine of a walk, without side effects. The machine receives events and returns instructions; it has no
threads and no clock, and does no work.

Every node is in one state:

    waiting    a node on which it depends is not done yet
    ready      the machine has instructed its start, and its result is not reported yet
    expanded   its own work is done and it added children; it is done when they are
    done       finished successfully: its dependents may start
    failed     its work or one of its children failed: its dependents are skipped
    skipped    never started: a dependency failed or was skipped, the walk was stopped, or the node is on a cycle

The instructions that one event causes are sorted by node name, so the same events always cause the same instructions.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from heapq import heappop, heappush
from typing import Literal, Protocol, TypeAlias

from planner.foundation.support.signals import StopSignal
from planner.foundation.vocabulary.address_set import Numbered
from planner.foundation.vocabulary.diagnostic import Diagnostic, has_errors
from planner.foundation.vocabulary.records import field, frozen

NodeState: TypeAlias = Literal["waiting", "ready", "expanded", "done", "failed", "skipped"]
SkipReason: TypeAlias = Literal["dependency", "stopped", "cycle"]


@frozen
class Finished:
    """The work of a node succeeded."""

    node: str


@frozen
class Failed:
    """The work of a node failed."""

    node: str


@frozen(eq=False)
class Expanded:
    """The work of a node succeeded and added child nodes. `children`: {child: the nodes for which it waits}. The node
    is done when all its children are done. A child may wait only for nodes that are certain to exist: other children of
    the same node, initial nodes of the walk, and nodes that were added together with an ancestor. This is not checked.
    Names that do not exist are ignored. If a node with this name exists because of an unrelated expansion, the child
    waits for it. A child that waits for a dependent of its parent is on a cycle."""

    node: str
    children: Mapping[str, Iterable[str]]


@frozen
class Stopped:
    """No new work may start, but running work may finish. `not_begun`: nodes whose start was instructed, but whose work
    has not begun."""

    not_begun: tuple[str, ...] = ()


Event: TypeAlias = Finished | Failed | Expanded | Stopped


@frozen
class StartNode:
    """The work of this node must be done now."""

    node: str


@frozen
class Skip:
    """This node will never start. `cause`: the failed or skipped node for which it waited."""

    node: str
    because: SkipReason
    cause: str = ""


@frozen
class End:
    """Every node is in a final state."""


Instruction: TypeAlias = StartNode | Skip | End


_WAITING, _READY, _EXPANDED, _DONE, _FAILED, _SKIPPED = range(6)
_WORDS: tuple[NodeState, ...] = ("waiting", "ready", "expanded", "done", "failed", "skipped")


class Machine:
    """The states of all nodes of one walk.

    `dependencies` maps every node to the nodes that must be done before it or, with `reverse`, to the nodes that must
    be done after it. Names that are not keys are ignored. `idle` has a byte for each node, in the order of the nodes'
    numbers in the graph. The byte 1 means that the node needs no work: it is never started, and is done as soon as its
    dependencies are done. A whole walk takes time O((V + E) log V). Nodes are represented by numbers, because lists of
    numbers are several times faster than dictionaries of names."""

    __slots__ = (
        "_broken_parents",
        "_children_left",
        "_dependents",
        "_idle",
        "_names",
        "_numbers",
        "_own",
        "_parent",
        "_running",
        "_state",
        "_stopped",
        "_unfinished",
        "_waits_for",
    )

    def __init__(
        self, dependencies: Mapping[str, Iterable[str]] | Numbered, reverse: bool = False, idle: bytes = b""
    ) -> None:
        graph = dependencies if isinstance(dependencies, Numbered) else Numbered(dependencies, reverse)
        self._names, self._numbers = graph.names.copy(), graph.numbers.copy()
        self._waits_for, self._dependents = graph.waits_for.copy(), graph.dependents.copy()
        self._own: dict[int, list[int]] = {}  # the dependents that were added during the walk
        self._state = bytearray(len(self._names))
        self._idle = bytearray(idle or len(self._names))
        self._parent: dict[int, int] = {}
        self._children_left: dict[int, int] = {}
        self._broken_parents: set[int] = set()
        self._unfinished = len(self._names)
        self._running = 0
        self._stopped = False

    @property
    def state(self) -> dict[str, NodeState]:
        return {name: _WORDS[state] for name, state in zip(self._names, self._state, strict=True)}

    @property
    def size(self) -> int:
        return len(self._names)

    @property
    def settled(self) -> int:
        """The number of nodes in a final state."""
        return len(self._names) - self._unfinished

    @property
    def ended(self) -> bool:
        return not self._unfinished

    def begin(self) -> list[Instruction]:
        ready: list[int] = []
        skips: list[Skip] = []
        first = [node for node, count in enumerate(self._waits_for) if not count]
        self._settle([(node, _DONE) for node in first if self._idle[node]], ready, skips)
        return self._answer([*(node for node in first if not self._idle[node]), *ready], skips)

    def handle(self, event: Event) -> list[Instruction]:
        """The instructions after this event. Raises ValueError for an event about a node that was not started."""
        ready: list[int] = []
        skips: list[Skip] = []
        if isinstance(event, Stopped):
            self._stopped = True
            for name in event.not_begun:
                self._state[self._numbers[name]] = _WAITING
            self._running -= len(event.not_begun)
            self._skip_waiting("stopped", ready, skips)
        else:
            node = self._started_number(event.node)
            self._running -= 1
            if isinstance(event, Expanded):
                self._expand(node, event.children, ready, skips)
            else:
                self._settle([(node, _DONE if event.__class__ is Finished else _FAILED)], ready, skips)
        return self._answer(ready, skips)

    def finish(self, name: str) -> tuple[list[str], list[Skip]]:
        """Equivalent to `handle(Finished(name))`, but faster, because it creates no event objects. Returns the nodes to
        start now, sorted by name, and the nodes that will never start. Raises ValueError for a node that was not
        started."""
        node, state, waits_for = self._numbers.get(name), self._state, self._waits_for
        if node is None or state[node] != _READY:
            node = self._started_number(name)
        ready: list[int] = []
        skips: list[Skip] = []
        if node in self._parent:
            self._running -= 1
            self._settle([(node, _DONE)], ready, skips)
            return self._order(ready, skips), skips
        idle, dependents, done = self._idle, self._dependents, [node]
        for node in done:
            state[node] = _DONE
            for dependent in dependents[node]:
                waits_for[dependent] = left = waits_for[dependent] - 1
                if not left and state[dependent] == _WAITING:
                    (done if idle[dependent] else ready).append(dependent)
        self._unfinished -= len(done)
        if not ready:
            self._running -= 1
            return ([] if self._running else self._order(ready, skips)), skips
        if len(ready) > 1:
            self._running -= 1
            return self._order(ready, skips), skips
        state[ready[0]] = _READY  # the number of running nodes is unchanged
        return [self._names[ready[0]]], skips

    def _started_number(self, name: str) -> int:
        node = self._numbers.get(name)
        if node is None or self._state[node] != _READY:
            known = "unknown" if node is None else _WORDS[self._state[node]]
            raise ValueError(f"{name} is {known}, not running")
        return node

    def _connect(self, dependent: int, dependency: int) -> None:
        own = self._own.get(dependency)
        if own is None:
            own = self._own[dependency] = [*self._dependents[dependency]]
            self._dependents[dependency] = own
        own.append(dependent)
        self._waits_for[dependent] += 1

    def _order(self, ready: list[int], skips: list[Skip]) -> list[str]:
        """Mark the nodes `ready` as running, and return their names, sorted. If no node is running then, the remaining
        nodes wait for each other, and they are skipped."""
        for node in ready:
            self._state[node] = _READY
        self._running += len(ready)
        if self._unfinished and not self._running:
            self._skip_waiting("cycle", ready, skips)
        if len(skips) > 1:
            skips.sort(key=lambda skip: skip.node)
        names = [self._names[node] for node in ready]
        if len(names) > 1:
            names.sort()
        return names

    def _answer(self, ready: list[int], skips: list[Skip]) -> list[Instruction]:
        answer: list[Instruction] = [StartNode(name) for name in self._order(ready, skips)]
        answer += skips
        if not self._unfinished:
            answer.append(End())
        return answer

    def _settle(self, work: list[tuple[int, int]], ready: list[int], skips: list[Skip]) -> None:
        """Set the final states in `work`, a list of (node, state). Nodes that can now start are added to `ready`, and
        nodes that can never start to `skips`. Parents are settled when their last child is."""
        state, names = self._state, self._names
        while work:
            node, last = work.pop()
            state[node] = last
            self._unfinished -= 1
            for dependent in self._dependents[node]:
                if last == _DONE:
                    self._waits_for[dependent] -= 1
                    if not self._waits_for[dependent] and state[dependent] == _WAITING:
                        if self._idle[dependent]:
                            work.append((dependent, _DONE))
                        else:
                            ready.append(dependent)
                elif state[dependent] == _WAITING:
                    skips.append(Skip(names[dependent], "dependency", names[node]))
                    # set immediately, so that a second failed dependency does not skip the node again
                    state[dependent] = _SKIPPED
                    work.append((dependent, _SKIPPED))
            parent = self._parent.get(node)
            if parent is not None:
                if last != _DONE:
                    self._broken_parents.add(parent)
                self._children_left[parent] -= 1
                if not self._children_left[parent]:
                    work.append((parent, _FAILED if parent in self._broken_parents else _DONE))

    def _expand(self, node: int, children: Mapping[str, Iterable[str]], ready: list[int], skips: list[Skip]) -> None:
        for child in children:
            if child in self._numbers:
                raise ValueError(f"{child} is already part of the walk")
        if not children:
            self._settle([(node, _DONE)], ready, skips)
            return
        self._state[node] = _EXPANDED
        self._children_left[node] = len(children)
        self._unfinished += len(children)
        first = len(self._names)
        for number, child in enumerate(children, first):
            self._names.append(child)
            self._numbers[child] = number
            self._parent[number] = node
        self._state.extend(bytes(len(children)))
        self._idle.extend(bytes(len(children)))
        self._waits_for += [0] * len(children)
        self._dependents += [()] * len(children)
        broken: list[tuple[int, Skip]] = []
        for number, (child, wanted) in enumerate(children.items(), first):
            for name in sorted(set(wanted)):
                other = self._numbers.get(name)
                if other is None:
                    continue
                state = self._state[other]
                if state in (_FAILED, _SKIPPED):
                    broken.append((number, Skip(child, "dependency", name)))
                elif state != _DONE:
                    self._connect(number, other)
        for number, skip in broken:
            if self._state[number] == _WAITING:
                skips.append(skip)
                self._state[number] = _SKIPPED
                self._settle([(number, _SKIPPED)], ready, skips)
        if self._stopped:
            self._skip_waiting("stopped", ready, skips)
        added = range(first, len(self._names))
        ready += [child for child in added if self._state[child] == _WAITING and not self._waits_for[child]]

    def _skip_waiting(self, because: SkipReason, ready: list[int], skips: list[Skip]) -> None:
        waiting = [node for node, state in enumerate(self._state) if state == _WAITING]
        for node in waiting:
            self._state[node] = _SKIPPED
        skips += [Skip(self._names[node], because) for node in waiting]
        self._settle([(node, _SKIPPED) for node in waiting], ready, skips)


# Limits the number of nodes of a group that run at the same time.


@frozen(eq=False)
class SlotLimits:
    """Limits for the number of nodes that run at the same time. `bounds`: {group: the maximum number of running nodes,
    at least 1}. `group_of`: a function that returns the group of a node. A group without a bound is limited only by the
    parallelism of the walk."""

    bounds: Mapping[str, int] = field(factory=dict)
    group_of: Callable[[str], str] = lambda node: ""


class Slots:
    """The running and the waiting nodes of each group. A node waits here only while the number of running nodes in its
    group is at the bound. A running node that ends passes its slot to the first waiting node of its group, so every
    waiting node gets a slot."""

    def __init__(self, limits: SlotLimits) -> None:
        self.bounds, self._group_of = limits.bounds, limits.group_of
        self._held: dict[str, str] = {}
        self._running: dict[str, int] = {}
        self._waiting: dict[str, list[str]] = {}

    def take(self, node: str) -> bool:
        """Whether the node may run now. If not, it is added to the waiting nodes."""
        group = self._group_of(node) if self.bounds else ""
        bound = self.bounds.get(group)
        if bound is None:
            return True
        running = self._running.get(group, 0)
        if running >= max(1, bound):
            heappush(self._waiting.setdefault(group, []), node)
            return False
        self._running[group] = running + 1
        self._held[node] = group
        return True

    def give_back(self, node: str) -> str | None:
        """Record that a node no longer runs. Returns the waiting node of its group with the first name, which may run
        now; None if no node of the group waits."""
        group = self._held.pop(node, None)
        if group is None:
            return None
        self._running[group] -= 1
        waiting = self._waiting.get(group)
        return heappop(waiting) if waiting else None

    def withdraw(self) -> list[str]:
        withdrawn = sorted(node for waiting in self._waiting.values() for node in waiting)
        self._waiting.clear()
        return withdrawn


# The input and output of a walk. A walk knows nothing else about plans, applies or providers.


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
    """The result of the work on one node. If the diagnostics contain an error, the node has failed. `children`: the
    nodes to add, each with the nodes for which it waits (see `Expanded`)."""

    diagnostics: tuple[Diagnostic, ...] = ()
    children: Mapping[str, Iterable[str]] | None = None

    @property
    def is_plain(self) -> bool:
        return self.children is None and not self.diagnostics


NOTHING = WorkResult()


class Work(Protocol):
    """The work of all nodes in a walk, including children."""

    def is_inline(self, node: str) -> bool:
        """Whether the work on the node only computes. Such work runs on the thread of the walk, to avoid switching
        threads. This method may be called several times for a node, and must then return the same result."""

    def run(self, node: str) -> WorkResult:
        """Do the work of a node. Several threads may call this at the same time for different nodes. The diagnostics of
        a raised `Failure` are treated like returned diagnostics."""


@frozen(eq=False)
class WalkResult:
    """The result of a walk. `diagnostics`: sorted by node name, so that they do not depend on timing. `skips`: nodes
    that never ran."""

    diagnostics: tuple[Diagnostic, ...]
    machine: Machine
    skips: dict[str, Skip] = field(factory=dict)
    stopped: bool = False

    @property
    def states(self) -> dict[str, NodeState]:
        return self.machine.state

    @property
    def on_cycle(self) -> tuple[str, ...]:
        """Nodes that never ran because they wait for each other."""
        return tuple(sorted(name for name, skip in self.skips.items() if skip.because == "cycle"))


Diagnosed: TypeAlias = dict[str, tuple[Diagnostic, ...]]


def event_of(node: str, result: WorkResult) -> Event:
    """The event that reports this result of the work on a node to the machine."""
    if has_errors(result.diagnostics):
        return Failed(node)
    if result.children is not None:
        return Expanded(node, result.children)
    return Finished(node)


def in_order(diagnosed: Diagnosed) -> tuple[Diagnostic, ...]:
    """The diagnostics of all nodes, in the order of node names."""
    return tuple(diagnostic for node in sorted(diagnosed) for diagnostic in diagnosed[node])
