"""Programs that belong around units, such as hooks: each in a group of processes of its own, which ends as a whole when
it takes too long or this process ends. An interrupt reaches it once, through us."""

from __future__ import annotations

import atexit
import os
import signal
import subprocess
import threading
import time
from collections.abc import Collection, Mapping, Sequence
from contextlib import suppress

from planner.foundation.support.signals import STOP
from planner.foundation.vocabulary.records import frozen

GRACE = 2.0
"""seconds that what takes too long gets to come to its end"""
MOST = 1 << 20
"""bytes of what a program prints that are kept, the last ones"""
LEAST = 6
"""the least length of a secret that is masked: shorter ones occur everywhere"""
_RUNNING: set[subprocess.Popen[bytes]] = set()


@frozen
class Ran:
    """The exit status of a program and its output; `is_late` when it failed because it took too long."""

    code: int
    output: bytes
    is_late: bool = False


def run_program(
    words: Sequence[str], folder: str, environment: Mapping[str, str], seconds: float | None, with_errors: bool
) -> Ran:
    """Run a program to its end. `with_errors`: standard error belongs to its output. Raises OSError and ValueError when
    it cannot be started."""
    process = subprocess.Popen(
        list(words),
        cwd=folder,
        env=dict(environment),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT if with_errors else subprocess.DEVNULL,
        process_group=0,
    )

    def interrupt() -> None:
        _tell(process, signal.SIGINT)

    was_stopping = STOP.requested  # what runs after an interrupt, such as hooks on errors, may come to its end
    _RUNNING.add(process)
    if not was_stopping:
        STOP.listen(interrupt)
    try:
        output, is_late = _output(process, seconds)
    except BaseException:
        _tell(process, signal.SIGKILL)
        raise
    finally:
        if not was_stopping:
            STOP.forget(interrupt)
        _RUNNING.discard(process)
    return Ran(process.returncode, output, is_late)


def _output(process: subprocess.Popen[bytes], seconds: float | None) -> tuple[bytes, bool]:
    """The end of what it prints, and whether it took too long."""
    kept = bytearray()
    reader = threading.Thread(target=_read, args=(process, kept), daemon=True)
    reader.start()
    is_late = not _has_ended(process, reader, seconds)
    if is_late:
        _tell(process, signal.SIGTERM)
        _has_ended(process, reader, GRACE)
        _tell(process, signal.SIGKILL)  # and what it began, which may still be there when it is not
        _has_ended(process, reader, GRACE)
    return bytes(kept[-MOST:]), is_late


def _read(process: subprocess.Popen[bytes], kept: bytearray) -> None:
    assert process.stdout is not None
    with process.stdout as stream:
        while data := os.read(stream.fileno(), 1 << 16):
            kept += data
            if len(kept) > 2 * MOST:
                del kept[:-MOST]


def _has_ended(process: subprocess.Popen[bytes], reader: threading.Thread, seconds: float | None) -> bool:
    """Whether the process has ended and its output is complete, waiting so long for it."""
    until = time.monotonic() + seconds if seconds is not None else None
    reader.join(seconds)
    try:
        process.wait(None if until is None else max(0.0, until - time.monotonic()))
    except subprocess.TimeoutExpired:
        return False
    return not reader.is_alive()


def _tell(process: subprocess.Popen[bytes], number: int) -> None:
    with suppress(OSError):
        os.killpg(process.pid, number)


@atexit.register
def end_all() -> None:
    """Kill what still runs: this process ends without waiting for it."""
    for process in list(_RUNNING):
        _tell(process, signal.SIGKILL)


def without(text: str, secrets: Collection[str]) -> str:
    """The text with `(hidden)` where it has a secret."""
    for secret in sorted(secrets, key=len, reverse=True):
        if len(secret) >= LEAST:
            text = text.replace(secret, "(hidden)")
    return text
