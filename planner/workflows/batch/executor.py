"""Executors: the interface to places where units run, and the common part of the workers."""

from __future__ import annotations

import threading
from concurrent.futures import BrokenExecutor, Executor

busy = threading.Lock()
"""the lock that is held while a unit runs in this process"""


class Workplace(Executor):
    """An executor that supports stopping early."""

    @property
    def size(self) -> int:
        """The number of units that run at a time, if the place determines it; otherwise 0."""
        return 0

    def keep(self) -> Workplace | None:
        """The executor for other work of the same batch; None if there is nothing to keep."""
        return self

    def stop(self) -> None:
        """Request that running work finishes and begins nothing more, as far as workers can be notified."""

    def end(self) -> None:
        """Stop running work immediately, without waiting for it."""


class Unmet(Exception):
    """The work cannot be done as requested, and nothing was done."""


def is_death(problem: BaseException) -> bool:
    """Whether an exception of a future means that the process that did the work has ended unexpectedly."""
    if isinstance(problem, BrokenExecutor | EOFError | ConnectionError):
        return True
    return type(problem).__name__ in ("KilledWorker", "CancelledError")
