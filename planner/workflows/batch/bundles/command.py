"""A carrier that starts one command per unit. The command receives the parcel on its standard input and writes the
result to its standard output.

The command can be ssh, kubectl, docker or the client of a scheduler: any program that runs `planner batch work`
elsewhere and connects its input and output. In the command, `{unit}` is replaced with the unit's name, and `{slot}`
with a number from 1 to the number of concurrent units, for example to select a machine."""

from __future__ import annotations

import shlex
import signal
import subprocess
import threading
from concurrent.futures import BrokenExecutor, Future, ThreadPoolExecutor
from contextlib import suppress
from queue import SimpleQueue

from planner.foundation.vocabulary.diagnostic import Failure, error

_LONGEST_TAIL = 4000


class Ended(BrokenExecutor):
    """The command exited with a non-zero status or printed nothing, or the batch ended before the command started."""


class CommandExecutor:
    """Runs at most `workers` commands at a time."""

    def __init__(self, text: str, workers: int) -> None:
        """Raises Failure if `text` is not a valid command."""
        try:
            self._words = shlex.split(text)
        except ValueError as problem:
            raise _refusal(text, f"{problem}.") from None
        if not self._words:
            raise _refusal(text, "It has no command. Example: command:ssh host planner batch work.")
        self._slots: SimpleQueue[int] = SimpleQueue()
        for slot in range(1, workers + 1):
            self._slots.put(slot)
        self._pool = ThreadPoolExecutor(workers, "carrier")
        self._lock = threading.Lock()
        self._running: set[subprocess.Popen[bytes]] = set()
        self._is_over = False

    def send(self, unit: str, parcel: bytes) -> Future[bytes]:
        return self._pool.submit(self._carry, unit, parcel)

    def stop(self) -> None:
        """Interrupt the commands. Each command passes the interrupt on to the machine on which its unit runs."""
        self._tell(signal.SIGINT)

    def close(self, at_once: bool = False) -> None:
        if at_once:
            self._is_over = True
            self._tell(signal.SIGTERM)
        self._pool.shutdown(wait=not at_once, cancel_futures=True)

    def _tell(self, number: signal.Signals) -> None:
        with self._lock:
            for process in self._running:
                with suppress(ProcessLookupError):
                    process.send_signal(number)

    def _carry(self, unit: str, parcel: bytes) -> bytes:
        slot = self._slots.get()
        try:
            return self._run(unit, slot, parcel)
        finally:
            self._slots.put(slot)

    def _run(self, unit: str, slot: int, parcel: bytes) -> bytes:
        words = [word.replace("{unit}", unit).replace("{slot}", str(slot)) for word in self._words]
        with self._lock:
            if self._is_over:
                raise Ended("the batch is over")
            try:
                process = subprocess.Popen(
                    words,
                    stdin=subprocess.PIPE,
                    stdout=subprocess.PIPE,
                    stderr=subprocess.PIPE,
                    # the terminal must not interrupt the command itself: planner forwards the interrupt once
                    start_new_session=True,
                )
            except (OSError, ValueError) as problem:
                reason = getattr(problem, "strerror", None) or problem
                raise _refusal(shlex.join(words), f"{words[0]}: {reason}.") from None
            self._running.add(process)
        try:
            answer, output = process.communicate(parcel)
        finally:
            with self._lock:
                self._running.discard(process)
        if process.returncode or not answer:
            tail = output[-_LONGEST_TAIL:].decode("utf-8", "replace").strip()
            raise Ended(f"{words[0]} exited with {process.returncode}{': ' if tail else ''}{tail}")
        return answer


def _refusal(text: str, detail: str) -> Failure:
    return Failure(error("batch.executor", f"Not a command that can run units: {text}", detail))
