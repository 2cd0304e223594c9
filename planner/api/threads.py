"""Calls of the library in threads, for asyncio programs."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import TypeVar

from planner.api.session import Stop

T = TypeVar("T")


async def in_thread(work: Callable[[Stop], T]) -> T:
    """The result of a call of the library, made in a thread. Cancelling the task requests the stop."""
    stop = Stop()
    running = asyncio.ensure_future(asyncio.to_thread(work, stop))
    try:
        return await asyncio.shield(running)
    except asyncio.CancelledError:
        stop.request()
        await asyncio.wait([running])
        if not running.cancelled():
            running.exception()  # whatever it is, the caller has gone
        raise
