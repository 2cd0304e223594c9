"""A walk's progress for people, line by line; a long walk also has a progress line on a terminal."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable
from typing import Any

from planner.engine.walk.hooks import FoundResource, Hooks, ObjectId
from planner.foundation.support.exact_json import dumps
from planner.logic.programs.actions import words_for
from planner.render.terminal import Terminal, is_terminal, visible

BAR = 10
"""length of the bar, in characters"""


class ProgressLine:
    """The progress line of a walk that takes longer than AFTER seconds. Callers of all methods except `start` and
    `stop` must hold the `lock`, which other writers also acquire."""

    AFTER = 0.5
    EVERY = 0.1
    TICK = 1.0
    """seconds between two updates of the line while no step ends"""

    def __init__(self, terminal: Terminal, lock: threading.Lock | None = None) -> None:
        self.terminal = terminal
        self.enabled = is_terminal(terminal.stderr) and os.environ.get("TERM") != "dumb"
        self.running: dict[Any, tuple[str, float]] = {}
        """{key: (object, start time)} of operations in progress, the earliest first"""
        self._lock = lock or threading.Lock()
        self._name = ""
        self._done = self._total = 0
        self._began = self._shown_at = 0.0
        self._shown = False
        self._over: threading.Event | None = None

    def start(self, name: str, total: int) -> None:
        """Begin to count the steps of a walk. `total`: how many steps the walk has."""
        self._name, self._done, self._total = name, 0, total
        self._began, self._shown_at = time.monotonic(), 0.0
        if self.enabled:
            self._over = threading.Event()
            threading.Thread(target=self._tick, args=(self._over,), name="progress", daemon=True).start()

    def update(self, done: int, total: int) -> None:
        self._done, self._total = done, total
        now = time.monotonic()
        if self.enabled and now - self._began >= self.AFTER and now - self._shown_at >= self.EVERY:
            self._draw(now)

    def clear(self) -> None:
        """Remove the line, so that other text can be printed."""
        if self._shown:
            self.terminal.outputs[1].write_over("\r\x1b[2K")
            self.terminal.stderr.flush()
            self._shown = False

    def stop(self) -> None:
        if self._over is not None:
            self._over.set()
        with self._lock:
            self.running.clear()
            self.clear()

    def _tick(self, over: threading.Event) -> None:
        while not over.wait(self.TICK):
            with self._lock:
                now = time.monotonic()
                if not over.is_set() and now - self._shown_at >= self.TICK:
                    self._draw(now)

    def _draw(self, now: float) -> None:
        self._shown_at, self._shown = now, True
        room = self.terminal.error_width - 1
        self.terminal.outputs[1].write_over(f"\r\x1b[2K{self.text(now)[:room]}")
        self.terminal.stderr.flush()

    def text(self, now: float) -> str:
        """The line as text: `plan: 12 of 40 steps (30%) [===       ] 12s, longest 8s: terraform_data.a`"""
        share = self._done / self._total if self._total else 1.0
        bar = ("=" * int(BAR * share)).ljust(BAR)
        text = f"{self._name}: {self._done} of {self._total} steps ({int(100 * share)}%) [{bar}]"
        text += f" {duration_text(now - self._began)}"
        longest = next(iter(self.running.values()), None)
        return text if longest is None else f"{text}, longest {duration_text(now - longest[1])}: {visible(longest[0])}"


class ProgressHooks(Hooks):
    """Hooks that show only the progress line."""

    def __init__(self, terminal: Terminal) -> None:
        self._lock = threading.Lock()
        self._progress = ProgressLine(terminal, self._lock)

    def shows_progress(self) -> bool:
        return self._progress.enabled

    def walk_start(self, name: str, total: int) -> None:
        self._progress.start(name, total)

    def walk_progress(self, done: int, total: int) -> None:
        if self._progress.enabled:
            with self._lock:
                self._progress.update(done, total)

    def walk_complete(self) -> None:
        self._progress.stop()

    def refresh_start(self, address: str, identity: ObjectId | None = None, deposed: str = "") -> None:
        self._begin((address, deposed), address)

    def refresh_complete(self, address: str, identity: ObjectId | None = None, deposed: str = "") -> None:
        self._end((address, deposed))

    def apply_start(self, address: str, action: str, identity: ObjectId | None = None, deposed: str = "") -> None:
        if action != "no-op":
            self._begin((address, deposed), address)

    def apply_complete(
        self, address: str, action: str, identity: ObjectId | None = None, elapsed: float = 0.0, deposed: str = ""
    ) -> None:
        self._end((address, deposed))

    def apply_errored(self, address: str, action: str, elapsed: float = 0.0, deposed: str = "") -> None:
        self._end((address, deposed))

    def _begin(self, key: tuple[str, str], text: str) -> None:
        if self._progress.enabled:
            with self._lock:
                self._progress.running[key] = (text, time.monotonic())

    def _end(self, key: tuple[str, str]) -> None:
        if self._progress.enabled:
            with self._lock:
                self._progress.running.pop(key, None)


def duration_text(seconds: float) -> str:
    """A duration in whole seconds: `5s`, `1m5s`, `2h0m0s`."""
    whole = max(0, round(seconds))
    hours, rest = divmod(whole, 3600)
    minutes, rest = divmod(rest, 60)
    if hours:
        return f"{hours}h{minutes}m{rest}s"
    return f"{minutes}m{rest}s" if minutes else f"{rest}s"


LONGEST_ID = 80  # the maximum length of an id that is shown whole, in characters


class HumanHooks(ProgressHooks):
    """Prints the events of a walk to standard output, and its progress line to standard error."""

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
    """The text. If it is longer than LONGEST_ID characters, "..." replaces its middle."""
    if len(text) <= LONGEST_ID:
        return text
    half = (LONGEST_ID - 3) // 2
    return f"{text[:half]}...{text[-half:]}"


# reports every ten seconds on running operations


INTERVAL = 10.0
"""seconds between two reports on an operation"""


class StillRunning:
    """Calls `report(key, seconds since the start)` every INTERVAL seconds for each started operation. One thread serves
    all operations. It ends soon after the last operation."""

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
            # the thread need not be woken, because all intervals are equal, so the operation for which it waits remains
            # the first that is due

    def stop(self, key: Any) -> float:
        """Stop reporting on an operation. Returns the seconds since its start; 0 if the operation was not started."""
        with self._changed:
            self._due.pop(key, None)
            began = self._started.pop(key, None)
            return 0.0 if began is None else time.monotonic() - began

    def stop_where(self, matches: Callable[[Any], bool]) -> None:
        """Stop reporting on the operations whose keys satisfy `matches`."""
        with self._changed:
            for key in [key for key in self._started if matches(key)]:
                self._due.pop(key, None)
                del self._started[key]

    def _run(self) -> None:
        while True:
            with self._changed:
                if not self._due:
                    # the thread waits a little before it ends, so that many short operations do not each start a new
                    # thread
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
    """The lines of a provisioner's output, without trailing blanks and empty lines."""
    lines = text.replace("\r\n", "\n").replace("\r", "\n").split("\n")
    return [line.rstrip() for line in lines if line.strip()]
