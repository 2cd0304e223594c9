"""Where units run: processes of this machine, a Dask cluster, or this process. All are `concurrent.futures.Executor`s.

Processes are forked from a server that has loaded planner and nothing else (`forkserver`): no thread or lock of this
process is copied, and each begins with everything imported. They end when this process does.
"""

from __future__ import annotations

import os
import signal
import sys
import threading
import time
from concurrent.futures import Executor, Future
from types import FrameType
from typing import Any

from planner.vocabulary.diagnostic import Failure, error

PRELOAD = "planner.batch.preload"
GRACE = 60.0
"""seconds that a unit in work has to come to its end after this process is gone"""
FAREWELL = 0.5
"""seconds that a result has to get out of a process that is to end"""
GOODBYE = 2.0
"""seconds that what runs below a process that is ended at once may take to end"""
FEW = 3
"""so many units are planned in this process when no more than these seem to need it"""
_busy = threading.Lock()
_interrupts = 0
_STOP, _WHEN_IDLE, _AT_ONCE = b"s", b"i", b"!"
"""what processes are told: to begin nothing more, to go when nothing is in work, to go"""
_EARS = 1024
"""so often it is said: each process takes one byte"""


class Workplace(Executor):
    """An executor that can be asked to come to an end early."""

    def stop(self) -> None:
        """What is in work shall begin nothing more and come to its end, as far as it can be told."""

    def retire(self) -> None:
        """Something of it has died: what is idle shall go, and what is in work after that."""

    def end(self) -> None:
        """What is in work shall end at once; nobody waits for it."""


def open_executor(text: str, workers: int, is_small: bool = False) -> Workplace:
    """The executor that `-executor` names: `processes`, `inline` or `dask://HOST:PORT`; "" is processes, but what
    `is_small` begins in this process. Raises Failure."""
    if text == "" and is_small:
        return Few(workers)
    if text in ("", "processes"):
        return Processes(workers)
    if text == "inline":
        return Inline()
    if text.startswith("dask://"):
        from planner.batch.cluster import open_cluster

        return open_cluster(text.removeprefix("dask://"))
    detail = f'"{text}" is none of: processes, inline, dask://HOST:PORT.'
    raise Failure(error("batch.executor", "Unknown executor", detail))


class Inline(Workplace):
    """Does everything at once, in this process."""

    def submit(self, fn: Any, /, *args: Any, **kwargs: Any) -> Future[Any]:
        future: Future[Any] = Future()
        try:
            future.set_result(fn(*args, **kwargs))
        except Exception as problem:
            future.set_exception(problem)
        return future


class Few(Workplace):
    """Does the first pieces of work in this process, which is quicker than starting others; the rest in processes."""

    def __init__(self, workers: int) -> None:
        self.workers, self.left = workers, FEW
        self.here = Inline()
        self.pool: Workplace | None = None

    def submit(self, fn: Any, /, *args: Any, **kwargs: Any) -> Future[Any]:
        if self.left:
            self.left -= 1
            return self.here.submit(fn, *args, **kwargs)
        if self.pool is None:
            self.pool = Processes(self.workers)
        return self.pool.submit(fn, *args, **kwargs)

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        if self.pool is not None:
            self.pool.shutdown(wait, cancel_futures=cancel_futures)

    def stop(self) -> None:
        if self.pool is not None:
            self.pool.stop()

    def retire(self) -> None:
        if self.pool is not None:
            self.pool.retire()

    def end(self) -> None:
        if self.pool is not None:
            self.pool.end()


class Processes(Workplace):
    """Processes of this machine. They listen at two pipes: one says that nothing more shall be begun, the other one
    that they shall go."""

    def __init__(self, workers: int) -> None:
        from concurrent.futures import ProcessPoolExecutor
        from multiprocessing import get_context

        _start_server()
        context = get_context("forkserver")
        stop, self._stop = context.Pipe(duplex=False)
        end, self._end = context.Pipe(duplex=False)
        self._pool = ProcessPoolExecutor(workers, context, _begin, (stop, end))

    def submit(self, fn: Any, /, *args: Any, **kwargs: Any) -> Future[Any]:
        return self._pool.submit(fn, *args, **kwargs)

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        self._pool.shutdown(wait, cancel_futures=cancel_futures)

    def stop(self) -> None:
        os.write(self._stop.fileno(), _STOP * _EARS)

    def retire(self) -> None:
        # a broken pool ends its processes, but may miss one that it is just beginning, and then wait for it forever
        os.write(self._end.fileno(), _WHEN_IDLE * _EARS)

    def end(self) -> None:
        os.write(self._stop.fileno(), _STOP * _EARS)
        os.write(self._end.fileno(), _AT_ONCE * _EARS)
        self._pool.shutdown(wait=False, cancel_futures=True)


def _start_server() -> None:
    """Start the server of processes, if it does not run: deaf to interrupts, which are for the processes themselves."""
    from multiprocessing import forkserver, resource_tracker

    forkserver.set_forkserver_preload([PRELOAD])
    resource_tracker.ensure_running()  # it blocks and unblocks for itself
    before = signal.pthread_sigmask(signal.SIG_BLOCK, (signal.SIGINT,))  # what is started now has it blocked, too
    try:
        forkserver.ensure_running()
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def warm_up(text: str) -> None:
    """Let the server of processes load what it needs while this process still finds out what there is to do."""
    if text in ("", "processes"):
        _start_server()


def is_death(problem: BaseException) -> bool:
    """Whether an exception of a future means that the process which did the work is gone."""
    from concurrent.futures import BrokenExecutor

    if isinstance(problem, BrokenExecutor | EOFError | ConnectionError):
        return True
    return type(problem).__name__ in ("KilledWorker", "CancelledError")


# ---------------------------------------------------------------- in a process of the pool


def _begin(stop: Any, end: Any) -> None:
    """Prepare a process: what it has loaded stays, signals ask it to stop, and it ends with the one that began it."""
    import gc

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
    """Nothing: a handler may run while its thread holds any lock. What a signal asks for, `_hear` does."""


def _listen(pipe: Any) -> None:
    """Do what the process that began this one says; its end is `_end_with_parent`'s."""
    from planner.signals import STOP

    word = os.read(pipe.fileno(), 1)
    if word == _STOP:
        STOP.request()
    elif word == _WHEN_IDLE:
        _go()
    elif word == _AT_ONCE:
        _leave()


def _hear(pipe: int) -> None:
    """An interrupt lets the unit in work come to an end, and nothing begins after it; a second one ends at once. The
    pool says SIGTERM when it is given up: an idle process ends, another one after its unit."""
    from planner.signals import STOP

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
    """End at once, with plugins and commands that still run; they get a moment for it."""
    from planner.signals import leave

    moment = threading.Timer(GOODBYE, os._exit, (130,))
    moment.daemon = True
    moment.start()
    leave(130)


def _go() -> None:
    """End when nothing is in work."""
    if _busy.acquire(blocking=False):
        os._exit(143)
    with _busy:
        time.sleep(FAREWELL)
        os._exit(143)


def _end_with_parent() -> None:
    from multiprocessing import parent_process

    from planner.signals import STOP

    parent = parent_process()
    if parent is None:
        return
    parent.join()
    STOP.request()
    if _busy.acquire(timeout=GRACE):
        os._exit(1)
    sys.stderr.flush()
    os._exit(1)


def work(request: Any) -> Any:
    """`run_unit` in a process of the pool: while it runs, the process is not ended from outside."""
    from planner.batch.worker import run_unit

    with _busy:
        return run_unit(request)
