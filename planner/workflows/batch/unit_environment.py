"""What a unit has around it while a process works on it: its folder, its environment, the process to itself.

Planning reads relative to the working directory and the environment, which belong to the process: both are set for the
time of one unit and put back, one unit at a time (`ALONE`).
"""

from __future__ import annotations

import gc
import os
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager

from planner import DEPTH, DIGITS
from planner.workflows.batch.model import Request

ALONE = threading.RLock()


@contextmanager
def home(request: Request) -> Iterator[None]:
    """The working directory and the environment of a unit; depth and digits as a command has them."""
    here = os.getcwd()
    depth, digits, collecting = sys.getrecursionlimit(), sys.get_int_max_str_digits(), gc.isenabled()
    wanted = dict(request.environment)
    if request.workspace:
        wanted["TF_WORKSPACE"] = request.workspace
    before = {name: os.environ.get(name) for name in wanted}
    try:
        gc.disable()
        sys.setrecursionlimit(max(depth, DEPTH))
        sys.set_int_max_str_digits(DIGITS)
        os.environ.update(wanted)
        os.chdir(request.directory)
        yield
    finally:
        os.chdir(here)
        for name, value in before.items():
            if value is not None:
                os.environ[name] = value
            else:
                os.environ.pop(name, None)
        sys.setrecursionlimit(depth)
        sys.set_int_max_str_digits(digits)
        if collecting:
            gc.enable()


_since_tidy = 0


def tidy() -> None:
    """Look for garbage now and then, among what is new: what units leave in circles would add up over thousands."""
    global _since_tidy
    _since_tidy += 1
    if _since_tidy >= 100:
        _since_tidy = 0
        gc.collect(0)


def peak() -> int:
    """The most memory that this process has had, in bytes."""
    import resource

    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak if sys.platform == "darwin" else peak * 1024
