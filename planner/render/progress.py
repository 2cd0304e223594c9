"""A walk's progress on a terminal, in a line rewritten in place: a bar, the number of steps, and the longest-running
operation. Nothing is written to pipes, files, and terminals without escape sequences."""

from __future__ import annotations

import os
import threading
import time
from typing import Any

from planner.engine.walk.hooks import Hooks, ObjectId
from planner.render.terminal import Terminal, is_terminal, visible

BAR = 10
"""length of the bar, in characters"""


class ProgressLine:
    """The line, for walks that take longer than a moment. All methods but `start` and `stop` need the `lock`, which
    other writers take, too."""

    AFTER = 0.5
    EVERY = 0.1
    TICK = 1.0
    """seconds between two drawings while no step ends"""

    def __init__(self, terminal: Terminal, lock: threading.Lock | None = None) -> None:
        self.terminal = terminal
        self.enabled = is_terminal(terminal.stderr) and os.environ.get("TERM") != "dumb"
        self.running: dict[Any, tuple[str, float]] = {}
        """operations in progress, longest first: {key: (object, start time)}"""
        self._lock = lock or threading.Lock()
        self._name = ""
        self._done = self._total = 0
        self._began = self._shown_at = 0.0
        self._shown = False
        self._over: threading.Event | None = None

    def start(self, name: str, total: int) -> None:
        """Begin a walk with this number of steps."""
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
        """`plan: 12 of 40 steps (30%) [===       ] 12s, longest 8s: terraform_data.a`"""
        share = self._done / self._total if self._total else 1.0
        bar = ("=" * int(BAR * share)).ljust(BAR)
        text = f"{self._name}: {self._done} of {self._total} steps ({int(100 * share)}%) [{bar}]"
        text += f" {duration_text(now - self._began)}"
        longest = next(iter(self.running.values()), None)
        return text if longest is None else f"{text}, longest {duration_text(now - longest[1])}: {visible(longest[0])}"


class ProgressHooks(Hooks):
    """Shows only the progress line."""

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
    """`5s`, `1m5s`, `2h0m0s`, in whole seconds."""
    whole = max(0, round(seconds))
    hours, rest = divmod(whole, 3600)
    minutes, rest = divmod(rest, 60)
    if hours:
        return f"{hours}h{minutes}m{rest}s"
    return f"{minutes}m{rest}s" if minutes else f"{rest}s"
