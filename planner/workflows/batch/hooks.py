"""Runs hooks and other programs before and after units. Each program has its own process group, which is killed as a
whole after the time limit or when this process ends. If planner is interrupted, it sends one interrupt to the running
programs."""

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
"""seconds between the signals to a program that exceeds its time limit"""
MOST = 1 << 20
"""number of bytes that are kept from the end of a program's output"""
LEAST = 6
"""minimum length of a secret that is masked; shorter strings also occur by chance"""
_RUNNING: set[subprocess.Popen[bytes]] = set()


@frozen
class Ran:
    """The result of a program that has ended. `is_late`: the program exceeded its time limit."""

    code: int
    output: bytes
    is_late: bool = False


def run_program(
    words: Sequence[str], folder: str, environment: Mapping[str, str], seconds: float | None, with_errors: bool
) -> Ran:
    """Run a program until it ends. `with_errors`: capture standard error, too. Raises OSError or ValueError if the
    program cannot be started."""
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

    was_stopping = STOP.requested  # programs started after an interrupt, such as hooks on errors, may finish
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
    """Wait for a program, and stop it after the time limit of `seconds`. Returns the last MOST bytes of its output, and
    whether it exceeded the limit."""
    kept = bytearray()
    reader = threading.Thread(target=_read, args=(process, kept), daemon=True)
    reader.start()
    is_late = not _has_ended(process, reader, seconds)
    if is_late:
        _tell(process, signal.SIGTERM)
        _has_ended(process, reader, GRACE)
        _tell(process, signal.SIGKILL)  # also kills child processes that outlive the program
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
    """Wait until the process has ended and closed its output, but at most `seconds` (None: no limit). Returns whether
    it has."""
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
    """Kill all running programs when this process ends."""
    for process in list(_RUNNING):
        _tell(process, signal.SIGKILL)


def without(text: str, secrets: Collection[str]) -> str:
    for secret in sorted(secrets, key=len, reverse=True):
        if len(secret) >= LEAST:
            text = text.replace(secret, "(hidden)")
    return text
