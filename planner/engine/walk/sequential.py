"""The walk without threads: one node at a time, always the ready one with the smallest name. Oracle and debug mode."""

from __future__ import annotations

from heapq import heappop, heappush
from typing import TYPE_CHECKING

from planner.engine.walk.machine import Instruction, Machine, Skip, StartNode, Stopped
from planner.engine.walk.work import NOTHING, Diagnosed, StopSignal, WalkResult, Work, WorkResult, event_of, in_order
from planner.foundation.vocabulary.diagnostic import Failure

if TYPE_CHECKING:
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
    from planner.foundation.vocabulary.defect import defect

    return tuple(problem.diagnostics) if isinstance(problem, Failure) else (defect(problem, node),)
