"""Reports every ten seconds on operations that are still running."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import Any

INTERVAL = 10.0
"""seconds between two reports about the same operation"""


class StillRunning:
    """Calls `report(key, seconds since the start)` every INTERVAL seconds for each operation that was started.
    One thread serves all; it exists only while something runs longer than the interval can be waited for."""

    def __init__(self, report: Callable[[Any, float], None], interval: float = INTERVAL) -> None:
        self._report = report
        self._interval = interval
        self._started: dict[Any, float] = {}
        self._due: dict[Any, float] = {}
        self._changed = threading.Condition()
        self._thread: threading.Thread | None = None

    def start(self, key: Any) -> None:
        """An operation begins."""
        with self._changed:
            now = time.monotonic()
            self._started[key] = now
            self._due[key] = now + self._interval
            if self._thread is None:
                self._thread = threading.Thread(target=self._run, name="still running", daemon=True)
                self._thread.start()
            # the thread need not be woken: all intervals are alike, so whatever it waits for comes first

    def stop(self, key: Any) -> float:
        """The operation ended: seconds since its start (0 when it never started)."""
        with self._changed:
            self._due.pop(key, None)
            began = self._started.pop(key, None)
            return 0.0 if began is None else time.monotonic() - began

    def stop_where(self, matches: Callable[[Any], bool]) -> None:
        """Stop the operations whose key matches."""
        with self._changed:
            for key in [key for key in self._started if matches(key)]:
                self._due.pop(key, None)
                del self._started[key]

    def _run(self) -> None:
        while True:
            with self._changed:
                if not self._due:
                    # Waiting a little spares a new thread for each of many short operations in a row.
                    self._changed.wait(min(1.0, self._interval))
                    if not self._due:
                        self._thread = None
                        return
                key = min(self._due, key=lambda k: self._due[k])
                now = time.monotonic()
                if self._due[key] > now:
                    self._changed.wait(self._due[key] - now)
                    continue
                self._due[key] += self._interval
                elapsed = now - self._started[key]
            self._report(key, elapsed)
