"""Runs units on a Dask cluster. The workers of the cluster outlive a batch and also serve other batches, so a message
of one batch must not affect another batch."""

from __future__ import annotations

import os
import threading
from concurrent.futures import Future
from typing import Any

from planner.foundation.support.signals import STOP
from planner.foundation.vocabulary.diagnostic import Failure, error
from planner.workflows.batch.bundles.host import work
from planner.workflows.batch.executor import Workplace

POLL = 1.0
LONGEST_AWAY = 30.0
"""seconds between checks of the cluster, and seconds after which the work of an unreachable cluster counts as lost"""


def open_cluster(address: str) -> Workplace:
    """The cluster at an address (`tcp://HOST:PORT`), as an executor. Its workers must share the files of this machine.
    Raises Failure."""
    return _Cluster(_client(address))


def open_carrier(address: str) -> Parcels:
    """A carrier to workers that do not share files. Raises Failure."""
    return Parcels(_client(address))


def _client(address: str) -> Any:
    """A client of the cluster. Certificates and keys for TLS come from Dask's own settings. Raises Failure."""
    try:
        from distributed import Client
    except ImportError:
        detail = "The executor dask:// needs the package distributed: pip install 'planner-iac[batch-dask]'."
        raise Failure(error("batch.no_dask", "Dask is not installed", detail)) from None
    try:
        connect: Any = Client
        client = connect(address, timeout="10s", set_as_default=False)
    except (OSError, TimeoutError, ValueError) as problem:
        detail = f"No scheduler responds at {address}: {problem}."
        raise Failure(error("batch.dask", "Cannot reach the Dask scheduler", detail)) from None
    if not client.scheduler_info()["workers"]:
        client.close()
        detail = f"The scheduler at {address} has no workers, so units would never run."
        raise Failure(error("batch.dask", "No workers", detail))
    return client


class _Cluster(Workplace):
    """The cluster as an executor. Closing the executor does not affect the cluster."""

    def __init__(self, client: Any) -> None:
        self.client = client
        self.batch = os.urandom(8).hex()
        self._pending: dict[Future[Any], Any] = {}
        self._lock = threading.Lock()
        self._closed = threading.Event()
        threading.Thread(target=self._watch, name="cluster", daemon=True).start()

    @property
    def size(self) -> int:
        """The number of worker processes; each runs one unit at a time."""
        return len(self.client.scheduler_info()["workers"])

    def submit(self, fn: Any, /, *args: Any, **kwargs: Any) -> Future[Any]:
        there = self.client.submit(_work_for, self.batch, fn, *args, **kwargs, pure=False, retries=0)
        here: Future[Any] = Future()
        with self._lock:
            self._pending[here] = there
        there.add_done_callback(lambda done: self._finish(here, done))
        return here

    def _finish(self, here: Future[Any], there: Any) -> None:
        """Pass the outcome of a job on the cluster to its future `here`. Only the first call for a job has an
        effect."""
        with self._lock:
            if self._pending.pop(here, None) is None:
                return
        try:
            if there.status == "finished":
                here.set_result(there.result(timeout=60))
            elif there.status == "error":
                here.set_exception(there.exception(timeout=60))
            else:
                here.set_exception(ConnectionError("the cluster has lost the work"))
        except Exception as problem:
            here.set_exception(ConnectionError(f"the cluster does not return the result: {problem}"))

    def _watch(self) -> None:
        """Count work as lost if the cluster has lost or cancelled the work, or if the cluster cannot be reached for
        LONGEST_AWAY seconds."""
        away = 0.0
        while not self._closed.wait(POLL):
            away = 0.0 if self.client.status == "running" else away + POLL
            with self._lock:
                waiting = list(self._pending.items())
            for here, there in waiting:
                if there.status in ("lost", "cancelled") or away > LONGEST_AWAY:
                    self._lose(here)

    def _lose(self, here: Future[Any]) -> None:
        with self._lock:
            if self._pending.pop(here, None) is None:
                return
        here.set_exception(ConnectionError("the scheduler of the work no longer exists"))

    def stop(self) -> None:
        self.client.run(_stop, self.batch, on_error="ignore")  # runs outside of the task queue, on every worker

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        self._closed.set()
        self.client.close()


class Parcels:
    def __init__(self, client: Any) -> None:
        self._cluster = _Cluster(client)

    @property
    def size(self) -> int:
        return self._cluster.size

    def send(self, unit: str, parcel: bytes) -> Future[bytes]:
        return self._cluster.submit(work, parcel)

    def stop(self) -> None:
        self._cluster.stop()

    def close(self, at_once: bool = False) -> None:
        self._cluster.shutdown()


# ---------------------------------------------------------------- in a worker

_turn = threading.RLock()
_words = threading.Lock()
_stopped: set[str] = set()
"""batches that must not start more work"""
_current = ""
_is_told = False
"""whether a batch, and not a signal, requested the stop"""


def _work_for(batch: str, fn: Any, *args: Any, **kwargs: Any) -> Any:
    """Run a job of a batch on the worker. Each worker process runs one job at a time, because a request to stop applies
    to the whole process."""
    global _current, _is_told
    with _turn:
        with _words:
            _current = batch
            if _is_told and batch not in _stopped:
                STOP.withdraw()
                _is_told = False
            elif batch in _stopped and not STOP.requested:
                _is_told = True
                STOP.request()
        try:
            return fn(*args, **kwargs)
        finally:
            _current = ""


def _stop(batch: str) -> None:
    """Stop a batch on this worker: start no more of its jobs, and request that its running job ends early."""
    global _is_told
    with _words:
        _stopped.add(batch)
        if _current == batch and not STOP.requested:
            _is_told = True
            STOP.request()
