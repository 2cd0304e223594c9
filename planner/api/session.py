"""The environment of a call, isolated from other calls in the same process.

A command uses the directory, the interrupts and the recursion limit of its process. A library call has its own
directory, its own stop request, and its own record of the files that it has read. Context variables contain these
three, and the threads that walk graphs for the call inherit them."""

from __future__ import annotations

import sys
from _thread import start_new_thread
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from contextvars import copy_context
from threading import Event, Lock, Thread, current_thread, main_thread
from types import NoneType
from typing import Any, TypeVar

from planner.api.arguments import expect
from planner.foundation.support.disk import own_reads, working_in
from planner.foundation.support.signals import STOP, StopSignal, current_stop, stopped_by
from planner.foundation.vocabulary.diagnostic import Diagnostic, Failure, defect
from planner.foundation.vocabulary.release import DEPTH, DIGITS

T = TypeVar("T")
_PATIENCE = 0.2
"""the main thread checks for an interrupt at intervals of this number of seconds"""


class Stop:
    """A stop request, which any thread can make. A call that receives this object ends like a command after an
    interrupt: running work is completed, no new work starts, the state is saved, and the call raises Failure."""

    def __init__(self) -> None:
        self.signal = StopSignal()

    def __reduce__(self) -> tuple[Any, ...]:
        raise TypeError("A planner.Stop cannot be pickled: it stops calls of its own process.")

    @property
    def requested(self) -> bool:
        """Whether a stop was requested."""
        return self.signal.requested

    def request(self) -> None:
        """Stop all current and future calls to which this object is passed."""
        self.signal.request()


def check_stop(stop: Any) -> None:
    """Raises Failure if `stop` is neither a Stop nor None."""
    expect("stop", stop, (Stop, NoneType), "a planner.Stop")


@contextmanager
def session(directory: str, stop: Stop | None = None) -> Iterator[None]:
    """A context in which relative paths start from this absolute directory, and in which a request of `stop` ends all
    waits (default: the `stop` of the surrounding session). An exception that is not a Failure is replaced by a Failure
    with the diagnostic `cli.defect`."""
    check_stop(stop)
    around = current_stop()
    signal = stop.signal if stop is not None else StopSignal() if around is STOP else around
    try:
        with _LIMITS.raised(), working_in(directory), stopped_by(signal), own_reads():
            yield
    except Failure:
        raise
    except Exception as problem:
        raise Failure(defect(problem)) from problem


class UnsavedStateError(Failure):
    """Objects were changed, but the new state could be saved neither in the backend nor in `errored.tfstate`. `state`
    is the content of the state file, which the caller must save; `planner state push` can store it later."""

    def __init__(self, diagnostics: Sequence[Diagnostic], state: bytes) -> None:
        super().__init__(diagnostics)
        self.state = state

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.diagnostics, self.state)


def uninterrupted(work: Callable[[], T], stop: Stop) -> T:
    """Run `work` so that a KeyboardInterrupt cannot end it at an arbitrary point, and return its result. Python raises
    KeyboardInterrupt only on the main thread, so a call on the main thread runs the work in another thread. An
    interrupt requests the stop, and is raised again when the work has ended, unless the work raises UnsavedStateError.
    A second interrupt is raised immediately."""
    if current_thread() is not main_thread():
        return work()
    results: list[T] = []
    problems: list[BaseException] = []
    ended, is_abandoned = Event(), False

    def run() -> None:
        try:
            if not is_abandoned:
                results.append(work())
        except BaseException as problem:
            problems.append(problem)
        finally:
            ended.set()

    thread = Thread(target=copy_context().run, args=(run,), name="planner")
    interrupt: KeyboardInterrupt | None = None
    while not ended.is_set():
        try:
            if thread.ident is None and interrupt is None:
                thread.start()
            while not ended.wait(_PATIENCE):
                # wait in short intervals, because an interrupt just before the wait, or in another thread, does not end
                # the wait
                pass
        except KeyboardInterrupt as problem:
            # request the stop in another thread, started by a single C call, which a second interrupt cannot end
            start_new_thread(stop.request, ())
            is_abandoned = thread.ident is None
            if interrupt is not None or is_abandoned:
                raise
            interrupt = problem
    if interrupt is not None and not (problems and isinstance(problems[0], UnsavedStateError)):
        raise interrupt
    if problems:
        raise problems[0]
    return results[0]


class _Limits:
    """The interpreter's limits for nested calls and long numbers. They apply to the whole process, so they are raised
    while calls run, and restored afterwards."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._calls = 0
        self._before = (0, 0)

    @contextmanager
    def raised(self) -> Iterator[None]:
        with self._lock:
            self._calls += 1
            if self._calls == 1:
                self._before = sys.getrecursionlimit(), sys.get_int_max_str_digits()
                sys.setrecursionlimit(max(self._before[0], DEPTH))
                sys.set_int_max_str_digits(max(self._before[1], DIGITS) if self._before[1] else 0)
        try:
            yield
        finally:
            with self._lock:
                self._calls -= 1
                if not self._calls:
                    self._put_back()

    def _put_back(self) -> None:
        depth, digits = self._before
        sys.set_int_max_str_digits(digits)
        with suppress(RecursionError):  # calls of the caller may already be nested more deeply
            sys.setrecursionlimit(depth)


_LIMITS = _Limits()


async def in_thread(work: Callable[[Stop], T], stop: Stop | None = None) -> T:
    """Run a library call in a thread, and return its result. If the asyncio task is cancelled, a stop of the call is
    requested, and the function waits until the call has ended. If the call raises UnsavedStateError, this is raised
    even after a cancellation. `stop`: the Stop that `work` receives (default: a new one)."""
    import asyncio

    stop = Stop() if stop is None else stop
    running = asyncio.ensure_future(asyncio.to_thread(work, stop))
    try:
        return await asyncio.shield(running)
    except asyncio.CancelledError:
        stop.request()
        await asyncio.wait([running])
        problem = None if running.cancelled() else running.exception()
        if isinstance(problem, UnsavedStateError):
            raise problem from None  # the exception contains the only copy of the state
        raise
