"""One batch at a time changes a fleet: a lock in its folder of records, which says who is at work."""

from __future__ import annotations

import fcntl
import os
import time
from typing import IO, Any

from planner.foundation.support.fast_json import orjson
from planner.foundation.support.signals import STOP
from planner.foundation.vocabulary.diagnostic import Failure, error
from planner.workflows.batch import FOLDER
from planner.workflows.batch.record import make_folder
from planner.world.state.lock import myself

NAME = "lock"
POLL = 0.1


class Hold:
    """What a command holds of a fleet until `release`, or until its process ends: alone when it changes something, with
    others when it only looks."""

    def __init__(self, file: IO[bytes]) -> None:
        self._file = file

    def release(self) -> None:
        self._file.close()


def take(root: str, command: str, alone: bool, seconds: float) -> Hold | None:
    """Hold the fleet at this root, waiting so long for others; None where no lock can be made (a fleet that may only be
    read). Raises Failure, which says who is at work."""
    path = os.path.join(root, FOLDER, NAME)
    try:
        make_folder(root)
        file = os.fdopen(os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600), "r+b")
    except OSError:
        return None
    until = time.monotonic() + seconds
    while True:
        try:
            fcntl.flock(file, (fcntl.LOCK_EX if alone else fcntl.LOCK_SH) | fcntl.LOCK_NB)
            break
        except BlockingIOError:
            if time.monotonic() >= until or STOP.requested:
                raise _busy(file, root) from None
            time.sleep(POLL)
        except OSError:  # a file system without locks
            break
    since = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
    said = {"command": command, "process": os.getpid(), "who": myself(), "since": since}
    file.truncate(0)
    file.write(orjson.dumps(said))
    file.flush()
    return Hold(file)


def _busy(file: IO[bytes], root: str) -> Failure:
    try:
        said: dict[str, Any] = orjson.loads(file.read(4096))
        holder = f"`batch {said['command']}` of {said['who']}, process {said['process']}, since {said['since']},"
    except (orjson.JSONDecodeError, KeyError, TypeError, OSError):
        holder = "Another batch"
    detail = f"{holder} is at work on the fleet in {root}. Wait for it, or let this command wait with -lock-timeout=5m."
    return Failure(error("batch.busy", "The fleet is in use", detail))
