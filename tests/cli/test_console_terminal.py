"""The console on a terminal of its own: prompts, lines that go on, history."""

from __future__ import annotations

import os
import pty
import select
import subprocess
import sys
import time
from pathlib import Path


def typed(directory: Path, keys: list[str]) -> str:
    """What the terminal shows when these are typed, each after a prompt. Ends the console with Ctrl-D."""
    ours, theirs = pty.openpty()
    environment = {**os.environ, "TERM": "dumb", "NO_COLOR": "1", "INPUTRC": "/dev/null"}
    process = subprocess.Popen(
        [sys.executable, "-m", "planner", "console"],
        cwd=directory, env=environment, stdin=theirs, stdout=theirs, stderr=theirs, close_fds=True,
    )  # fmt: skip
    os.close(theirs)
    shown, seen, deadline = "", 0, time.monotonic() + 60
    waiting = [*keys, "\x04"]
    while time.monotonic() < deadline:
        if not select.select([ours], [], [], 0.2)[0]:
            continue
        try:
            data = os.read(ours, 4096)
        except OSError:  # the other end is closed
            break
        if not data:
            break
        shown += data.decode()
        if waiting and shown[seen:].rstrip("\r\n").endswith(("> ", ". ")):
            seen = len(shown)
            os.write(ours, waiting.pop(0).encode())
    assert process.wait(10) == 0
    os.close(ours)
    return shown.replace("\r", "")


def test_lines_go_on_while_brackets_are_open(tmp_path: Path) -> None:
    shown = typed(tmp_path, ["[1,\n", "2]\n", "nope\n", 'upper("x")\n'])
    assert "[\n  1,\n  2,\n]\n" in shown
    assert ". " in shown
    assert "Error: " in shown
    assert '"X"\n' in shown  # an error does not end it


def test_the_arrow_brings_the_last_line_back(tmp_path: Path) -> None:
    shown = typed(tmp_path, ["20 + 22\n", "\x1b[A\n"])
    assert shown.count("42\n") == 2
