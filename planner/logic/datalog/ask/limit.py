"""Work that may take too long, in a process of its own that can be ended.

The process ends in any case: with its answer, by the parent when the time has passed, by the kernel a moment later
should the parent be late, and at once when the parent is gone. None of these needs the process to cooperate: it may be
deep in C.
"""

from __future__ import annotations

import fcntl
import gc
import os
import pickle
import resource
import select
import signal
import time
from collections.abc import Callable
from typing import Any, NoReturn, TypeVar

from planner.foundation.vocabulary.diagnostic import Failure, error
from planner.foundation.vocabulary.span import Source

T = TypeVar("T")

MOST_MEMORY = 2 << 30  # bytes beyond what the process has already
GRACE = 2.0  # seconds that the parent has to end the process, before the kernel does


def run_limited(work: Callable[[], T], seconds: float) -> T:
    """The result of `work()`, computed in a fork of this process: it sees all data without a copy, and nothing that it
    does is seen here. Raises Failure when the time or the memory does not suffice, and the one that `work` raises."""
    reading, writing = os.pipe()
    watched, alive = os.pipe()  # its writing end is open only as long as this process lives
    child = os.fork()
    if child == 0:
        os.close(reading)
        os.close(alive)
        _work(work, writing, watched, seconds)
    os.close(writing)
    os.close(watched)
    try:
        content = _read(reading, time.monotonic() + seconds)
    finally:
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
        os.close(reading)
        os.close(alive)
    if content is None:
        detail = f"There was no answer within {seconds:g} seconds. Narrow the query, for example by a constant."
        raise Failure(error("query.time", "Question takes too long", detail))
    result: tuple[str, Any] = pickle.loads(content) if content else ("memory", None)
    outcome, value = result
    if outcome == "result":
        return value  # type: ignore[no-any-return]
    if outcome == "failure":
        raise Failure(value)
    if outcome == "memory":
        detail = "The answer, or an intermediate result, does not fit into memory. Narrow the query."
        raise Failure(error("query.memory", "Question needs too much memory", detail))
    raise RuntimeError(value)


def _work(work: Callable[[], Any], writing: int, watched: int, seconds: float) -> NoReturn:
    """In the child: never comes back."""
    gc.disable()  # it would look through all that the parent has, and copy the pages
    try:
        _limit_life(watched, seconds)
        _limit_memory()
        try:
            outcome: tuple[str, Any] = ("result", work())
        except Failure as failure:
            outcome = ("failure", failure.diagnostics)
        except MemoryError:
            outcome = ("memory", None)
        except Exception as problem:
            outcome = ("error", f"{type(problem).__name__}: {problem}")
        with os.fdopen(writing, "wb") as pipe:
            pickler = pickle.Pickler(pipe, pickle.HIGHEST_PROTOCOL)
            pickler.dispatch_table = {Source: _whole_source}
            pickler.dump(outcome)
    finally:
        os._exit(0)


def _whole_source(source: Source) -> tuple[Any, ...]:
    """Diagnostics show the lines that they are about: here a source goes with its text."""
    return Source, (source.filename, source.text)


def _limit_life(watched: int, seconds: float) -> None:
    """Make the kernel end this process a moment after its time limit, and when its parent no longer waits for it."""
    for number in (signal.SIGALRM, signal.SIGIO, signal.SIGINT, signal.SIGTERM):
        signal.signal(number, signal.SIG_DFL)
    signal.setitimer(signal.ITIMER_REAL, seconds + GRACE)
    try:
        fcntl.fcntl(watched, fcntl.F_SETOWN, os.getpid())
        fcntl.fcntl(watched, fcntl.F_SETFL, fcntl.fcntl(watched, fcntl.F_GETFL) | os.O_ASYNC)
    except (OSError, AttributeError):
        pass  # where pipes tell nothing, the alarm has to do


def _limit_memory() -> None:
    try:
        with open("/proc/self/statm") as file:
            used = int(file.read().split()[0]) * os.sysconf("SC_PAGE_SIZE")
        resource.setrlimit(resource.RLIMIT_AS, (used + MOST_MEMORY, used + MOST_MEMORY))
    except (OSError, ValueError):
        pass  # other systems than Linux: the time limit alone


def _read(reading: int, deadline: float) -> bytes | None:
    """Everything that comes; None when it is not complete in time."""
    parts: list[bytes] = []
    while (left := deadline - time.monotonic()) > 0:
        if select.select([reading], [], [], left)[0]:
            part = os.read(reading, 1 << 20)
            if not part:
                return b"".join(parts)
            parts.append(part)
    return None
