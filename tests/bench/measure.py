"""Run a command and say what it cost."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from pathlib import Path

from attrs import frozen


@frozen
class Cost:
    """What a process and its children took: wall and CPU time in seconds, the peak of resident memory in bytes (of the
    largest process), and its exit code (None: it was stopped after the time allowed)."""

    wall: float
    cpu: float
    memory: int
    code: int | None


def run(
    command: list[str], directory: Path, seconds: float = 900.0, most: int = 2000, cache: Path | None = None
) -> tuple[Cost, str]:
    """The cost of a command, and the last `most` characters of what it said. A command that takes longer than `seconds`
    is killed with its children. `cache`: where planner's cache is, which else is the user's."""
    log = directory / ".bench.log"
    environment = {**os.environ, "TF_IN_AUTOMATION": "1", "CHECKPOINT_DISABLE": "1", "TF_DATA_DIR": ".terraform"}
    if cache is not None:
        environment["XDG_CACHE_HOME"] = str(cache)
    for name in ("PYTHONDONTWRITEBYTECODE", "PYTHONUNBUFFERED"):
        environment.pop(name, None)
    with log.open("wb") as out:
        start = time.perf_counter()
        process = subprocess.Popen(
            command,
            cwd=directory,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=out,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
        late = False
        while True:
            pid, status, usage = os.wait4(process.pid, os.WNOHANG)
            if pid:
                break
            if time.perf_counter() - start > seconds and not late:
                late = True
                os.killpg(process.pid, signal.SIGKILL)
            time.sleep(0.002)
        wall = time.perf_counter() - start
    code = None if late else os.waitstatus_to_exitcode(status)
    process.returncode = code or 0  # it has been waited for
    said = log.read_text(errors="replace")[-most:]
    return Cost(wall, usage.ru_utime + usage.ru_stime, usage.ru_maxrss * 1024, code), said
