"""Runs bundles on a Ray cluster, through Ray Client. Each running unit has an actor: a process that uses one CPU and
can receive a request to stop while it works. Actors belong to this batch and end with it; Ray does not restart them."""

from __future__ import annotations

import signal
import socket
import threading
from collections import deque
from collections.abc import Callable, Iterator
from concurrent.futures import BrokenExecutor, Future, ThreadPoolExecutor
from contextlib import contextmanager, suppress
from typing import Any

from planner.foundation.support.signals import STOP
from planner.foundation.vocabulary.diagnostic import Failure, error
from planner.workflows.batch.bundles.host import work

LONGEST = 10.0
"""seconds to wait for a connection"""


LONGEST_SAID = 1000
"""maximum number of characters of Ray's error message in a diagnostic; its end is shown"""


class Lost(BrokenExecutor):
    """The actor, its machine or the cluster was lost."""


class Worker:
    """The class of the actors. `stop` can be called while `work` runs."""

    def work(self, parcel: bytes) -> bytes:
        return work(parcel)

    def stop(self) -> None:
        """Request running work to stop before its next step."""
        STOP.request()


def open_ray(address: str) -> RayCarrier:
    """A carrier to the cluster whose Ray Client server has this address (HOST:PORT). Raises Failure."""
    try:
        import ray
    except ImportError:
        detail = "The executor ray:// needs the package ray: pip install 'planner-iac[batch-ray]'."
        raise Failure(error("batch.no_ray", "Ray is not installed", detail)) from None
    _look(address)
    try:
        with _own_signals():
            context = ray.init(f"ray://{address}", logging_level="ERROR", log_to_driver=False)
    except (ConnectionError, RuntimeError, ValueError, OSError) as problem:
        text = " ".join(str(problem).split())[-LONGEST_SAID:]
        raise Failure(error("batch.ray", "Cannot reach the Ray cluster", f"{address}: {text}")) from None
    size = int(ray.cluster_resources().get("CPU", 0))
    if not size:
        context.disconnect()
        detail = f"The cluster at {address} has no processors, so units would never run."
        raise Failure(error("batch.ray", "No workers", detail))
    return RayCarrier(ray, context, size)


def _look(address: str) -> None:
    """Check that the address responds, because Ray itself would try for half a minute. Raises Failure."""
    host, _, port = address.rpartition(":")
    try:
        socket.create_connection((host.strip("[]"), int(port)), timeout=LONGEST).close()
    except (OSError, ValueError, OverflowError) as problem:
        reason = getattr(problem, "strerror", None) or problem
        raise Failure(error("batch.ray", "Cannot reach the Ray cluster", f"{address}: {reason}.")) from None


@contextmanager
def _own_signals() -> Iterator[None]:
    """Restore planner's signal handlers at the end of the context, because Ray replaces the handler for SIGTERM, with
    which planner stops a batch."""
    before = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield
    finally:
        if threading.current_thread() is threading.main_thread():
            for number, handler in before.items():
                signal.signal(number, handler if handler is not None else signal.SIG_DFL)


class RayCarrier:
    """Sends a parcel immediately if an actor is free or can be added, and otherwise queues it. Only one thread calls
    Ray, because a call in one of Ray's own callbacks would never return."""

    def __init__(self, ray: Any, context: Any, size: int) -> None:
        self.size = size
        """maximum number of actors: the number of CPUs of the cluster"""
        self._ray, self._context = ray, context
        settings = {"num_cpus": 1, "max_concurrency": 2, "max_restarts": 0, "max_task_retries": 0}
        self._kind = ray.remote(**settings)(Worker)
        self._idle: list[Any] = []
        self._busy: dict[Future[bytes], Any] = {}
        self._waiting: deque[tuple[bytes, Future[bytes]]] = deque()
        self._is_over = False
        self._thread = ThreadPoolExecutor(1, "ray")

    def send(self, unit: str, parcel: bytes) -> Future[bytes]:
        future: Future[bytes] = Future()
        self._waiting.append((parcel, future))
        self._soon(self._next)
        return future

    def stop(self) -> None:
        self._soon(self._stop)

    def close(self, at_once: bool = False) -> None:
        self._is_over = True
        self._soon(self._end)
        self._thread.shutdown(wait=not at_once)

    # ---------------------------------------------------------------- in the thread

    def _soon(self, work: Callable[..., None], *arguments: Any) -> None:
        with suppress(RuntimeError):  # the thread no longer accepts work
            self._thread.submit(work, *arguments)

    def _next(self) -> None:
        """Send waiting parcels to free or new actors."""
        while self._waiting and len(self._busy) < self.size and not self._is_over:
            parcel, future = self._waiting.popleft()
            try:
                actor = self._busy[future] = self._idle.pop() if self._idle else self._kind.remote()
                answer = actor.work.remote(parcel).future()
            except Exception as problem:
                self._back(future, None, Lost(f"{type(problem).__name__}: {problem}"))
                continue
            answer.add_done_callback(lambda done, at=future: self._soon(self._finish, at, done))

    def _finish(self, future: Future[bytes], done: Future[bytes]) -> None:
        problem = done.exception()
        if problem is None:
            self._back(future, done.result(), None)
        elif isinstance(problem, self._ray.exceptions.RayTaskError):
            self._back(future, None, problem)  # an error in the work; the actor is intact
        else:
            self._busy.pop(future, None)
            self._back(future, None, Lost(f"{type(problem).__name__}: {str(problem).splitlines()[0]}"))

    def _back(self, future: Future[bytes], answer: bytes | None, problem: BaseException | None) -> None:
        actor = self._busy.pop(future, None)
        if actor is not None:
            self._idle.append(actor)
        if answer is not None:
            future.set_result(answer)
        else:
            future.set_exception(problem or Lost("no answer"))
        self._next()

    def _stop(self) -> None:
        for actor in self._busy.values():
            with suppress(Exception):  # the actor may be lost
                actor.stop.remote()

    def _end(self) -> None:
        for actor in (*self._idle, *self._busy.values()):
            with suppress(Exception):  # the actor or the cluster may be lost
                self._ray.kill(actor)
        with suppress(Exception):
            self._context.disconnect()
