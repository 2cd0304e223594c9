"""Walks that take turns: of several threads with walks of their own one computes at a time, and while it waits for the
world, another one does."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from threading import Lock, local


class _Here(local):
    turns: Turns | None = None


_HERE = _Here()


class Turns:
    """What the threads take turns at."""

    def __init__(self) -> None:
        self._lock = Lock()

    @contextmanager
    def mine(self) -> Iterator[None]:
        """This thread computes as soon as it is its turn, until it waits for the world or is done."""
        with self._lock:
            _HERE.turns = self
            try:
                yield
            finally:
                _HERE.turns = None

    def give_up(self) -> None:
        """It is another one's turn."""
        self._lock.release()

    def take_back(self) -> None:
        """Wait for the next turn."""
        self._lock.acquire()


@contextmanager
def meanwhile() -> Iterator[None]:
    """This thread waits for the world; if it takes turns with others, it is theirs."""
    turns = _HERE.turns
    if turns is None:
        yield
        return
    turns.give_up()
    try:
        yield
    finally:
        turns.take_back()
