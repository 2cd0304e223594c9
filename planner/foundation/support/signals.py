"""Handles interrupts: after the first one, a running walk starts no further operations; the second one ends the
process.

A signal handler runs on the main thread between any two of its steps, perhaps while that thread holds a lock.
Therefore the handler acquires no locks: it sets a flag or raises KeyboardInterrupt. A signal that arrives just before
the main thread begins to wait would have no effect until the wait ends. Therefore the system also writes each signal to
a pipe. A separate thread reads the pipe, notifies the listeners of the stop request, and sends harmless signals to the
main thread until it has responded."""

from __future__ import annotations

import atexit
import os
import signal
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from threading import TIMEOUT_MAX, Event, Lock, Thread, current_thread, get_ident, local, main_thread
from time import sleep
from types import FrameType
from typing import NoReturn

# The stop request: set by a signal handler, observed by walks, providers, provisioners and waiting threads.


_PATIENCE = 1.0  # seconds that listeners may take; they only print a message or wake a thread


class StopSignal:
    """A request to start no further operations.

    A signal handler must not acquire locks, because it may interrupt the main thread while that thread holds a lock. So
    the handler only sets `requested`, and another thread notifies the listeners. All other code calls `request`.
    """

    __slots__ = ("_heard", "_listeners", "_lock", "_told", "requested")

    def __init__(self) -> None:
        self.requested = False
        self._listeners: list[Callable[[], None]] = []
        self._lock = Lock()
        self._told, self._heard = Event(), Event()

    def listen(self, listener: Callable[[], None]) -> None:
        """Call `listener` when the stop is requested, or immediately if it already is."""
        with self._lock:
            self._listeners.append(listener)
            told = self._told.is_set()
        if told:
            listener()

    def forget(self, listener: Callable[[], None]) -> None:
        with self._lock:
            self._listeners.remove(listener)

    def request(self) -> None:
        """Stop, and notify all listeners. Must not be called from a signal handler, because it acquires locks."""
        self.requested = True
        self.tell()

    def withdraw(self) -> None:
        """Withdraw the request, so that the next request calls the listeners again. Call this only while no work is
        running that might notice the request."""
        with self._lock:
            self.requested = False
            self._told.clear()
            self._heard.clear()

    def tell(self) -> None:
        """Call the listeners. If another thread is already calling them, wait for that thread instead, for at most one
        second. Must not be called from a signal handler, because it acquires locks."""
        with self._lock:
            is_first = not self._told.is_set()
            self._told.set()
            listeners = list(self._listeners)
        if not is_first:
            self._heard.wait(_PATIENCE)
            return
        try:
            for listener in listeners:
                listener()
        finally:
            self._heard.set()

    def wait(self, seconds: float) -> bool:
        """Wait for `seconds`, or until a stop is requested. Returns whether a stop is requested."""
        return self.requested or self._told.wait(min(seconds, TIMEOUT_MAX)) or self.requested


class _Reading(local):
    depth = 0


_READING = _Reading()


@contextmanager
def reading() -> Iterator[None]:
    """A context in which this thread waits for a read without side effects, so a stop request ends the wait."""
    _READING.depth += 1
    try:
        yield
    finally:
        _READING.depth -= 1


def is_reading() -> bool:
    return _READING.depth > 0


STOP = StopSignal()  # requested when the process is interrupted

_STOP: ContextVar[StopSignal] = ContextVar("stop", default=STOP)


@contextmanager
def stopped_by(stop: StopSignal) -> Iterator[None]:
    """A context in which work is stopped by `stop` instead of STOP, the stop request of the process."""
    token = _STOP.set(stop)
    try:
        yield
    finally:
        _STOP.reset(token)


def current_stop() -> StopSignal:
    return _STOP.get()


_at_once = False  # whether the first interrupt already raises KeyboardInterrupt

NUDGE = signal.SIGURG  # a signal that processes ignore by default
LISTENER = "interrupts"  # the name of the thread that waits for signals
PATIENCE = 0.02  # seconds between two signals to the main thread


class _Interrupts:
    """Counts interrupts. `called`: calls of the handler (one call may represent several signals); `received`: signals
    read from the pipe; `answered`: handled interrupts."""

    def __init__(self, writing: int) -> None:
        self.called = self.received = self.answered = 0
        self.writing, self.report = writing, sys.unraisablehook

    def handle(self, number: int, frame: FrameType | None) -> None:
        self.called += number != NUDGE
        if frame is not None and frame.f_code is _Interrupts.dropped.__code__:
            return  # Python would drop an exception raised in `dropped`, too; another signal will follow
        count = max(self.called, self.received)
        if count <= self.answered:
            return
        self.answered = count
        STOP.requested = True
        if count > 1 or _at_once:
            raise KeyboardInterrupt

    def dropped(self, problem: sys.UnraisableHookArgs) -> None:
        """Python drops exceptions raised in its own callbacks, such as finalizers. This hook raises a dropped interrupt
        again."""
        if problem.exc_type is KeyboardInterrupt:
            os.write(self.writing, bytes((signal.SIGINT,)))
        else:
            self.report(problem)

    def read(self, pipe: int, main: int) -> None:
        while True:
            self.received += sum(number != NUDGE for number in os.read(pipe, 64))
            if self.received:
                STOP.request()
            while self.answered < self.received:
                signal.pthread_kill(main, NUDGE)
                sleep(PATIENCE)


def install() -> None:
    """Install the signal handlers: the first SIGINT or SIGTERM requests a stop; the second one raises KeyboardInterrupt
    on the main thread."""
    reading, writing = os.pipe()
    os.set_blocking(writing, False)
    interrupts = _Interrupts(writing)
    for number in (signal.SIGINT, signal.SIGTERM, NUDGE):
        signal.signal(number, interrupts.handle)
    signal.set_wakeup_fd(writing, warn_on_full_buffer=False)
    os.register_at_fork(
        after_in_child=lambda: signal.set_wakeup_fd(-1)
    )  # signals of the fork must not be written to the pipe of this process
    sys.unraisablehook = interrupts.dropped
    Thread(target=interrupts.read, args=(reading, get_ident()), name=LISTENER, daemon=True).start()


@contextmanager
def at_once() -> Iterator[None]:
    """A context in which the main thread only waits, for example at a prompt: the first interrupt raises
    KeyboardInterrupt. The context itself raises KeyboardInterrupt if a stop is already requested."""
    global _at_once
    _at_once = True
    try:
        if STOP.requested:
            raise KeyboardInterrupt
        yield
    finally:
        _at_once = False


@contextmanager
def only_reading() -> Iterator[None]:
    """A context for a read without side effects, such as reading a state before any change. The first interrupt ends
    the wait: with KeyboardInterrupt on the main thread, with a failed read on other threads."""
    with reading():
        handler = getattr(signal.getsignal(signal.SIGTERM), "__func__", None)
        if handler is not _Interrupts.handle or current_thread() is not main_thread():
            yield
            return
        with at_once():
            yield


def leave(code: int) -> NoReturn:
    """End the process without waiting for threads."""
    wind_up()
    os._exit(code)


def wind_up() -> None:
    """Run the functions registered for the end of the process (they kill running plugins and commands), and flush the
    output."""
    with suppress(Exception, KeyboardInterrupt):
        atexit._run_exitfuncs()
    for stream in (sys.stdout, sys.stderr):
        with suppress(Exception, KeyboardInterrupt):
            stream.flush()
