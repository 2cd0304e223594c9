"""The request to stop: made by a signal handler, heard by walks, providers, provisioners and whoever waits."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from threading import Event, Lock, local

_PATIENCE = 1.0
"""seconds; a listener only says something or wakes somebody up"""


class StopSignal:
    """Asks what runs to start nothing more.

    A signal handler interrupts the main thread anywhere, also where it holds a lock, so it may take none: it sets
    `requested` and nothing else, and another thread calls `tell`. Whoever is not a signal handler calls `request`.
    """

    __slots__ = ("_heard", "_listeners", "_lock", "_told", "requested")

    def __init__(self) -> None:
        self.requested = False
        self._listeners: list[Callable[[], None]] = []
        self._lock = Lock()
        self._told, self._heard = Event(), Event()

    def listen(self, listener: Callable[[], None]) -> None:
        """Call this when the stop is requested; at once when it already is."""
        with self._lock:
            self._listeners.append(listener)
            told = self._told.is_set()
        if told:
            listener()

    def forget(self, listener: Callable[[], None]) -> None:
        with self._lock:
            self._listeners.remove(listener)

    def request(self) -> None:
        """Stop, and tell everybody. Takes locks: not for signal handlers."""
        self.requested = True
        self.tell()

    def withdraw(self) -> None:
        """The request counts no more, and the next one is told again. Only while nothing runs that might hear it."""
        with self._lock:
            self.requested = False
            self._told.clear()
            self._heard.clear()

    def tell(self) -> None:
        """Call the listeners, once, or wait until another thread has done so. Takes locks: not for signal handlers."""
        with self._lock:
            is_first = not self._told.is_set()
            self._told.set()
            listeners = list(self._listeners)
        if not is_first:
            self._heard.wait(_PATIENCE)
            return
        try:
            for listener in listeners:
                listener()
        finally:
            self._heard.set()

    def wait(self, seconds: float) -> bool:
        """Wait so long, or until the stop is requested; whether it is."""
        return self.requested or self._told.wait(seconds) or self.requested


class _Reading(local):
    depth = 0


_READING = _Reading()


@contextmanager
def reading() -> Iterator[None]:
    """What this thread waits for meanwhile changes nothing anywhere, so a stop ends the waiting."""
    _READING.depth += 1
    try:
        yield
    finally:
        _READING.depth -= 1


def is_reading() -> bool:
    """Whether a stop ends what this thread waits for."""
    return _READING.depth > 0
