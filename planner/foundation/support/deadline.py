"""A limit of time for work in this thread, without a signal and without another process."""

from __future__ import annotations

import ctypes
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from threading import Event, Lock, Thread, get_ident

AGAIN = 0.05
"""seconds: Python drops an exception that is raised in a callback of its own, as when an object goes"""


class OutOfTime(BaseException):
    """The work took too long. It is not an Exception: work that goes on after any problem ends all the same."""


@contextmanager
def within(seconds: float) -> Iterator[None]:
    """Raises OutOfTime in this thread when what is inside takes longer, between two steps of Python: a call of C that
    waits or computes comes to its end first."""
    thread, lock, ended = ctypes.c_ulong(get_ident()), Lock(), Event()

    def watch() -> None:
        wait = seconds
        while not ended.wait(wait):
            with lock:
                if not ended.is_set():
                    ctypes.pythonapi.PyThreadState_SetAsyncExc(thread, ctypes.py_object(OutOfTime))
            wait = AGAIN

    Thread(target=watch, name="deadline", daemon=True).start()
    try:
        yield
    finally:
        with suppress(OutOfTime):  # it may come at the very end, when the work is done
            ended.set()
        ended.set()
        with suppress(OutOfTime), lock:
            ctypes.pythonapi.PyThreadState_SetAsyncExc(thread, None)
