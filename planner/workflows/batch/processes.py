"""Processes of this machine that run units, each with a pipe of its own: a process that dies loses only its own work.

They are forked from a server that has loaded only planner (`forkserver`). Therefore no thread or lock of this process
is copied, and each process starts with everything imported. The server lives as long as this process, and may have been
started with a different environment; each process uses the environment of its pool. The processes end with this
process. Each process has a thread here, which passes work to it, waits for the result, and starts another process if it
has ended."""

from __future__ import annotations

import gc
import os
import resource
import signal
import sys
import threading
import time
from concurrent.futures import BrokenExecutor, Future
from contextlib import suppress
from multiprocessing import forkserver, get_context, parent_process, resource_tracker
from multiprocessing.connection import wait
from queue import Empty, SimpleQueue
from types import FrameType
from typing import Any

from planner.foundation.support.signals import STOP, leave
from planner.workflows.batch.executor import Workplace, busy

PRELOAD = "planner.workflows.batch.preload"
GRACE = 60.0
"""the number of seconds that a running unit has to finish after this process has ended"""
FAREWELL = 0.5
"""the number of seconds in which a process that is ending may send its result"""
GOODBYE = 2.0
"""the number of seconds that the children of a process have to end, if the process must end immediately"""
MOST_MEMORY = 1 << 30
"""the peak memory, in bytes, above which a process is replaced by a new one"""
_STOP, _AT_ONCE = b"s", b"!"
"""commands to processes: begin nothing more; exit"""
_EARS = 1024
"""the number of copies of a command that are written: each process reads one byte"""


class Died(BrokenExecutor):
    """The process that did the work ended without a response."""


class Processes(Workplace):
    """A pool with a maximum number of processes. Two more pipes carry commands to all processes: one to begin nothing
    more, the other to exit."""

    def __init__(self, workers: int) -> None:
        start_server()
        self._context = get_context("forkserver")
        self._stop_heard, self._stop = self._context.Pipe(duplex=False)
        self._end_heard, self._end = self._context.Pipe(duplex=False)
        self._workers = workers
        self._environment = dict(os.environ)
        self._tasks: SimpleQueue[Any] = SimpleQueue()
        self._slots: list[threading.Thread] = []
        self._open = 0
        self._lock = threading.Lock()

    def submit(self, fn: Any, /, *args: Any, **kwargs: Any) -> Future[Any]:
        future: Future[Any] = Future()
        with self._lock:
            self._open += 1
            if len(self._slots) < min(self._open, self._workers):
                self._slots.append(threading.Thread(target=self._attend, name="slot", daemon=True))
                self._slots[-1].start()
        self._tasks.put((future, (fn, args, kwargs)))
        return future

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        if cancel_futures:
            with suppress(Empty):
                while True:
                    task = self._tasks.get_nowait()
                    if task is not None:
                        task[0].cancel()
        for _ in self._slots:
            self._tasks.put(None)
        for slot in self._slots if wait else ():
            slot.join()

    def stop(self) -> None:
        os.write(self._stop.fileno(), _STOP * _EARS)

    def end(self) -> None:
        os.write(self._stop.fileno(), _STOP * _EARS)
        os.write(self._end.fileno(), _AT_ONCE * _EARS)
        self.shutdown(wait=False, cancel_futures=True)

    # ---------------------------------------------------------------- the threads

    def _attend(self) -> None:
        """Passes work to a process, one job at a time, and replaces a process that has ended."""
        slot = _Slot(self._context, (self._stop_heard, self._end_heard, self._environment))
        while (task := self._tasks.get()) is not None:
            future, what = task
            if future.set_running_or_notify_cancel():
                try:
                    is_right, answer = slot.ask(what)
                except BaseException as problem:
                    is_right, answer = False, problem
                with self._lock:
                    self._open -= 1
                (future.set_result if is_right else future.set_exception)(answer)
        slot.close()


