"""Interrupts: the first one asks a running walk to start nothing more, the second one ends the process."""

from __future__ import annotations

import signal
from types import FrameType

from planner.walk.work import StopSignal

STOP = StopSignal()
"""requested when the process is interrupted"""


def install() -> None:
    """Turn SIGINT and SIGTERM into a request to stop; a second one interrupts at once."""

    def handler(number: int, frame: FrameType | None) -> None:
        if STOP.requested:
            raise KeyboardInterrupt
        STOP.request()

    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, handler)
