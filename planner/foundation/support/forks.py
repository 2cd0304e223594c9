"""Runs work in forks of this process. Forks share all data without copying it, and return only results, each as a frame
in a pipe."""

from __future__ import annotations

import fcntl
import os
import pickle
import select
import signal
import struct
import sys
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from mmap import mmap
from types import FrameType
from typing import Any, NamedTuple, TypeVar

from planner.foundation.vocabulary.span import pickled_without_texts

T = TypeVar("T")
ROOMY = 1 << 20  # the requested capacity of a pipe in bytes, large enough that writers rarely wait for readers
_SIZE = 8  # the size of the length at the beginning of a frame, in bytes
_INTERRUPTS = frozenset((signal.SIGINT, signal.SIGTERM))


def processors(most: int) -> int:
    """The number of processes that may share work, at most `most`; 1 if forking is not possible, or not safe because of
    threads."""
    if (
        not sys.platform.startswith("linux") or threading.active_count() > 1
    ):  # forking a process with threads is unsafe: a fork copies the locks of threads, but not the threads
        return 1
    return max(1, min(len(os.sched_getaffinity(0)), most))


def shared_out(work: Callable[[int], T], count: int) -> list[T] | None:
    """The results of `work(0)`, computed in this process, and of `work(1)` to `work(count - 1)`, computed in forks.
    Results must be picklable. None if a fork could not be started or returned no result. Exceptions of `work(0)` are
    raised here."""
    forks: list[Fork] = []
    try:
        for share in range(1, count):
            try:
                forks.append(start_fork(lambda share=share: pickled_without_texts(work(share)), forks))  # type: ignore[misc]
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


class Fork(NamedTuple):
    """A process that returns one non-empty result. The pipe `alive` is open while this process runs, so that the fork
    notices its end."""

    process: int
    pipe: int
    alive: int

    def result(self, deadline: float | None = None) -> bytes | None:
        """The result of the fork; empty if the fork ended without a result; None if the result is not complete at the
        deadline (monotonic)."""
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
        """Kill the process if it still runs; `result` then returns."""
        with suppress(ProcessLookupError):
            os.kill(self.process, signal.SIGKILL)

    def end(self) -> None:
        self.stop()
        os.waitpid(self.process, 0)
        os.close(self.pipe)
        os.close(self.alive)


def start_fork(work: Callable[[], bytes], others: Iterable[Fork] = ()) -> Fork:
    """A fork that sends the result of `work` and ends. It also ends on an interrupt, or when this process ends.
    `others`: earlier forks, whose pipes the new fork must close. Raises OSError."""

    def send(pipe: int, watched: int) -> None:
        signal.signal(signal.SIGIO, signal.SIG_DFL)
        with suppress(OSError, AttributeError):  # not all systems can signal the end of a pipe
            fcntl.fcntl(watched, fcntl.F_SETOWN, os.getpid())
            fcntl.fcntl(watched, fcntl.F_SETFL, fcntl.fcntl(watched, fcntl.F_GETFL) | os.O_ASYNC)  # SIGIO ends the fork
        send_frame(pipe, work())

    return _start(send, others, signal.SIG_DFL, signal.SIG_DFL)


def _start(work: Callable[[int, int], None], others: Iterable[Fork], on_interrupt: Any, on_terminate: Any) -> Fork:
    """Start a fork with a pipe for its frames, and a pipe that is open while this process runs. Raises OSError."""
    reading, writing = os.pipe()
    watched, alive = os.pipe()
    before = signal.pthread_sigmask(
        signal.SIG_BLOCK, _INTERRUPTS
    )  # otherwise an interrupt could let the fork continue this function
    try:
        process = os.fork()
        if process == 0:
            try:
                for number in (reading, alive, *(n for fork in others for n in (fork.pipe, fork.alive))):
                    os.close(number)
                signal.set_wakeup_fd(-1)
                signal.signal(signal.SIGINT, on_interrupt)
                signal.signal(signal.SIGTERM, on_terminate)
                signal.pthread_sigmask(signal.SIG_UNBLOCK, _INTERRUPTS)
                with suppress(OSError, AttributeError):  # the system may refuse to change the capacity of pipes
                    fcntl.fcntl(writing, fcntl.F_SETPIPE_SZ, ROOMY)
                work(writing, watched)
            finally:
                os._exit(0)
    except OSError:
        os.close(reading)
        os.close(alive)
        raise
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
        os.close(writing)
        os.close(watched)
    return Fork(process, reading, alive)


