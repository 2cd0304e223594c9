"""Imports orjson with interrupts delayed. All other modules import it from here.

When orjson is imported, it imports modules of the standard library without checking for failure. A KeyboardInterrupt
during one of these imports becomes a null pointer and crashes the process."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from contextlib import contextmanager
from threading import current_thread, main_thread
from types import FrameType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import orjson

__all__ = ["orjson", "uninterrupted"]


@contextmanager
def uninterrupted() -> Iterator[None]:
    """Delay interrupts until the end of the block."""
    if current_thread() is not main_thread():  # signal handlers run only on the main thread
        yield
        return
    arrived: list[int] = []

    def remember(number: int, frame: FrameType | None) -> None:
        arrived.append(number)

    before: dict[int, Any] = {}
    try:
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGURG):
            before[number] = signal.signal(number, remember)
        yield
    finally:
        for each, handler in before.items():
            signal.signal(each, handler)
    for late in arrived:
        handler = before[late]
        # call the handler instead of sending the signal again, because the signal has already been counted
        if callable(handler):
            handler(late, None)
        else:
            signal.raise_signal(late)


class _Orjson:
    """Loads orjson on first use, because loading takes longer than reading most files."""

    def __getattr__(self, name: str) -> Any:
        with uninterrupted():
            import orjson
        self.__dict__.update(vars(orjson))
        return getattr(orjson, name)


if not TYPE_CHECKING:
    orjson = _Orjson()
