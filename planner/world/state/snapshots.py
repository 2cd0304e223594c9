"""Snapshots: the state of a running apply, written to its backend periodically.

The journal has each change, but only on this machine. With snapshots, little is lost if this machine fails, and
programs that do not read the journal find most objects. The schedule is OpenTofu's (StateHook): the first interval
begins with the first change, each further one with a snapshot. At the end of an interval, a changed state is written.
After an interrupt, each change is written immediately. Unlike in OpenTofu, a thread writes snapshots, and no operation
waits for it."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from threading import Condition, Thread

from planner.foundation.support.signals import StopSignal
from planner.foundation.vocabulary.diagnostic import Failure, error
from planner.world.state.backend import Store
from planner.world.state.model import State

NEWER = "state.newer"  # the code of a refused write: another program has written the state
VARIABLE = "TF_STATE_PERSIST_INTERVAL"
SHORTEST = 20  # the default and minimum interval, in seconds


def persist_interval(environment: Mapping[str, str]) -> float:
    """Seconds between two snapshots, from the environment (default: SHORTEST). Raises Failure."""
    value = environment.get(VARIABLE)
    if value is None:
        return SHORTEST
    digits = value.removeprefix("+")
    if not (digits.isascii() and digits.isdigit()) or len(digits) > 9 or int(digits) < SHORTEST:
        detail = f"{VARIABLE} is {value!r}, but must be a whole number of seconds, {SHORTEST} or more."
        raise Failure(error("state.persist_interval", "Invalid interval between state snapshots", detail))
    return int(digits)


class Snapshots:
    """Writes snapshots of a running apply to a store. May be used by several threads."""

    def __init__(self, store: Store, interval: float, stop: StopSignal) -> None:
        self._store, self._interval, self._stop = store, interval, stop
        self._take: Callable[[], State] | None = None
        self._condition = Condition()
        self._has_changed = self._has_failed = self._is_closed = False
        self._last = 0.0
        self._thread: Thread | None = None

    def begin(self, take: Callable[[], State]) -> None:
        self._take = take
        self._stop.listen(self._wake)

    def note_change(self) -> None:
        with self._condition:
            if self._has_changed or self._is_closed:
                return
            self._has_changed = True
            if self._thread is None:
                self._last = time.monotonic()
                self._thread = Thread(target=self._run, name="state snapshots", daemon=True)
                self._thread.start()
            else:
                self._condition.notify()

    def close(self) -> None:
        """Stop, and wait for a running write."""
        with self._condition:
            self._is_closed = True
            self._condition.notify()
        if self._take is not None:
            self._stop.forget(self._wake)
        if self._thread is not None:
            self._thread.join()

    def _wake(self) -> None:
        with self._condition:
            self._condition.notify()

    def _run(self) -> None:
        assert self._take is not None
        while self._next():
            problems = self._store.snapshot(self._take)
            if any(problem.code == NEWER for problem in problems) and self._store.journal is not None:
                self._store.journal.refuse(problems[0])
                return
            with self._condition:
                self._last, self._has_failed = time.monotonic(), bool(problems)
                self._has_changed |= self._has_failed  # try again later; until then, the journal has all changes

    def _next(self) -> bool:
        """Wait until a snapshot is due. Returns False if the apply has ended."""
        with self._condition:
            while not self._is_closed:
                left = self._seconds_left() if self._has_changed else None
                if left is not None and left <= 0:
                    self._has_changed = False
                    return True
                self._condition.wait(left)
            return False

    def _seconds_left(self) -> float | None:
        """Seconds until the next snapshot; None if the store receives no snapshots."""
        is_urgent = self._stop.requested and not self._has_failed
        interval = self._store.snapshot_interval(self._interval, is_urgent)
        return None if interval is None else self._last + interval - time.monotonic()
