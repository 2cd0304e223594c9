"""Work in forks of this process: they see all data without a copy, and only their results come back, each in a frame of
a pipe. A fork ends with its result, on an interrupt, or when this process ends."""

from __future__ import annotations

import fcntl
import os
import pickle
import select
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterable
from contextlib import suppress
from typing import Any, NamedTuple, NoReturn, TypeVar

from planner.foundation.vocabulary.span import pickled_without_texts

T = TypeVar("T")
ROOMY = 1 << 20
"""bytes that a pipe holds, if possible, so that the writer need not wait for the reader"""
_SIZE = 8
"""bytes at the beginning of a frame, with the length of the rest"""
_INTERRUPTS = frozenset((signal.SIGINT, signal.SIGTERM))


def processors(most: int) -> int:
    """How many processes may share work, at most so many; 1 where nothing can be shared out."""
    if not sys.platform.startswith("linux") or threading.active_count() > 1:  # a fork has locks of threads, not threads
        return 1
    return max(1, min(len(os.sched_getaffinity(0)), most))


def shared_out(work: Callable[[int], T], count: int) -> list[T] | None:
    """The results of `work(0)`, computed here, and of `work(1)`... in forks; they must be picklable. None when a fork
    returned no result, for any reason. Exceptions of `work(0)` are passed on."""
    forks: list[Fork] = []
    try:
        for share in range(1, count):
            try:
                forks.append(start_fork(lambda share=share: _pickled(work(share)), forks))  # type: ignore[misc]
            except OSError:
                return None
        results = [work(0)]
        for fork in forks:
            data = fork.result()
            if not data:
                return None
            results.append(pickle.loads(data))
        return results
    finally:
        for fork in forks:
            fork.end()


def _pickled(result: Any) -> bytes:
    return pickled_without_texts(result)


class Fork(NamedTuple):
    """A process that sends one result, never empty. `alive` is open as long as this process lives: the fork sees when
    it ends."""

    process: int
    pipe: int
    alive: int

    def result(self, deadline: float | None = None) -> bytes | None:
        """The result: empty if the fork ended without one, None if it is not complete at the deadline (monotonic)."""
        data = bytearray()
        while deadline is None or deadline > time.monotonic():
            left = None if deadline is None else max(0.0, deadline - time.monotonic())
            if not select.select([self.pipe], [], [], left)[0]:
                continue
            part = os.read(self.pipe, ROOMY)
            if not part:
                return next(iter(take_frames(data)), b"")
            data += part
        return None

    def stop(self) -> None:
        """Kill the process, if it still runs: then `result` returns."""
        with suppress(ProcessLookupError):
            os.kill(self.process, signal.SIGKILL)

    def end(self) -> None:
        """End the process, which has nothing left to do when its result has come."""
        self.stop()
        os.waitpid(self.process, 0)
        os.close(self.pipe)
        os.close(self.alive)


def start_fork(work: Callable[[], bytes], others: Iterable[Fork] = ()) -> Fork:
    """A fork that sends the result of `work`. `others`: forks whose pipes it does not need. Raises OSError."""
    reading, writing = os.pipe()
    watched, alive = os.pipe()
    before = signal.pthread_sigmask(signal.SIG_BLOCK, _INTERRUPTS)  # or the fork could go on with what is done here
    try:
        process = os.fork()
        if process == 0:
            for number in (reading, alive, *(n for fork in others for n in (fork.pipe, fork.alive))):
                os.close(number)
            _work(work, writing, watched)
    except OSError:
        os.close(reading)
        os.close(alive)
        raise
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
        os.close(writing)
        os.close(watched)
    return Fork(process, reading, alive)


def _work(work: Callable[[], bytes], pipe: int, watched: int) -> NoReturn:
    """In the fork: never comes back."""
    try:
        for number in (*_INTERRUPTS, signal.SIGIO):
            signal.signal(number, signal.SIG_DFL)
        signal.pthread_sigmask(signal.SIG_UNBLOCK, _INTERRUPTS)
        with suppress(OSError, AttributeError):  # where pipes do not report their end, or have one size
            fcntl.fcntl(watched, fcntl.F_SETOWN, os.getpid())
            fcntl.fcntl(watched, fcntl.F_SETFL, fcntl.fcntl(watched, fcntl.F_GETFL) | os.O_ASYNC)  # SIGIO ends it
            fcntl.fcntl(pipe, fcntl.F_SETPIPE_SZ, ROOMY)
        send_frame(pipe, work())
    finally:
        os._exit(0)


def send_frame(pipe: int, data: bytes) -> None:
    """Write the bytes as one frame, to the end."""
    for part in (len(data).to_bytes(_SIZE, "little"), data):
        view = memoryview(part)
        while view:
            view = view[os.write(pipe, view) :]


def take_frames(data: bytearray) -> list[bytes]:
    """The contents of all complete frames at the beginning of the data from a pipe, which are removed from them."""
    frames: list[bytes] = []
    while len(data) >= _SIZE and len(data) - _SIZE >= (size := int.from_bytes(data[:_SIZE], "little")):
        frames.append(bytes(memoryview(data)[_SIZE : _SIZE + size]))
        del data[: _SIZE + size]
    return frames
