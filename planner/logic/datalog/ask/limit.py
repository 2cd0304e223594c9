"""Limits of time and memory. `run_limited` runs a function in a separate process, with limits of time and, on Linux, of
memory. The process always ends, even while C code runs. It ends when it has its result, when the parent stops it at the
time limit, when the kernel stops it a moment after the time limit, or when the parent ends. `within` only limits the
time of a block of code in this thread, and the limit takes effect only after a running C function has finished."""

from __future__ import annotations

import ctypes
import gc
import os
import pickle
import resource
import signal
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from threading import Event, Lock, Thread, get_ident
from typing import Any, TypeVar

from planner.foundation.support.forks import start_fork
from planner.foundation.vocabulary.diagnostic import Failure, error

T = TypeVar("T")

MAX_MEMORY = 2 << 30  # bytes that may be allocated in addition to the memory already in use
GRACE = 2.0  # seconds after the time limit at which the kernel ends the process, if the parent has not done so


def run_limited(work: Callable[[], T], seconds: float) -> T:
    """The result of `work()`, computed in a fork of this process. The fork shares all data with this process without
    copying them, and the side effects of `work` in the fork are lost. Raises Failure if a limit is exceeded or if
    `work` raises it, RuntimeError for other exceptions in `work`, and OSError if the fork cannot be started."""
    fork = start_fork(lambda: _answer(work, seconds))
    try:
        content = fork.result(time.monotonic() + seconds)
    finally:
        fork.end()
    if content is None:
        detail = f"There was no answer within {seconds:g} seconds. Narrow the query, for example with a constant."
        raise Failure(error("query.time", "Query takes too long", detail))
    result: tuple[str, Any] = pickle.loads(content) if content else ("memory", None)
    outcome, value = result
    if outcome == "result":
        return value  # type: ignore[no-any-return]
    if outcome == "failure":
        raise Failure(value)
    if outcome == "memory":
        detail = "The answer, or an intermediate result, does not fit into memory. Narrow the query."
        raise Failure(error("query.memory", "Query needs too much memory", detail))
    raise RuntimeError(value)


def _answer(work: Callable[[], Any], seconds: float) -> bytes:
    """The pickled (outcome, value) of `work`. The function is called in the fork."""
    gc.disable()  # a garbage collection would visit all objects of the parent and copy their memory pages
    signal.signal(signal.SIGALRM, signal.SIG_DFL)
    signal.setitimer(signal.ITIMER_REAL, seconds + GRACE)
    _limit_memory()
    try:
        return pickle.dumps(("result", work()))
    except Failure as failure:
        return pickle.dumps(("failure", failure.diagnostics))
    except MemoryError:
        return pickle.dumps(("memory", None))
    except Exception as problem:
        return pickle.dumps(("error", f"{type(problem).__name__}: {problem}"))


def _limit_memory() -> None:
    try:
        with open("/proc/self/statm") as file:
            used = int(file.read().split()[0]) * os.sysconf("SC_PAGE_SIZE")
        resource.setrlimit(resource.RLIMIT_AS, (used + MAX_MEMORY, used + MAX_MEMORY))
    except (OSError, ValueError):
        pass  # outside Linux, only the time is limited


# A time limit for code in this thread, without signals and processes.


AGAIN = 0.05
"""seconds after which the exception is raised again, because Python ignores exceptions in callbacks such as
finalizers"""


class TimeLimitError(BaseException):
    """The time limit was exceeded. This class is a BaseException, so that it also stops code that catches every
    Exception."""


@contextmanager
def within(seconds: float) -> Iterator[None]:
    """A context that raises TimeLimitError in this thread after this time. The exception is raised between two Python
    instructions, so not before a running C function has finished."""
    thread, lock, ended = ctypes.c_ulong(get_ident()), Lock(), Event()

    def watch() -> None:
        wait = seconds
        while not ended.wait(wait):
            with lock:
                if not ended.is_set():
                    ctypes.pythonapi.PyThreadState_SetAsyncExc(thread, ctypes.py_object(TimeLimitError))
            wait = AGAIN

    Thread(target=watch, name="deadline", daemon=True).start()
    try:
        yield
    finally:
        with suppress(TimeLimitError):  # the exception may be raised after the block is complete
            ended.set()
        ended.set()
        with suppress(TimeLimitError), lock:
            ctypes.pythonapi.PyThreadState_SetAsyncExc(thread, None)
