"""Work distributed to forks of this process: they see all data without a copy, and only their results come back. A fork
ends with its result, on an interrupt, or when this process ends."""

from __future__ import annotations

import fcntl
import os
import pickle
import signal
import sys
import threading
from collections.abc import Callable
from contextlib import suppress
from typing import Any, NamedTuple, NoReturn, TypeVar

T = TypeVar("T")
_ROOMY = 1 << 20
"""bytes that a pipe holds, if possible, so that the writer need not wait for the reader"""
_SIZE = 8
"""bytes before a result, with its length"""
_INTERRUPTS = frozenset((signal.SIGINT, signal.SIGTERM))


def processors(most: int) -> int:
    """How many processes may share work, at most so many; 1 where nothing can be shared out."""
    if not sys.platform.startswith("linux") or threading.active_count() > 1:  # a fork has locks of threads, not threads
        return 1
    return max(1, min(len(os.sched_getaffinity(0)), most))


def shared_out(work: Callable[[int], T], count: int) -> list[T] | None:
    """The results of `work(0)`, computed here, and of `work(1)`... in forks; they have to be such as can be pickled.
    None when a fork gave none, for whatever reason. What `work(0)` raises is raised."""
    forks: list[_Fork] = []
    try:
        for share in range(1, count):
            started = _started(work, share, forks)
            if started is None:
                return None
            forks.append(started)
        results = [work(0)]
        for fork in forks:
            data = _read(fork.result)
            if len(data) < _SIZE or int.from_bytes(data[:_SIZE], "little") != len(data) - _SIZE:
                return None
            results.append(pickle.loads(memoryview(data)[_SIZE:]))
        return results
    finally:
        for fork in forks:
            with suppress(ProcessLookupError):
                os.kill(fork.process, signal.SIGKILL)  # one whose result came has nothing left to do
            os.waitpid(fork.process, 0)
            os.close(fork.result)
            os.close(fork.alive)


class _Fork(NamedTuple):
    """`alive` is open as long as this process lives: the fork sees when it ends."""

    process: int
    result: int
    alive: int


def _started(work: Callable[[int], Any], share: int, others: list[_Fork]) -> _Fork | None:
    result, writing = os.pipe()
    watched, alive = os.pipe()
    before = signal.pthread_sigmask(signal.SIG_BLOCK, _INTERRUPTS)  # or the fork could go on with what is done here
    try:
        process = os.fork()
        if process == 0:
            for number in (result, alive, *(n for fork in others for n in (fork.result, fork.alive))):
                os.close(number)
            _work(work, share, writing, watched)
    except OSError:
        os.close(result)
        os.close(alive)
        return None
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
        os.close(writing)
        os.close(watched)
    return _Fork(process, result, alive)


def _work(work: Callable[[int], Any], share: int, pipe: int, watched: int) -> NoReturn:
    """In the fork: never comes back."""
    try:
        for number in (*_INTERRUPTS, signal.SIGIO):
            signal.signal(number, signal.SIG_DFL)
        signal.pthread_sigmask(signal.SIG_UNBLOCK, _INTERRUPTS)
        with suppress(OSError):
            _set_pipes(pipe, watched)
        data = pickle.dumps(work(share), pickle.HIGHEST_PROTOCOL)
        view = memoryview(len(data).to_bytes(_SIZE, "little") + data)
        while view:
            view = view[os.write(pipe, view) :]
    finally:
        os._exit(0)


def _set_pipes(pipe: int, watched: int) -> None:
    fcntl.fcntl(watched, fcntl.F_SETOWN, os.getpid())
    fcntl.fcntl(watched, fcntl.F_SETFL, fcntl.fcntl(watched, fcntl.F_GETFL) | os.O_ASYNC)  # SIGIO ends the process
    fcntl.fcntl(pipe, fcntl.F_SETPIPE_SZ, _ROOMY)


def _read(pipe: int) -> bytes:
    parts = []
    while part := os.read(pipe, _ROOMY):
        parts.append(part)
    return b"".join(parts)
