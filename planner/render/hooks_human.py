"""A walk's progress for people, line by line; a long walk also has a progress line on a terminal."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import Any

from planner.engine.walk.hooks import FoundResource, ObjectId
from planner.foundation.support.exact_json import dumps
from planner.logic.programs.actions import words_for
from planner.render.progress import ProgressHooks, duration_text
from planner.render.terminal import Terminal

LONGEST_ID = 80


class HumanHooks(ProgressHooks):
    """Prints to standard output; the progress line to standard error."""

    def __init__(self, terminal: Terminal) -> None:
        super().__init__(terminal)
        self.terminal = terminal
        self._running = StillRunning(self._still)

    def say(self, text: str) -> None:
        self._line(self.terminal.paint(text, "bold"))

    def _line(self, text: str) -> None:
        with self._lock:
            self._progress.clear()
            if not self.terminal.concise:
                self.terminal.out(text)
                self.terminal.stdout.flush()

    # ---- objects

    def refresh_start(self, address: str, identity: ObjectId | None = None, deposed: str = "") -> None:
        self.say(f"{_name(address, deposed)}: Refreshing state...{identity_text(identity)}")
        super().refresh_start(address, identity, deposed)

    def apply_start(self, address: str, action: str, identity: ObjectId | None = None, deposed: str = "") -> None:
        if action != "no-op":
            self.say(f"{_name(address, deposed)}: {words_for(action).progress[0]}...{identity_text(identity)}")
            self._running.start((address, action, identity, deposed))
            super().apply_start(address, action, identity, deposed)

    def _still(self, key: tuple[str, str, ObjectId | None, str], elapsed: float) -> None:
        address, action, identity, _ = key
        known = f"{identity.key}={_short(identity.value)}, " if identity else ""
        self.say(f"{address}: Still {words_for(action).progress[1]}... [{known}{duration_text(elapsed)} elapsed]")

    def apply_complete(
        self, address: str, action: str, identity: ObjectId | None = None, elapsed: float = 0.0, deposed: str = ""
    ) -> None:
        self._stop(address, action, deposed)
        if action != "no-op":
            name = _name(address, deposed)
            word = words_for(action).progress[2]
            self.say(f"{name}: {word} complete after {duration_text(elapsed)}{identity_text(identity)}")

    def apply_errored(self, address: str, action: str, elapsed: float = 0.0, deposed: str = "") -> None:
        self._stop(address, action, deposed)

    def _stop(self, address: str, action: str, deposed: str) -> None:
        self._end((address, deposed))
        self._running.stop_where(lambda key: key[0] == address and key[1] == action and key[3] == deposed)

    # ---- provisioners, imports, ephemeral resources

    def provision_start(self, address: str, type: str) -> None:
        self.say(f"{address}: Provisioning with '{type}'...")

    def provision_progress(self, address: str, type: str, output: str) -> None:
        for line in output_lines(output):
            self._line(f"{self.terminal.paint(f'{address} ({type}):', 'bold')} {line}")

    def action_start(self, address: str, caller: str) -> None:
        self._line(f"Action started: {address} (triggered by {caller or 'CLI'})")

    def action_progress(self, address: str, caller: str, message: str) -> None:
        for line in output_lines(message):
            self._line(f"Action {address} (triggered by {caller or 'CLI'}): {line}")

    def action_complete(self, address: str, caller: str) -> None:
        self._line(f"Action complete: {address} (triggered by {caller or 'CLI'})")

    def import_planned(self, address: str, id: str) -> None:
        self.say(f"{address}: Preparing import... [id={id}]")

    def import_start(self, address: str, id: str) -> None:
        self.say(f"{address}: Importing... [id={id}]")

    def import_complete(self, address: str, id: str) -> None:
        self.say(f"{address}: Import complete [id={id}]")

    def list_found(self, address: str, result: FoundResource) -> None:
        parts = ((name, part) for name, part in result.identity.items() if part is not None)
        identity = ",".join(f"{name}={part if isinstance(part, str) else dumps(part).decode()}" for name, part in parts)
        remark = f"managed as {result.managed_as}" if result.managed_as else ""
        remark = f"imported as {result.imported_as}" if result.imported_as else remark
        if result.perhaps_as:
            gaps = [name for name, part in result.identity.items() if part == ""]
            reason = f"the provider left {' and '.join(gaps)} empty" if gaps else "which has no identity yet"
            remark = f"may be {result.perhaps_as}{':' if gaps else ','} {reason}"
        self._line(f"{address}   {identity}   {result.display_name}{'   ' if remark else ''}{remark}")

    def list_complete(self, address: str, type: str, total: int, managed: int = 0) -> None:
        already = f", {managed} managed" if managed else ""
        self.say(f"{address}: {total} {'result' if total == 1 else 'results'}{already}")

    def discovered(self, coverage: dict[str, dict[str, int]]) -> None:
        from planner.render.rows import table

        kinds = ("found", "managed", "pending", "unmanaged", "uncertain")
        rows = [
            (type, *(counts[kind] for kind in kinds), f"{100 * counts['managed'] // counts['found']} %")
            for type, counts in coverage.items()
        ]
        self._line(f"\n{table(('type', *kinds, 'coverage'), rows)}" if rows else "\nNothing was found.")

    def ephemeral_start(self, address: str, phase: str) -> None:
        self.say(f"{address}: {EPHEMERAL[phase][0]}")
        self._running.start((address, phase, None, ""))

    def ephemeral_complete(self, address: str, phase: str) -> None:
        elapsed = self._running.stop((address, phase, None, ""))
        self.say(f"{address}: {EPHEMERAL[phase][1]} after {duration_text(elapsed)}")

    # ---- the walk

    def stopping(self) -> None:
        self._line(
            "\nInterrupt received.\nWaiting for running operations to finish; then the state is saved. "
            "A second interrupt exits immediately, and data may be lost.\n"
        )

    def log(self, message: str) -> None:
        self._line(message)


def _name(address: str, deposed: str) -> str:
    return f"{address} (deposed object {deposed})" if deposed else address


def identity_text(identity: ObjectId | None) -> str:
    return f" [{identity.key}={identity.value}]" if identity and identity.value else ""


def _short(text: str) -> str:
    """Without the middle, if it is long."""
    if len(text) <= LONGEST_ID:
        return text
    half = (LONGEST_ID - 3) // 2
    return f"{text[:half]}...{text[-half:]}"


# reports every ten seconds on running operations


INTERVAL = 10.0
"""seconds between two reports on an operation"""


class StillRunning:
    """Calls `report(key, seconds since the start)` every INTERVAL seconds for each started operation. One thread serves
    all, and exists only while one runs."""

    def __init__(self, report: Callable[[Any, float], None], interval: float = INTERVAL) -> None:
        self._report = report
        self._interval = interval
        self._started: dict[Any, float] = {}
        self._due: dict[Any, float] = {}
        self._changed = threading.Condition()
        self._thread: threading.Thread | None = None

    def start(self, key: Any) -> None:
        with self._changed:
            now = time.monotonic()
            self._started[key] = now
            self._due[key] = now + self._interval
            if self._thread is None:
                self._thread = threading.Thread(target=self._run, name="still running", daemon=True)
                self._thread.start()
            # the thread need not be woken: intervals are equal, so it waits for the operation that is due first

    def stop(self, key: Any) -> float:
        """Stop reporting on an operation. Returns the seconds since its start; 0 if it never started."""
        with self._changed:
            self._due.pop(key, None)
            began = self._started.pop(key, None)
            return 0.0 if began is None else time.monotonic() - began

    def stop_where(self, matches: Callable[[Any], bool]) -> None:
        """Stop reporting on operations with these keys."""
        with self._changed:
            for key in [key for key in self._started if matches(key)]:
                self._due.pop(key, None)
                del self._started[key]

    def _run(self) -> None:
        while True:
            with self._changed:
                if not self._due:
                    # a short wait avoids a new thread for each of many short operations
                    self._changed.wait(min(1.0, self._interval))
                    if not self._due:
                        self._thread = None
                        return
                key = min(self._due, key=lambda k: self._due[k])
                now = time.monotonic()
                if self._due[key] > now:
                    self._changed.wait(self._due[key] - now)
                    continue
                self._due[key] += self._interval
                elapsed = now - self._started[key]
            self._report(key, elapsed)


# words for running operations, in text and in JSON


EPHEMERAL = {"open": ("Opening...", "Open complete"), "renew": ("Renewing...", "Renew complete")}
EPHEMERAL["close"] = ("Closing...", "Close complete")


def output_lines(text: str) -> list[str]:
    """A provisioner's lines, without trailing blanks and empty lines."""
    lines = text.replace("\r\n", "\n").replace("\r", "\n").split("\n")
    return [line.rstrip() for line in lines if line.strip()]
