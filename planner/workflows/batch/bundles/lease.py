"""The lease of a unit: a document next to its state with the execution that began last and may make changes.

Engines silently run work again when they have lost its worker, although it may still be running elsewhere. Each
execution that we request has a number of its own, growing within a run (a fencing token): one that is not larger than
that of the document was begun before, and does nothing. The lock of the state keeps two executions apart at one
moment.
"""

from __future__ import annotations

import json

from planner.foundation.vocabulary.diagnostic import Failure, ServiceError, error
from planner.world.state.backend import Store

NAME = "planner.lease"


def take(store: Store, run: str, attempt: int) -> bool:
    """Begin an execution; whether it may. Where nothing can be kept next to a state the lock alone decides. Raises
    Failure when the service does not answer: nothing is begun without an answer."""
    client = getattr(store, "client", None)
    if client is None or not client.has_place_beside:
        return True
    try:
        kept = client.get_beside(NAME)
        if kept is not None and _token(kept, run) >= attempt:
            return False
        client.put_beside(NAME, json.dumps({"run": run, "attempt": attempt}).encode())
    except ServiceError as problem:
        detail = f"{problem.text}. It is unknown whether this execution was started before, so it was not started."
        raise Failure(error("batch.lease", "The lease on the unit's state cannot be taken", detail)) from None
    return True


def _token(kept: bytes, run: str) -> int:
    """The number of the execution of this run that began last; 0 for another run's, or an unreadable one."""
    try:
        said = json.loads(kept)
        return int(said["attempt"]) if said["run"] == run else 0
    except (ValueError, KeyError, TypeError, OverflowError, RecursionError):
        return 0
