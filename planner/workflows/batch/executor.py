"""The interface of executors (places where units run)."""

from __future__ import annotations

import threading
from concurrent.futures import BrokenExecutor, Executor

busy = threading.Lock()
"""a lock that is held while a unit runs in this process"""


class Workplace(Executor):
    """An executor that supports stopping early."""

    @property
    def size(self) -> int:
        """The number of units that run at a time, if the executor determines this number; otherwise 0."""
        return 0

    def keep(self) -> Workplace | None:
        """The executor for further work of the batch: this one, or the part of it that can be reused. None if nothing
        can be reused."""
        return self

    def stop(self) -> None:
        """Let running work finish, and start nothing new; has no effect on workers that cannot be notified."""

    def end(self) -> None:
        """Stop running work immediately."""


class Unmet(Exception):
    """The work cannot be done as requested. This is raised before anything is changed."""


def is_death(problem: BaseException) -> bool:
    """Whether an exception of a future means that the process that did the work ended unexpectedly."""
    if isinstance(problem, BrokenExecutor | EOFError | ConnectionError):
        return True
    return type(problem).__name__ in ("KilledWorker", "CancelledError")
