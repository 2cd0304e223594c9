"""Executors: this process, other processes on this machine, a cluster, or the processes of a command."""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Callable
from concurrent.futures import Future
from typing import TYPE_CHECKING, Any

from planner.foundation.support.signals import LISTENER
from planner.foundation.vocabulary.diagnostic import Failure, error
from planner.foundation.vocabulary.records import field, frozen
from planner.workflows.batch.executor import Workplace, busy
from planner.workflows.batch.model import Request
from planner.workflows.batch.worker import run_unit

if TYPE_CHECKING:
    from planner.workflows.batch.bundles.pack import Bundle
    from planner.workflows.batch.bundles.shipping import Carrier

FEW = 3
"""maximum number of units whose plans need plugins and that are planned in this process"""
FORKING = 0.1
"""this process is forked if the remaining work is estimated to take more than this many CPU seconds"""
LOADING = 0.4
"""approximate number of seconds that other processes need to load their modules"""
WORTH = 0.7
"""other processes are started if the remaining work is estimated to take more than this many CPU seconds"""


@frozen
class Ships:
    """The means to send units to machines without shared files: the fleet's `root`, the initial content of bundles
    (`needs`, see shipping.py) and the `store` for bundles. `store` is "" for a Dask cluster whose workers share the
    files of this machine."""

    root: str
    needs: Callable[[Request], tuple[set[str], set[str]]]
    store: str = ""
    known: dict[str, Bundle] = field(factory=dict)
    """{unit: its complete bundle from earlier work}"""


def open_executor(text: str, workers: int, jobs: int = 0, ships: Ships | None = None) -> Workplace:
    """The executor that `-executor` names: `processes`, `inline`, `dask://HOST:PORT`, `dask+tls://HOST:PORT`,
    `ray://HOST:PORT` or `command:WORDS`; the last two require `ships`. "" means processes. `jobs`: the number of jobs
    if none of them makes changes, so that some may run in this process; otherwise 0. Raises Failure."""
    if text == "" and jobs:
        return Nearby(workers, jobs)
    if text in ("", "processes"):
        return _processes(workers)
    if text == "inline":
        return Inline()
    for scheme, protocol in (("dask://", "tcp"), ("dask+tls://", "tls")):
        if text.startswith(scheme):
            address = f"{protocol}://{text.removeprefix(scheme)}"
            from planner.workflows.batch.cluster import open_carrier, open_cluster

            if ships is None or not ships.store:
                return open_cluster(address)
            return _shipping(open_carrier(address), ships)
    if text.startswith("ray://") and ships is not None:
        from planner.workflows.batch.ray_cluster import open_ray

        return _shipping(open_ray(text.removeprefix("ray://")), ships)
    if text.startswith("command:") and ships is not None:
        from planner.workflows.batch.bundles.command import CommandExecutor

        return _shipping(CommandExecutor(text.removeprefix("command:"), workers), ships)
    known = "processes, inline, dask://HOST:PORT, dask+tls://HOST:PORT, ray://HOST:PORT, command:WORDS"
    detail = f'"{text}" is not one of: {known}.'
    raise Failure(error("batch.executor", "Unknown executor", detail))


def _processes(workers: int, forks: int = 0) -> Workplace:
    from planner.workflows.batch.processes import Processes

    return Processes(workers, forks)


def _may_be_forked() -> bool:
    """Whether this process can be forked: only on Linux, and only if no thread runs except this one and the listener.
    In the fork, a lock that another thread holds would never be released."""
    others = {thread.name for thread in threading.enumerate() if thread is not threading.current_thread()}
    return sys.platform.startswith("linux") and others <= {LISTENER}


def _shipping(carrier: Carrier, ships: Ships) -> Workplace:
    from planner.workflows.batch.bundles.shipping import Shipping

    return Shipping(carrier, ships.root, ships.needs, ships.store, ships.known)


class Inline(Workplace):
    """Runs each unit in this process when it is submitted."""

    def submit(self, fn: Any, /, *args: Any, **kwargs: Any) -> Future[Any]:
        future: Future[Any] = Future()
        try:
            future.set_result(fn(*args, **kwargs))
        except Exception as problem:
            future.set_exception(problem)
        return future


class Nearby(Workplace):
    """Runs the first jobs in this process, and the rest in other processes if that saves time. Small fleets need no
    other process. In large fleets the other processes are forks of this process or, if it cannot be forked, new
    processes, which load while this process works."""

    def __init__(self, workers: int, jobs: int) -> None:
        self.workers, self.jobs, self.left = workers, jobs, jobs
        self.here = Inline()
        self.pool: Workplace | None = None
        self.ready = 0.0
        """time at which the other processes will have loaded their modules; 0 if they are not started"""

    def submit(self, fn: Any, /, *args: Any, **kwargs: Any) -> Future[Any]:
        if self.pool is not None:
            return self.pool.submit(fn, *args, **kwargs)
        if self.ready and time.monotonic() > self.ready:
            self.pool = _processes(self.workers)
            return self.pool.submit(fn, *args, **kwargs)
        used = time.process_time()
        done = self.here.submit(fn, *args, **kwargs)
        # the time of the first job includes loading modules
        used, is_first = time.process_time() - used, self.left == self.jobs
        self.left -= 1
        if self.ready or is_first:
            return done
        if used * self.left > FORKING and self.workers > 1 and _may_be_forked():
            self.pool = _processes(self.workers, min(self.workers, self.left))
        elif used * self.left > WORTH:
            warm_up("")
            self.ready = time.monotonic() + LOADING
        return done

    def keep(self) -> Workplace | None:
        return self.pool

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
    """Start the server of processes if the executor `text` uses it. The server loads modules while this process
    prepares the work."""
    if text in ("", "processes"):
        from planner.workflows.batch.processes import start_server

        start_server()


def work(request: Any) -> Any:
    """Run a unit in this process, and hold the lock `busy` meanwhile."""
    with busy:
        return run_unit(request)
