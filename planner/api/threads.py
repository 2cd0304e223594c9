"""Calls of the library in threads, for asyncio programs."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import TypeVar

from planner.api.session import Stop, UnsavedStateError

T = TypeVar("T")


async def in_thread(work: Callable[[Stop], T], stop: Stop | None = None) -> T:
    """The result of a call of the library, made in a thread. Cancelling the task requests the stop (of the caller, or
    one of its own), and waits until the call has ended. UnsavedStateError is raised even then."""
    stop = Stop() if stop is None else stop
    running = asyncio.ensure_future(asyncio.to_thread(work, stop))
    try:
        return await asyncio.shield(running)
    except asyncio.CancelledError:
        stop.request()
        await asyncio.wait([running])
        problem = None if running.cancelled() else running.exception()
        if isinstance(problem, UnsavedStateError):
            raise problem from None  # it has the only copy of the state
        raise
