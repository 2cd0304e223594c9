"""Runs of one file, each when those that it waits for are over: one after the other here, or in threads that take
turns."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from queue import SimpleQueue
from threading import Thread

from planner.walk.turns import Turns

MOST = 10
"""runs at the same time"""


def in_order(waits: Sequence[frozenset[int]], work: Callable[[int], None]) -> None:
    """Do the work of each run, by their places. Raises what the work raises, once what runs is over."""
    left, over, running = set(range(len(waits))), set[int](), 0
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

    while left or running:
        ready = [index for index in sorted(left) if waits[index] <= over] if defect is None else []
        if len(ready) == 1 and not running:  # nothing can be beside it
            left.discard(ready[0])
            work(ready[0])
            over.add(ready[0])
            continue
        for index in ready[: MOST - running]:
            left.discard(index)
            running += 1
            Thread(target=beside, args=(index,), name=f"run-{index}", daemon=True).start()
        if not running:
            break
        index, problem = done.get()
        running -= 1
        over.add(index)
        defect = defect or problem
    if defect is not None:
        raise defect
