"""Runs units in worker processes on this machine. Each worker has its own pipe, so if a worker dies, only its own unit
is lost.

Workers are forked from a server that has loaded only planner (`forkserver`), so no thread or lock of this process is
copied, and all modules are imported already. The server runs as long as this process. The environment may have changed
since the server started, so each worker receives the environment of its pool. If no other thread of this process can
hold a lock, the first workers of a pool can be forked from this process instead of the server. Workers end when this
process ends. For each worker, this process has a thread that sends work to the worker, waits for the result, and
replaces the worker if it has ended."""

from __future__ import annotations

import gc
import os
import resource
import signal
import sys
import threading
import time
from collections.abc import Sequence
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
"""seconds that a worker has to finish its unit after the parent process has ended"""
FAREWELL = 0.5
"""seconds between the end of a unit and the end of its worker after SIGTERM, so that the worker can send the result"""
GOODBYE = 2.0
"""seconds that the child processes of a worker have to end if the worker must end immediately"""
MOST_MEMORY = 1 << 30
"""peak memory in bytes above which a worker is replaced"""
_STOP, _AT_ONCE = b"s", b"!"
"""commands to workers: `_STOP` (start nothing new) and `_AT_ONCE` (exit)"""
_EARS = 1024
"""number of bytes that are written to send a command to all workers; each worker reads one of these bytes"""


class Died(BrokenExecutor):
    """The worker ended without an answer."""


class Processes(Workplace):
    """A pool of workers; the first `forks` workers are forked from this process. All workers also listen to two common
    pipes: one for the command to start no more work, one for the command to exit."""

    def __init__(self, workers: int, forks: int = 0) -> None:
        if not forks:
            start_server()
        self._context = get_context("fork" if forks else "forkserver")
        self._stop_heard, self._stop = self._context.Pipe(duplex=False)
        self._end_heard, self._end = self._context.Pipe(duplex=False)
        self._workers = workers
        self._environment = dict(os.environ)
        self._tasks: SimpleQueue[Any] = SimpleQueue()
        self._slots: list[threading.Thread] = []
        self._open = 0
        self._lock = threading.Lock()
        self._forked = [self._slot() for _ in range(forks)]
        for number, slot in enumerate(self._forked):
            slot.begin(self._forked[:number])

    def _slot(self) -> _Slot:
        return _Slot(self._context, (self._stop_heard, self._end_heard, self._environment))

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
        """Send jobs to one worker, one at a time, and replace the worker if it has ended."""
        with self._lock:
            slot = self._forked.pop() if self._forked else self._slot()
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
    """A worker process and its replacements. The process is started by `begin` or, without `begin`, for its first
    job."""

    def __init__(self, context: Any, common: tuple[Any, Any, dict[str, str]]) -> None:
        self.context, self.common = context, common
        self.process: Any = None
        self.pipe: Any = None

    def ask(self, what: Any) -> tuple[bool, Any]:
        """Run a job. Returns (whether the job succeeded, its result or its exception). A worker that ended while idle
        is replaced. Raises Died if the worker ends during the job."""
        while True:
            if self.process is not None and wait([self.process.sentinel], 0):
                self._exit_status()  # the worker ended while idle
            is_new = self.process is None
            if is_new:
                start_server()  # this process has threads now, so it cannot be forked
                self.context = get_context("forkserver")
                self.begin()
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
            # the worker ended while idle, because it used too much memory

    def close(self) -> None:
        if self.process is not None:
            self._exit_status()

    def begin(self, forked: Sequence[_Slot] | None = None) -> None:
        """Start the worker. `forked`: None if the server starts the worker; if it is forked from this process, the
        workers that were forked before it."""
        self.pipe, theirs = self.context.Pipe()
        inherited = [] if forked is None else [self.pipe, *[slot.pipe for slot in forked]]
        self.process = self.context.Process(target=_serve, args=(theirs, *self.common, inherited))
        with _BEGINNING:
            self.process.start()
        theirs.close()

    def _exit_status(self) -> int | None:
        """Close the worker's pipe, which ends the worker if it still runs, and return its exit status."""
        process, self.process = self.process, None
        self.pipe.close()
        process.join()
        code: int | None = process.exitcode
        return code


_BEGINNING = threading.Lock()


def start_server() -> None:
    """Start the server of processes, unless it already runs. The server ignores interrupts; workers handle these
    themselves."""
    forkserver.set_forkserver_preload([PRELOAD])
    resource_tracker.ensure_running()  # before the next line, because this call changes the signal mask itself
    before = signal.pthread_sigmask(signal.SIG_BLOCK, (signal.SIGINT,))  # the server inherits this mask
    try:
        forkserver.ensure_running()
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


# ---------------------------------------------------------------- in the worker process


def _serve(pipe: Any, stop: Any, end: Any, environment: dict[str, str], inherited: Sequence[Any]) -> None:
    """Run the jobs from the pipe until the pipe is closed or this worker uses too much memory. `inherited`: the
    parent's ends of pipes, which a forked worker inherits. They are closed here; otherwise the pipes would stay open
    when the parent ends."""
    for other in inherited:
        other.close()
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
        except Exception as problem:  # the result cannot be sent
            pipe.send((False, RuntimeError(f"{type(problem).__name__}: {problem}")))
    leave(0)


def _is_large() -> bool:
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return (peak if sys.platform == "darwin" else peak * 1024) > MOST_MEMORY


def _begin(stop: Any, end: Any) -> None:
    """Prepare a worker process, so that the memory of its loaded modules remains shared, signals stop it, and it ends
    when its parent ends."""
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
    """Signal handler that does nothing, because the interrupted thread may hold a lock. `_hear` handles the signal."""


def _listen(pipe: Any) -> None:
    """Wait for a command of the parent process on a common pipe, and execute it. If the pipe closes, do nothing,
    because `_end_with_parent` handles the end of the parent."""
    word = os.read(pipe.fileno(), 1)
    if word == _STOP:
        STOP.request()
    elif word == _AT_ONCE:
        _leave()


def _hear(pipe: int) -> None:
    """Handle signals. After SIGINT, the running unit finishes and nothing new starts; a second SIGINT ends the worker
    immediately. After SIGTERM, an idle worker ends immediately, and a busy worker ends after its unit."""
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
    """End immediately. Running plugins and commands have GOODBYE seconds to end."""
    moment = threading.Timer(GOODBYE, os._exit, (130,))
    moment.daemon = True
    moment.start()
    leave(130)


def _go() -> None:
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
