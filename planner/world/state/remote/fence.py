"""Prevents a process that has lost its lock from starting operations or overwriting a newer state.

A process may lose its lock without noticing: its lease or session ends, or the lock is removed by force. The lock is
checked before a change if the last check is some seconds old, and always before the state is written."""

from __future__ import annotations

import time
from collections.abc import Callable
from threading import Lock
from typing import TypeVar

from planner.foundation.vocabulary.diagnostic import Diagnostic, Failure, ServiceError, error
from planner.world.state.lock import Stop, wait
from planner.world.state.remote.client import LockHeld, RemoteStateClient, VersionConflict

T = TypeVar("T")
INTERVAL = 3.0  # seconds for which the result of a check is reused
OUTAGE = 120.0  # seconds for which a service may be unavailable before an error is reported


class Fence:
    """Checks whether the lock with this id is still held. May be used by several threads."""

    def __init__(self, client: RemoteStateClient, lock_id: str, stop: Stop | None = None) -> None:
        self._client, self._lock_id, self._stop = client, lock_id, stop
        self._asked = time.monotonic()
        self._lost: Diagnostic | None = None
        self._mutex = Lock()

    def check(self) -> None:
        """Raises Failure if the lock is lost. The result of a recent check is reused."""
        with self._mutex:
            if self._lost is None and time.monotonic() - self._asked >= INTERVAL:
                self._ask()
            if self._lost is not None:
                raise Failure(self._lost)

    @property
    def is_lost(self) -> bool:
        return self._lost is not None

    def problem(self) -> Diagnostic | None:
        """Check the lock, and return an error if it is lost or cannot be checked, otherwise None."""
        with self._mutex:
            if self._lost is None:
                self._ask()
            return self._lost

    def _ask(self) -> None:
        try:
            holds = with_retries(lambda: self._client.has_lock(self._lock_id), self._stop)
        except ServiceError as problem:
            self._lost = self._lost_lock(f"{problem.text}. planner cannot determine whether it still holds the lock.")
            return
        self._asked = time.monotonic()
        if not holds:
            holder = ""
            try:
                info = self._client.holder()
                holder = f" Another client holds a lock now.\n\n{info.describe()}" if info is not None else ""
            except ServiceError:
                pass
            self._lost = self._lost_lock(f"The lock {self._lock_id} on {self._client.place} no longer exists.{holder}")

    def _lost_lock(self, why: str) -> Diagnostic:
        detail = (
            f"{why}\n\nWithout the lock, another process may change the same objects. No new operation began, and the "
            "state was not written: the changes made until then are in the journal."
        )
        return error("state.lock_lost", "The state lock was lost", detail)


def with_retries(what: Callable[[], T], stop: Stop | None = None, longest: float = OUTAGE) -> T:
    """The result of a request, with retries while the service is unavailable. Raises ServiceError after `longest`
    seconds, at a stop request, and immediately if a retry cannot help."""
    began, pause = time.monotonic(), 0.5
    while True:
        try:
            return what()
        except (LockHeld, VersionConflict):
            raise
        except ServiceError as problem:
            left = longest - (time.monotonic() - began)
            if left <= 0 or not problem.may_pass or (stop is not None and stop.requested):
                raise
        wait(min(pause, left), stop)
        pause = min(pause * 2, 8.0)
