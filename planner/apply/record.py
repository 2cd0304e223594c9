"""What an apply has done so far: the state as it is now, how many objects were touched, and a copy now and then."""

from __future__ import annotations

from collections.abc import Callable
from threading import Lock, Timer
from time import monotonic

from planner.plan.instance import Instance
from planner.state.build import StateBuilder
from planner.state.model import ObjectState, State

BUSY = 20
"""Saving may take one part in so many of the time."""


class Checkpoints:
    """Hands on the state soon after every change: at once when the last time is long enough ago, measured by what
    saving takes, or else by a timer, so that ten thousand quick changes are not ten thousand files."""

    def __init__(self, state: StateBuilder, save: Callable[[State], None] | None) -> None:
        self._state, self._save = state, save
        self._lock = Lock()
        self._next = 0.0
        self._timer: Timer | None = None
        self._closed = False

    def changed(self) -> None:
        """The state has changed."""
        if self._save is None:
            return
        with self._lock:
            wait = self._next - monotonic()
            if wait <= 0:
                self._hand_on(self._save)
            elif self._timer is None:
                self._timer = Timer(wait, self._late)
                self._timer.daemon = True
                self._timer.start()

    def close(self) -> None:
        """Nothing is handed on any more: the caller has the final state."""
        with self._lock:
            self._closed = True
            if self._timer is not None:
                self._timer.cancel()

    def _late(self) -> None:
        with self._lock:
            self._timer = None
            if self._save is not None and not self._closed:
                self._hand_on(self._save)

    def _hand_on(self, save: Callable[[State], None]) -> None:
        began = monotonic()
        save(self._state.snapshot())
        now = monotonic()
        self._next = now + BUSY * (now - began)


class ApplyRecord:
    """The state under work and the counts. Nodes may change it from several threads."""

    def __init__(self, prior: State, save: Callable[[State], None] | None = None) -> None:
        self.state = StateBuilder(prior)
        self.checkpoints = Checkpoints(self.state, save)
        self._lock = Lock()
        self.counts = {"create": 0, "update": 0, "delete": 0}

    def write(self, it: Instance, record: ObjectState | None, deposed: str = "") -> None:
        """Put the object's record into the state, or take it out."""
        if record is None:
            self.state.remove_object(it.resource_address, it.key, deposed)
        else:
            it.store(self.state, record, deposed)

    def count(self, action: str) -> None:
        """An operation has ended well."""
        with self._lock:
            self.counts[action] += 1
