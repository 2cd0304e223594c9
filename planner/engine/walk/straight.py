"""The walk of work that adds no nodes, waits for nothing and is not stopped: what `walk_sequentially` does, in the same
order, without its bookkeeping, which is half the time of work that only computes."""

from __future__ import annotations

from collections.abc import Mapping
from heapq import heappop, heappush
from typing import TYPE_CHECKING

from planner.engine.walk.sequential import said_by
from planner.engine.walk.work import Diagnosed, Work, in_order
from planner.foundation.vocabulary.diagnostic import has_errors
from planner.foundation.vocabulary.numbered import Numbered

if TYPE_CHECKING:
    from collections.abc import Iterable

    from planner.foundation.vocabulary.diagnostic import Diagnostic


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
