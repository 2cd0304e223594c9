"""The walk's state machine: pure. Events go in, instructions come out; no threads, no clock, no work.

Every node is in one state:

    waiting    some node it depends on is not done yet
    ready      told to start, no answer yet
    expanded   its own work is done and it added children; it is done when they are
    done       finished well: its dependents may start
    failed     its work, or a child of it, failed: its dependents are skipped
    skipped    never started: a node it depends on failed or was skipped, or the walk was stopped, or it is on a cycle

Instructions of one answer are sorted by node name, so the same events always give the same instructions.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Literal, TypeAlias

from attrs import frozen

NodeState: TypeAlias = Literal["waiting", "ready", "expanded", "done", "failed", "skipped"]
SkipReason: TypeAlias = Literal["dependency", "stopped", "cycle"]


@frozen
class Finished:
    """The work of a node ended well."""

    node: str


@frozen
class Failed:
    """The work of a node ended badly."""

    node: str


@frozen(eq=False)
class Expanded:
    """The work of a node ended well and added nodes: each child with the nodes that it waits for. The node itself is
    done when all its children are.

    Children may wait for nodes that are certain to be known by then: others of the same addition, those that the walk
    began with, and those added with an ancestor. Any other name is ignored, so naming a node of an addition that may
    come earlier or later would make the walk depend on timing. Waiting for what waits for the parent is a cycle."""

    node: str
    children: Mapping[str, Iterable[str]]


@frozen
class Stopped:
    """Nothing new may start; what runs may end. `not_begun` are nodes that were told to start but did not yet."""

    not_begun: tuple[str, ...] = ()


Event: TypeAlias = Finished | Failed | Expanded | Stopped


@frozen
class Start:
    """Do the work of this node now."""

    node: str


@frozen
class Skip:
    """This node will never start; `because` says why, `cause` names the failed or skipped node it waited for."""

    node: str
    because: SkipReason
    cause: str = ""


@frozen
class End:
    """Every node has reached its last state."""


Instruction: TypeAlias = Start | Skip | End


class Machine:
    """The states of all nodes of one walk.

    `dependencies` maps every node to the nodes that must be done before it; with `reverse` the arrows are read the
    other way round (dependents first). Names that are no keys are ignored. O((V + E) log V) over a whole walk.
    """

    __slots__ = (
        "_broken_parents",
        "_children_left",
        "_dependents",
        "_parent",
        "_running",
        "_stopped",
        "_unfinished",
        "_waits_for",
        "state",
    )

    def __init__(self, dependencies: Mapping[str, Iterable[str]], reverse: bool = False) -> None:
        self.state: dict[str, NodeState] = dict.fromkeys(dependencies, "waiting")
        self._waits_for: dict[str, int] = dict.fromkeys(dependencies, 0)
        self._dependents: dict[str, list[str]] = {}
        self._parent: dict[str, str] = {}
        self._children_left: dict[str, int] = {}
        self._broken_parents: set[str] = set()
        self._unfinished = len(self.state)
        self._running = 0
        self._stopped = False
        state, waits_for, dependents = self.state, self._waits_for, self._dependents
        for node, wanted in dependencies.items():
            for other in set(wanted):
                if other in state:
                    dependent, dependency = (other, node) if reverse else (node, other)
                    waits_for[dependent] += 1
                    if dependency in dependents:
                        dependents[dependency].append(dependent)
                    else:
                        dependents[dependency] = [dependent]

    @property
    def settled(self) -> int:
        """How many nodes have reached their last state."""
        return len(self.state) - self._unfinished

    @property
    def ended(self) -> bool:
        return not self._unfinished

    def begin(self) -> list[Instruction]:
        """The first instructions: every node that waits for nothing."""
        return self._answer([node for node, count in self._waits_for.items() if not count], [])

    def handle(self, event: Event) -> list[Instruction]:
        """What to do now that this happened. Raises ValueError for an event about a node that was not started."""
        ready: list[str] = []
        skips: list[Skip] = []
        if isinstance(event, Stopped):
            self._stopped = True
            for node in event.not_begun:
                self.state[node] = "waiting"
            self._running -= len(event.not_begun)
            self._skip_waiting("stopped", ready, skips)
        else:
            if self.state.get(event.node) != "ready":
                raise ValueError(f"{event.node} is {self.state.get(event.node, 'unknown')}, not running")
            self._running -= 1
            if isinstance(event, Expanded):
                self._expand(event, ready, skips)
            else:
                self._settle([(event.node, "done" if event.__class__ is Finished else "failed")], ready, skips)
        return self._answer(ready, skips)

    def finish(self, node: str) -> tuple[list[str], list[Skip]]:
        """The same as `handle(Finished(node))`, for the one event that nearly all are, without the words: which nodes
        to start now, sorted, and which never will. Raises ValueError like it."""
        state, waits_for = self.state, self._waits_for
        if state.get(node) != "ready":
            raise ValueError(f"{node} is {state.get(node, 'unknown')}, not running")
        self._running -= 1
        ready: list[str] = []
        skips: list[Skip] = []
        if node in self._parent:
            self._settle([(node, "done")], ready, skips)
        else:
            state[node] = "done"
            self._unfinished -= 1
            for dependent in self._dependents.get(node, ()):
                waits_for[dependent] = left = waits_for[dependent] - 1
                if not left and state[dependent] == "waiting":
                    ready.append(dependent)
        self._order(ready, skips)
        return ready, skips

    def _connect(self, dependent: str, dependency: str) -> None:
        self._dependents.setdefault(dependency, []).append(dependent)
        self._waits_for[dependent] += 1

    def _order(self, ready: list[str], skips: list[Skip]) -> None:
        """Count these as running, sorted. When nothing runs any more the rest waits for itself."""
        for node in ready:
            self.state[node] = "ready"
        self._running += len(ready)
        if self._unfinished and not self._running:
            self._skip_waiting("cycle", ready, skips)
        if len(ready) > 1:
            ready.sort()
        if len(skips) > 1:
            skips.sort(key=lambda skip: skip.node)

    def _answer(self, ready: list[str], skips: list[Skip]) -> list[Instruction]:
        self._order(ready, skips)
        answer: list[Instruction] = [Start(node) for node in ready]
        answer += skips
        if not self._unfinished:
            answer.append(End())
        return answer

    def _settle(self, work: list[tuple[str, NodeState]], ready: list[str], skips: list[Skip]) -> None:
        """Put nodes into their last states, release or skip what waits for them, and tell their parents."""
        state = self.state
        while work:
            node, last = work.pop()
            state[node] = last
            self._unfinished -= 1
            for dependent in self._dependents.get(node, ()):
                if last == "done":
                    self._waits_for[dependent] -= 1
                    if not self._waits_for[dependent] and state[dependent] == "waiting":
                        ready.append(dependent)
                elif state[dependent] == "waiting":
                    skips.append(Skip(dependent, "dependency", node))
                    state[dependent] = "skipped"  # at once: a second failed dependency must not skip it again
                    work.append((dependent, "skipped"))
            parent = self._parent.get(node)
            if parent is not None:
                if last != "done":
                    self._broken_parents.add(parent)
                self._children_left[parent] -= 1
                if not self._children_left[parent]:
                    work.append((parent, "failed" if parent in self._broken_parents else "done"))

    def _expand(self, event: Expanded, ready: list[str], skips: list[Skip]) -> None:
        children = event.children
        for child in children:
            if child in self.state:
                raise ValueError(f"{child} is already part of the walk")
        if not children:
            self._settle([(event.node, "done")], ready, skips)
            return
        self.state[event.node] = "expanded"
        self._children_left[event.node] = len(children)
        self._unfinished += len(children)
        for child in children:
            self.state[child] = "waiting"
            self._waits_for[child] = 0
            self._parent[child] = event.node
        broken: list[Skip] = []
        for child, wanted in children.items():
            for other in sorted(set(wanted)):
                state = self.state.get(other)
                if state == "failed" or state == "skipped":
                    broken.append(Skip(child, "dependency", other))
                elif state is not None and state != "done":
                    self._connect(child, other)
        for skip in broken:
            if self.state[skip.node] == "waiting":
                skips.append(skip)
                self.state[skip.node] = "skipped"
                self._settle([(skip.node, "skipped")], ready, skips)
        if self._stopped:
            self._skip_waiting("stopped", ready, skips)
        ready += [child for child in children if self.state[child] == "waiting" and not self._waits_for[child]]

    def _skip_waiting(self, because: SkipReason, ready: list[str], skips: list[Skip]) -> None:
        waiting = [node for node, state in self.state.items() if state == "waiting"]
        for node in waiting:
            self.state[node] = "skipped"
        skips += [Skip(node, because) for node in waiting]
        self._settle([(node, "skipped") for node in waiting], ready, skips)
