"""What a batch does at the moment, as a table at the foot of a terminal that is drawn anew in place; what has ended
scrolls above it. It is drawn when something happens, and whenever the batch looks around; no thread writes."""

from __future__ import annotations

import os
import time
import unicodedata
from collections import Counter

from planner.cli.batch_lines import BatchLines, few
from planner.render.streams import visible
from planner.render.terminal import Terminal
from planner.workflows.batch.model import BAD, OUTCOMES, FinishedUnit

MOST_ROWS = 10
"""units that are shown in work"""
SOONEST = 0.1
"""seconds between two drawings"""


class Live(BatchLines):
    """Lines for what has ended, and the table."""

    def __init__(self, terminal: Terminal, show: bool = False) -> None:
        super().__init__(terminal, show)
        self.begun: dict[str, int] = {}
        """units that were given to be done, and for which time"""
        self.since: dict[str, float] = {}
        """when those of them began that are in work: of what changes nothing, some stand ready behind them"""
        self.slots = 1
        self.outcomes: Counter[str] = Counter()
        self.expected = 0
        self.bad: list[str] = []
        self._widths: list[int] = []  # of the lines that stand there
        self._drawn_at = 0.0

    def say(self, text: str) -> None:
        self._clear()
        super().say(text)

    def expects(self, units: list[str]) -> None:
        self.expected = len(units)
        self.outcomes.clear()

    def began(self, unit: str, attempt: int) -> None:
        self.begun[unit] = attempt
        self.since.pop(unit, None)
        if attempt > 1:
            super().began(unit, attempt)
        self.tick(self.slots)

    def ended(self, done: FinishedUnit) -> None:
        self.begun.pop(done.unit, None)
        self.since.pop(done.unit, None)
        self.outcomes[done.outcome] += 1
        if done.outcome in BAD and done.outcome != "skipped":
            self.bad.append(done.unit)
        super().ended(done)
        self.tick(self.slots)

    def tick(self, slots: int) -> None:
        now, self.slots = time.monotonic(), slots
        for unit in self.begun:
            if unit not in self.since and len(self.since) < slots:
                self.since[unit] = now
        if self.begun and now - self._drawn_at >= SOONEST:
            self._drawn_at = now
            self._draw(now)

    def rests(self) -> None:
        self._clear()

    # ---------------------------------------------------------------- drawing

    def _draw(self, now: float) -> None:
        columns, rows = _size(self.terminal)
        lines = [fitting(text, columns - 1) for text in self._lines(now, rows)]
        paint = self.terminal.error_paint
        painted = [paint(lines[0], "bold"), *lines[1:]]
        if self.bad:
            painted[-1] = paint(painted[-1], "red")
        self.terminal.stdout.flush()
        self.terminal.stderr.write(self._back() + "".join(f"{text}\n" for text in painted))
        self.terminal.stderr.flush()
        self._widths = [cells(text) for text in lines]

    def _lines(self, now: float, rows: int) -> list[str]:
        done = sum(self.outcomes.values())
        waiting = max(0, self.expected - done - len(self.since))
        how = ", ".join(f"{self.outcomes[outcome]} {outcome}" for outcome in OUTCOMES if self.outcomes[outcome])
        lines = [f"{len(self.since)} running, {waiting} waiting, {done} done" + (f": {how}" if how else "")]
        room = max(0, min(MOST_ROWS, rows - 5))
        shown = list(self.since.items())[:room]
        width = max((cells(visible(unit)) for unit, _ in shown), default=0)
        for unit, since in shown:
            attempt = self.begun[unit]
            name, again = visible(unit), f"  try {attempt}" if attempt > 1 else ""
            lines.append(f"  {name}{' ' * (width - cells(name))}  {elapsed(now - since)}{again}")
        if shown and len(self.since) > room:
            lines.append(f"  and {len(self.since) - room} more")
        if self.bad:
            lines.append(f"not done: {visible(few(self.bad))}")
        return lines

    def _clear(self) -> None:
        if self._widths:
            self.terminal.stderr.write(self._back())
            self.terminal.stderr.flush()
            self._widths = []

    def _back(self) -> str:
        """To where the table begins, with nothing from there on; a terminal that is narrower by now broke lines."""
        columns, _ = _size(self.terminal)
        height = sum(max(1, -(-width // columns)) for width in self._widths)
        return f"\x1b[{height}A\x1b[J" if height else ""


def is_live(no_color: bool) -> bool:
    """Whether somebody sees a terminal that can be drawn on: not where output is collected or plain text is wanted."""
    in_ci = os.environ.get("CI", "").lower() not in ("", "0", "false")
    return not no_color and not in_ci and os.environ.get("TERM", "dumb") not in ("", "dumb")


def _size(terminal: Terminal) -> tuple[int, int]:
    """Columns and rows, as they are now."""
    try:
        size = os.get_terminal_size(terminal.stderr.fileno())
        return size.columns or 80, size.lines or 24
    except (OSError, ValueError, AttributeError):
        return 80, 24


def elapsed(seconds: float) -> str:
    """`8s`, `2m 5s`, `1h 0m`."""
    minutes, rest = divmod(int(seconds), 60)
    if minutes >= 60:
        return f"{minutes // 60}h {minutes % 60}m"
    return f"{minutes}m {rest}s" if minutes else f"{rest}s"


def cells(text: str) -> int:
    """How many columns a text takes."""
    return len(text) if text.isascii() else sum(map(_cell, text))


def fitting(text: str, columns: int) -> str:
    """As much of a text as so many columns hold."""
    if cells(text) <= columns:
        return text
    kept, left = "", columns - 2
    for character in text:
        left -= _cell(character)
        if left < 0:
            break
        kept += character
    return f"{kept.rstrip()}.."[: max(0, columns)]


def _cell(character: str) -> int:
    if unicodedata.combining(character):
        return 0
    return 2 if unicodedata.east_asian_width(character) in "WF" else 1
