"""Interrupts: the first one asks a running walk to start nothing more, the second one ends the process.

A handler runs on the main thread between any two of its steps, perhaps while that holds a lock. So by construction it
takes none: it sets a flag and writes a byte to a pipe; a thread of its own reads that byte and does everything else.
"""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from threading import Thread
from types import FrameType
from typing import NoReturn

from planner.walk.stop import StopSignal

STOP = StopSignal()
"""requested when the process is interrupted"""

_at_once = False
"""whether the first interrupt, too, ends what the main thread is doing"""


def install() -> None:
    """Turn SIGINT and SIGTERM into a request to stop; a second one raises KeyboardInterrupt on the main thread."""
    reading, writing = os.pipe()
    os.set_blocking(writing, False)
    Thread(target=_tell, args=(reading,), name="interrupts", daemon=True).start()

    def handler(number: int, frame: FrameType | None) -> None:
        if STOP.requested or _at_once:
            STOP.requested = True
            raise KeyboardInterrupt
        STOP.requested = True
        os.write(writing, b"!")

    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, handler)


def _tell(reading: int) -> None:
    os.read(reading, 1)
    STOP.tell()


@contextmanager
def at_once() -> Iterator[None]:
    """While the main thread only waits, as for an answer at a prompt, the first interrupt raises KeyboardInterrupt."""
    global _at_once
    _at_once = True
    try:
        if STOP.requested:
            raise KeyboardInterrupt
        yield
    finally:
        _at_once = False


def leave(code: int) -> NoReturn:
    """End the process now, with what is registered for its end (plugins and commands that still run are killed), but
    without waiting for any thread."""
    import atexit
    import sys

    with suppress(Exception, KeyboardInterrupt):
        atexit._run_exitfuncs()
    for stream in (sys.stdout, sys.stderr):
        with suppress(Exception, KeyboardInterrupt):
            stream.flush()
    os._exit(code)