def send_frame(pipe: int, data: bytes) -> None:
    for part in (len(data).to_bytes(_SIZE, "little"), data):
        view = memoryview(part)
        while view:
            view = view[os.write(pipe, view) :]


def take_frames(data: bytearray) -> list[bytes]:
    """Remove complete frames from the beginning of `data`, and return their contents."""
    frames: list[bytes] = []
    while len(data) >= _SIZE and len(data) - _SIZE >= (size := int.from_bytes(data[:_SIZE], "little")):
        frames.append(bytes(memoryview(data)[_SIZE : _SIZE + size]))
        del data[: _SIZE + size]
    return frames


# Forks that process many items. An item may change real objects, so it is never interrupted (unlike the work of
# `start_fork`): after a stop request, each fork finishes its current item and takes no other.


_INDEX = struct.Struct("<I")
_PATIENCE = 5.0  # seconds that forks may take to end if the whole process must end


class StopFlag:
    """A stop request from this process to its forks."""

    def __init__(self) -> None:
        self._shared = mmap(-1, 1)

    def __bool__(self) -> bool:
        return self._shared[0] != 0

    def set(self) -> None:
        self._shared[0] = 1


class Forks:
    """Forks that together call `work(index)` for all numbers below `count`. They must be started before any threads."""

    def __init__(self, work: Callable[[int], Any], count: int, processes: int, stop: StopFlag) -> None:
        self.stop = stop
        self._forks: list[Fork] = []
        self._tasks = _tasks(count)
        for _ in range(processes):
            self._forks.append(_start(self._items(work), self._forks, _ignore_signal, _interrupt))
        os.close(self._tasks)

    def results(self) -> Iterator[tuple[int, Any]]:
        """Pairs (index, result) in the order of arrival. An item is missing if its fork died. If the iteration is
        interrupted, the forks are interrupted, too, and their remaining results are returned first."""
        parts: dict[int, bytearray] = {fork.pipe: bytearray() for fork in self._forks}
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
            for fork in self._forks:
                fork.end()  # all output of the fork has arrived
            self._forks.clear()

    def _read(self, parts: dict[int, bytearray], seconds: float | None) -> Iterator[tuple[int, Any]]:
        for pipe in select.select(list(parts), [], [], seconds)[0]:
            data = os.read(pipe, ROOMY)
            if not data:
                del parts[pipe]
                continue
            parts[pipe] += data
            yield from map(pickle.loads, take_frames(parts[pipe]))

    def _items(self, work: Callable[[int], Any]) -> Callable[[int, int], None]:
        """A function that calls `work` in a fork until no index is left. The fork ignores SIGINT: this process
        receives it, too, and ends the fork with SIGTERM."""
        parent = os.getpid()

        def take(pipe: int, watched: int) -> None:
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

        return take


def _tasks(count: int) -> int:
    """A pipe that contains all numbers below `count`; each fork reads its next number from it."""
    reading, writing = os.pipe()
    with suppress(OSError):
        fcntl.fcntl(writing, fcntl.F_SETPIPE_SZ, max(ROOMY, 4096))
    os.set_blocking(writing, False)
    with suppress(BlockingIOError):
        os.write(writing, b"".join(map(_INDEX.pack, range(count))))
    os.close(writing)
    return reading


def _ignore_signal(number: int, frame: FrameType | None) -> None:
    pass


def _interrupt(number: int, frame: FrameType | None) -> None:
    raise KeyboardInterrupt
