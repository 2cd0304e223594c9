"""A line about running downloads that is rewritten in place. It appears only on a terminal, and only for long
downloads."""

from __future__ import annotations

import threading
import time

from planner.engine.walk.hooks import Hooks
from planner.render.terminal import Terminal, is_terminal
from planner.render.view import View

AFTER, EVERY = 0.5, 0.1
"""the seconds until the line appears, and the seconds between two updates"""


class DownloadLine:
    """The line about running downloads. It is called with the name, the received bytes and the total bytes (0: unknown)
    of a download. Several downloads may run at once."""

    def __init__(self, terminal: Terminal) -> None:
        self.terminal = terminal
        self.enabled = is_terminal(terminal.stderr)
        self._running: dict[str, tuple[int, int]] = {}
        self._began = time.monotonic()
        self._shown_at = 0.0
        self._lock = threading.Lock()

    def __call__(self, name: str, done: int, total: int) -> None:
        if not self.enabled:
            return
        with self._lock:
            self._running[name] = (done, total)
            if done == total:
                del self._running[name]
            now = time.monotonic()
            if not self._running:
                self._wipe()
            elif now - self._began >= AFTER and now - self._shown_at >= EVERY:
                self._shown_at = now
                self._write("\r\x1b[2K" + self._text()[: self.terminal.error_width - 1])

    def _text(self) -> str:
        return "Downloading " + ", ".join(
            f"{name} ({done / 1e6:.1f}{f' of {total / 1e6:.1f}' if total else ''} MB)"
            for name, (done, total) in sorted(self._running.items())
        )

    def __enter__(self) -> DownloadLine:
        return self

    def __exit__(self, *problem: object) -> None:
        """Remove the line, so that other text can be printed."""
        if self.enabled:
            with self._lock:
                self._running.clear()
                self._wipe()

    def _wipe(self) -> None:
        if self._shown_at:
            self._shown_at = 0.0
            self._write("\r\x1b[2K")

    def _write(self, text: str) -> None:
        self.terminal.stderr.write(text)
        self.terminal.stderr.flush()


# progress of `init` and `get`: text for people, or JSON lines without its decoration


class InitLines(Hooks):
    """Hooks that show the progress messages of `init` and `get` through a view."""

    def __init__(self, view: View) -> None:
        self.view = view

    def log(self, message: str) -> None:
        self.view.say(message, message.strip().removeprefix("- "))