class _Slot:
    """A process that is started when it has work."""

    def __init__(self, context: Any, common: tuple[Any, Any, dict[str, str]]) -> None:
        self.context, self.common = context, common
        self.process: Any = None
        self.pipe: Any = None

    def ask(self, what: Any) -> tuple[bool, Any]:
        """Whether the work succeeded, with its result or the exception. Raises Died if the process ends first."""
        while True:
            if self.process is not None and wait([self.process.sentinel], 0):
                self._exit_status()  # the process ended while idle
            is_new = self.process is None
            if is_new:
                self._begin()
            try:
                self.pipe.send(what)
                wait([self.pipe, self.process.sentinel])
                if self.pipe.poll():
                    answer: tuple[bool, Any] = self.pipe.recv()
                    return answer
            except (EOFError, OSError):
                pass
            code = self._exit_status()
            if is_new or code != 0:
                raise Died(f"the process ended with {code} before it answered")
            # the process ended while idle, because it used too much memory

    def close(self) -> None:
        if self.process is not None:
            self._exit_status()

    def _begin(self) -> None:
        self.pipe, theirs = self.context.Pipe()
        self.process = self.context.Process(target=_serve, args=(theirs, *self.common))
        with _BEGINNING:
            self.process.start()
        theirs.close()

    def _exit_status(self) -> int | None:
        """The exit status of a process that has ended, or that ends now because its pipe is closed."""
        process, self.process = self.process, None
        self.pipe.close()
        process.join()
        code: int | None = process.exitcode
        return code


_BEGINNING = threading.Lock()


def start_server() -> None:
    """Start the server of processes if it does not run. The server ignores interrupts; the processes handle them
    themselves."""
    forkserver.set_forkserver_preload([PRELOAD])
    resource_tracker.ensure_running()  # before the next line, because it changes the signal mask itself
    before = signal.pthread_sigmask(signal.SIG_BLOCK, (signal.SIGINT,))  # the server inherits this mask
    try:
        forkserver.ensure_running()
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


# ---------------------------------------------------------------- in the worker process


def _serve(pipe: Any, stop: Any, end: Any, environment: dict[str, str]) -> None:
    """Do the work that arrives through the pipe, until the pipe is closed or this process uses too much memory."""
    os.environ.clear()
    os.environ.update(environment)
    _begin(stop, end)
    while not _is_large():
        try:
            fn, args, kwargs = pipe.recv()
        except (EOFError, OSError):
            break
        try:
            answer = True, fn(*args, **kwargs)
        except Exception as problem:
            answer = False, problem
        try:
            pipe.send(answer)
        except OSError:
            break
        except Exception as problem:  # the answer cannot be sent
            pipe.send((False, RuntimeError(f"{type(problem).__name__}: {problem}")))
    leave(0)


def _is_large() -> bool:
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return (peak if sys.platform == "darwin" else peak * 1024) > MOST_MEMORY


def _begin(stop: Any, end: Any) -> None:
    """Prepare a process: loaded modules are kept, signals request it to stop, and it ends with its parent."""
    gc.disable()
    gc.freeze()
    reading, writing = os.pipe()
    os.set_blocking(writing, False)
    signal.set_wakeup_fd(writing, warn_on_full_buffer=False)
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, _pass_by)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, (signal.SIGINT,))
    for target, given in ((_end_with_parent, ()), (_listen, (stop,)), (_listen, (end,)), (_hear, (reading,))):
        threading.Thread(target=target, args=given, daemon=True).start()


def _pass_by(number: int, frame: FrameType | None) -> None:
    """Do nothing, because the handler may run while its thread holds a lock. The request of the signal is handled by
    `_hear`."""


def _listen(pipe: Any) -> None:
    """Handle the commands of the parent process; its end is handled by `_end_with_parent`."""
    word = os.read(pipe.fileno(), 1)
    if word == _STOP:
        STOP.request()
    elif word == _AT_ONCE:
        _leave()


def _hear(pipe: int) -> None:
    """After an interrupt, the running unit finishes and nothing more begins; after a second interrupt, the process ends
    immediately. After SIGTERM an idle process ends immediately, a busy one after its unit."""
    interrupts = 0
    while True:
        for number in os.read(pipe, 64):
            if number == signal.SIGTERM:
                threading.Thread(target=_go, daemon=True).start()
            elif number == signal.SIGINT:
                interrupts += 1
                if interrupts > 1:
                    _leave()
            else:
                continue
            STOP.request()


def _leave() -> None:
    """End immediately. Running plugins and commands get a short time to end."""
    moment = threading.Timer(GOODBYE, os._exit, (130,))
    moment.daemon = True
    moment.start()
    leave(130)


def _go() -> None:
    """End as soon as no unit runs."""
    if busy.acquire(blocking=False):
        os._exit(143)
    with busy:
        time.sleep(FAREWELL)
        os._exit(143)


def _end_with_parent() -> None:
    parent = parent_process()
    if parent is None:
        return
    parent.join()
    STOP.request()
    if busy.acquire(timeout=GRACE):
        os._exit(1)
    sys.stderr.flush()
    os._exit(1)
