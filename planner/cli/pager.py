"""A pager for long output: PLANNER_PAGER or `less`, disabled by -pager=false or NO_PAGER."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from contextlib import contextmanager

from planner.cli.flags import Arguments, Flag
from planner.render.terminal import Terminal, is_terminal

PAGER = Flag("pager", "bool", "On a terminal, show long output in a pager (PLANNER_PAGER, less).", True)
_LESS = ("less", "-FRX")
_STYLES = re.compile(r"\x1b\[[0-9;]*m")


@contextmanager
def paged(arguments: Arguments, terminal: Terminal) -> Iterator[None]:
    """Collects standard output, and shows it at the end; in a pager if it is long."""
    if not _is_welcome(arguments, terminal):
        yield
        return
    output = terminal.outputs[0]
    output.held = held = list[str]()
    try:
        yield
    finally:
        output.held = None
        text = "".join(held)
        if _lines(text, terminal.width) < terminal.height or not _show(text):
            output.write_over(text)


def _is_welcome(arguments: Arguments, terminal: Terminal) -> bool:
    """Whether the output is a terminal, and the pager is not disabled."""
    get = os.environ.get
    refused = not arguments["pager"] or arguments.get("json") or get("NO_PAGER") or get("PLANNER_PAGER") == ""
    is_attended = terminal.owns_process and terminal.interactive and is_terminal(terminal.stdout)
    is_watched = is_attended and not (terminal.in_automation or get("CI"))
    return is_watched and not refused and get("TERM", "dumb") not in ("", "dumb")


def _lines(text: str, width: int) -> int:
    """Number of terminal lines that a text needs."""
    return sum(1 + max(0, len(line) - 1) // max(width, 1) for line in _STYLES.sub("", text).split("\n"))


def _show(text: str) -> bool:
    """Returns False if no pager works."""
    import shlex
    import signal
    import subprocess

    try:
        words = shlex.split(os.environ.get("PLANNER_PAGER", "")) or list(_LESS)
        process = subprocess.Popen(words, stdin=subprocess.PIPE)
    except (OSError, ValueError):
        return False
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)  # the pager handles interrupts itself
    try:
        process.communicate(text.encode("utf-8", "replace"))
    finally:
        signal.signal(signal.SIGINT, before)
    return True
