"""Where units run: processes of this machine, a Dask cluster, or this process; all `concurrent.futures.Executor`s."""

from __future__ import annotations

from concurrent.futures import Future
from typing import Any

from planner.batch.workplace import Workplace, busy
from planner.vocabulary.diagnostic import Failure, error

FEW = 3
"""so many units are planned in this process when no more than these seem to need it"""


def open_executor(text: str, workers: int, is_small: bool = False) -> Workplace:
    """The executor that `-executor` names: `processes`, `inline` or `dask://HOST:PORT`; "" is processes, but what
    `is_small` begins in this process. Raises Failure."""
    if text == "" and is_small:
        return Few(workers)
    if text in ("", "processes"):
        return _processes(workers)
    if text == "inline":
        return Inline()
    if text.startswith("dask://"):
        return _cluster(text.removeprefix("dask://"))
    detail = f'"{text}" is none of: processes, inline, dask://HOST:PORT.'
    raise Failure(error("batch.executor", "Unknown executor", detail))


def _processes(workers: int) -> Workplace:
    from planner.batch.processes import Processes

    return Processes(workers)


def _cluster(address: str) -> Workplace:
    from planner.batch.cluster import open_cluster

    return open_cluster(address)


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
            self.pool = _processes(self.workers)
        return self.pool.submit(fn, *args, **kwargs)

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        if self.pool is not None:
            self.pool.shutdown(wait, cancel_futures=cancel_futures)

    def stop(self) -> None:
        if self.pool is not None:
            self.pool.stop()

    def end(self) -> None:
        if self.pool is not None:
            self.pool.end()


def warm_up(text: str) -> None:
    """Let the server of processes load what it needs while this process still finds out what there is to do."""
    if text in ("", "processes"):
        _start_server()


def _start_server() -> None:
    from planner.batch.processes import start_server

    start_server()


def work(request: Any) -> Any:
    """`run_unit` in whatever process it is: while it runs, the process is not ended from outside."""
    from planner.batch.worker import run_unit

    with busy:
        return run_unit(request)
