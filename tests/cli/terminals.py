"""Commands on a terminal of their own, with somebody who types."""

from __future__ import annotations

import os
import pty
import select
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path


def conversation(
    directory: Path, words: Sequence[str], keys: Sequence[str], prompts: tuple[str, ...], **environment: str
) -> tuple[int, str]:
    """Exit code and what the terminal shows when these keys are typed, each after something that is one of the
    prompts."""
    ours, theirs = pty.openpty()
    process = subprocess.Popen(
        [sys.executable, "-m", "planner", *words],
        cwd=directory, env={**os.environ, "TERM": "dumb", "NO_COLOR": "1", **environment},
        stdin=theirs, stdout=theirs, stderr=theirs, close_fds=True,
    )  # fmt: skip
    os.close(theirs)
    shown, seen, waiting, deadline = "", 0, list(keys), time.monotonic() + 60
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
        if waiting and shown[seen:].rstrip("\r\n").endswith(prompts):
            seen = len(shown)
            os.write(ours, waiting.pop(0).encode())
    code = process.wait(10)
    os.close(ours)
    return code, shown.replace("\r", "")
