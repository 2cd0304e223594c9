"""The walk without threads: one node at a time, always the ready one with the smallest name. Oracle and debug mode."""

from __future__ import annotations

from collections.abc import Mapping
from heapq import heappop, heappush
from typing import TYPE_CHECKING

from planner.engine.walk.machine import Instruction, Machine, Skip, StartNode, Stopped
from planner.engine.walk.work import NOTHING, Diagnosed, StopSignal, WalkResult, Work, WorkResult, event_of, in_order
from planner.foundation.vocabulary.diagnostic import Failure, defect, has_errors
from planner.foundation.vocabulary.numbered import Numbered

if TYPE_CHECKING:
    from collections.abc import Iterable

    from planner.foundation.vocabulary.diagnostic import Diagnostic


def walk_sequentially(machine: Machine, work: Work, stop: StopSignal | None = None) -> WalkResult:
    """Do all the work of the machine's nodes on this thread."""
    ready: list[str] = []
    skips: dict[str, Skip] = {}
    diagnosed: Diagnosed = {}

    def obey(instructions: list[Instruction]) -> None:
        for instruction in instructions:
            if isinstance(instruction, StartNode):
                heappush(ready, instruction.node)
            elif isinstance(instruction, Skip):
                skips[instruction.node] = instruction

    obey(machine.begin())
    stopped = False
    while ready:
        if stop is not None and stop.requested:
            stopped = True
            stop.tell()
            obey(machine.handle(Stopped(tuple(ready))))
            break
        node = heappop(ready)
        result = run_guarded(work, node)
        if result is NOTHING or result.is_plain:
            starts, skipped = machine.finish(node)
            for start in starts:
                heappush(ready, start)
            for skip in skipped:
                skips[skip.node] = skip
            continue
        if result.diagnostics:
            diagnosed[node] = result.diagnostics
        obey(machine.handle(event_of(node, result)))
    return WalkResult(in_order(diagnosed), machine, skips, stopped)


def run_guarded(work: Work, node: str) -> WorkResult:
    """The work's result; a `Failure` becomes its diagnostics, and so does a mistake of ours: what was done for other
    nodes must not be lost for it."""
    try:
        return work.run(node)
    except Exception as problem:
        return WorkResult(said_by(problem, node))


def said_by(problem: Exception, node: str) -> tuple[Diagnostic, ...]:
    """What is told of an exception in the work on a node."""
    return tuple(problem.diagnostics) if isinstance(problem, Failure) else (defect(problem, node),)


# The walk of work that adds no nodes, waits for nothing and is not stopped: what `walk_sequentially` does, in the same
# order, without its bookkeeping, which is half the time of work that only computes.


def walk_straight(dependencies: Mapping[str, Iterable[str]] | Numbered, work: Work) -> tuple[Diagnostic, ...]:
    """Do the work of all nodes, always of the ready one with the smallest name; what it said, by node name. Nothing is
    done for what depends on a node that failed, or is on a cycle. Dependencies of a node are each told once; names that
    are no keys are ignored. Raises ValueError for work that adds nodes."""
    graph = dependencies if isinstance(dependencies, Numbered) else Numbered(dependencies)
    names, waits_for, dependents = graph.names, graph.waits_for.copy(), graph.dependents
    diagnosed: Diagnosed = {}
    ready = [number for number, count in enumerate(waits_for) if not count]  # in order, so it is a heap
    run = work.run
    while ready:
        number = heappop(ready)
        name = names[number]
        try:
            result = run(name)
            said = result.diagnostics
            if result.children is not None:
                raise ValueError(f"{name} adds nodes")
        except Exception as problem:
            said = said_by(problem, name)
        if said:
            diagnosed[name] = said
            if has_errors(said):
                continue
        for waiting_one in dependents[number]:
            waits_for[waiting_one] = left = waits_for[waiting_one] - 1
            if not left:
                heappush(ready, waiting_one)
    return in_order(diagnosed)
