"""For all tests."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable
from typing import Any

import pytest
from cli.conftest import Ran, make_terminal
from isolation import isolate

from planner.cli import main

if signal.getsignal(signal.SIGINT) == signal.SIG_IGN:  # as in the background of a shell; programs would inherit it
    signal.signal(signal.SIGINT, signal.default_int_handler)
isolate()


def pytest_xdist_auto_num_workers(config: pytest.Config) -> int:
    """One more than there are processors: many tests wait for other processes."""
    return len(os.sched_getaffinity(0)) + 1 if hasattr(os, "sched_getaffinity") else (os.cpu_count() or 1) + 1


@pytest.fixture
def planner() -> Callable[..., Ran]:
    """Runs a command line in this process: words in; exit code and texts out."""

    def run(*words: str, stdin: str = "", terminal: bool = False) -> Ran:
        screen: Any = make_terminal(terminal, stdin)
        code = main.dispatch(list(words), screen)
        return Ran(code, screen.stdout.getvalue(), screen.stderr.getvalue())

    return run
