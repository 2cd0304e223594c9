"""Runs of one file, each when those that it waits for are over: one after the other here, or in threads that take
turns."""

from __future__ import annotations

from bisect import insort
from collections.abc import Callable, Sequence
from queue import SimpleQueue
from threading import Thread

from planner.engine.walk.turns import Turns

MOST = 10
"""runs at the same time"""


def in_order(waits: Sequence[frozenset[int]], work: Callable[[int], None]) -> None:
    """Do the work of each run, by their places. Raises what the work raises, once what runs is over."""
    running = 0
    missing = [set(before) for before in waits]
    later: dict[int, list[int]] = {}
    for index, before in enumerate(waits):
        for other in before:
            later.setdefault(other, []).append(index)
    ready = [index for index, before in enumerate(missing) if not before]
    done: SimpleQueue[tuple[int, BaseException | None]] = SimpleQueue()
    turns, defect = Turns(), None

    def beside(index: int) -> None:
        problem = None
        try:
            with turns.mine():
                work(index)
        except BaseException as caught:
            problem = caught
        done.put((index, problem))

    def over(index: int) -> None:
        for other in later.get(index, ()):
            missing[other].discard(index)
            if not missing[other]:
                insort(ready, other)

    while running or (ready and defect is None):
        if len(ready) == 1 and not running:  # nothing can be beside it
            index = ready.pop()
            work(index)
            over(index)
            continue
        while ready and running < MOST and defect is None:
            index = ready.pop(0)
            running += 1
            Thread(target=beside, args=(index,), name=f"run-{index}", daemon=True).start()
        index, problem = done.get()
        running -= 1
        over(index)
        defect = defect or problem
    if defect is not None:
        raise defect
