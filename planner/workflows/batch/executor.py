"""A place where units run: what a batch asks of it, and what those who run there share."""

from __future__ import annotations

import threading
from concurrent.futures import BrokenExecutor, Executor

busy = threading.Lock()
"""held while a unit is in work in this process"""


class Workplace(Executor):
    """An executor that can be asked to come to an end early."""

    @property
    def size(self) -> int:
        """How many units can be in work at a time, where that is not for the one who asks to say; else 0."""
        return 0

    def stop(self) -> None:
        """What is in work shall begin nothing more and come to its end, as far as it can be told."""

    def end(self) -> None:
        """What is in work shall end at once; nobody waits for it."""


class Unmet(Exception):
    """The work cannot be done as it was asked for; nothing was done."""


def is_death(problem: BaseException) -> bool:
    """Whether an exception of a future means that the process which did the work is gone."""
    if isinstance(problem, BrokenExecutor | EOFError | ConnectionError):
        return True
    return type(problem).__name__ in ("KilledWorker", "CancelledError")
