"""Work items that forks of this process take one after the other. Unlike in `forks` an item may change the world, so
none is interrupted: on a stop request no fork takes another item, and each finishes the one that it has."""

from __future__ import annotations

import fcntl
import os
import pickle
import select
import signal
import struct
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from mmap import mmap
from types import FrameType
from typing import Any, NamedTuple, NoReturn

from planner.foundation.support.forks import ROOMY, send_frame, take_frames
from planner.foundation.vocabulary.span import pickled_without_texts

_INDEX = struct.Struct("<I")
_PATIENCE = 5.0
"""seconds that forks have to come to an end when everything is to end at once"""


class StopFlag:
    """A stop request from this process to its forks."""

    def __init__(self) -> None:
        self._shared = mmap(-1, 1)

    def __bool__(self) -> bool:
        return self._shared[0] != 0

    def set(self) -> None:
        self._shared[0] = 1


class _QueueFork(NamedTuple):
    process: int
    results: int


class Forks:
    """Forks that do `work(index)` for the numbers below `count`. Start them before there are threads."""

    def __init__(self, work: Callable[[int], Any], count: int, processes: int, stop: StopFlag) -> None:
        self.stop = stop
        self._forks: list[_QueueFork] = []
        self._tasks = _tasks(count)
        for _ in range(processes):
            self._forks.append(self._start(work))
        os.close(self._tasks)

    def results(self) -> Iterator[tuple[int, Any]]:
        """(index, result) as they come; nothing for work during which a fork died. When this is interrupted, the forks
        are, too: their remaining results come first."""
        parts: dict[int, bytearray] = {fork.results: bytearray() for fork in self._forks}
        try:
            while parts:
                yield from self._read(parts, None)
        except KeyboardInterrupt:
            for fork in self._forks:
                with suppress(ProcessLookupError):
                    os.kill(fork.process, signal.SIGTERM)
            deadline = time.monotonic() + _PATIENCE
            while parts and time.monotonic() < deadline:
                yield from self._read(parts, deadline - time.monotonic())
            raise
        finally:
            self._end()

    def _read(self, parts: dict[int, bytearray], seconds: float | None) -> Iterator[tuple[int, Any]]:
        for pipe in select.select(list(parts), [], [], seconds)[0]:
            data = os.read(pipe, ROOMY)
            if not data:
                del parts[pipe]
                continue
            parts[pipe] += data
            yield from map(pickle.loads, take_frames(parts[pipe]))

    def _end(self) -> None:
        for fork in self._forks:
            os.close(fork.results)
            ended, _ = os.waitpid(fork.process, os.WNOHANG)
            if not ended:
                with suppress(ProcessLookupError):
                    os.kill(fork.process, signal.SIGKILL)  # its last output has arrived, or never will
                os.waitpid(fork.process, 0)
        self._forks.clear()

    # ---------------------------------------------------------------- in the fork

    def _start(self, work: Callable[[int], Any]) -> _QueueFork:
        reading, writing = os.pipe()
        process = os.fork()
        if process == 0:
            for other in self._forks:
                os.close(other.results)
            os.close(reading)
            self._work(work, writing)
        os.close(writing)
        return _QueueFork(process, reading)

    def _work(self, work: Callable[[int], Any], pipe: int) -> NoReturn:
        parent = os.getppid()
        signal.set_wakeup_fd(-1)
        signal.signal(signal.SIGINT, _nothing)  # the parent receives it, too, and decides
        signal.signal(signal.SIGTERM, _interrupt)
        try:
            while not self.stop and os.getppid() == parent:
                data = os.read(self._tasks, _INDEX.size)
                if not data:
                    break
                (index,) = _INDEX.unpack(data)
                send_frame(pipe, pickled_without_texts((index, work(index))))
        except KeyboardInterrupt:
            pass
        except BaseException:
            sys.excepthook(*sys.exc_info())
        finally:
            os._exit(0)


def _tasks(count: int) -> int:
    """A pipe with all numbers."""
    reading, writing = os.pipe()
    with suppress(OSError):
        fcntl.fcntl(writing, fcntl.F_SETPIPE_SZ, max(ROOMY, 4096))
    os.set_blocking(writing, False)
    with suppress(BlockingIOError):
        os.write(writing, b"".join(map(_INDEX.pack, range(count))))
    os.close(writing)
    return reading


def _nothing(number: int, frame: FrameType | None) -> None:
    pass


def _interrupt(number: int, frame: FrameType | None) -> None:
    raise KeyboardInterrupt
