"""Places where units run: the interface for a batch, and the common part of the workers."""

from __future__ import annotations

import threading
from concurrent.futures import BrokenExecutor, Executor

busy = threading.Lock()
"""held while a unit runs in this process"""


class Workplace(Executor):
    """An executor that supports an early stop."""

    @property
    def size(self) -> int:
        """The number of units that run at a time if the place determines it; otherwise 0."""
        return 0

    def stop(self) -> None:
        """Request that running work begin nothing more and finish, as far as it can be notified."""

    def end(self) -> None:
        """End running work at once, without waiting for it."""


class Unmet(Exception):
    """The work cannot be done as requested; nothing was done."""


def is_death(problem: BaseException) -> bool:
    """Whether an exception of a future means that the process which did the work no longer exists."""
    if isinstance(problem, BrokenExecutor | EOFError | ConnectionError):
        return True
    return type(problem).__name__ in ("KilledWorker", "CancelledError")
