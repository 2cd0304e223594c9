"""For all tests."""

from __future__ import annotations

import gc
import os
import signal
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from zlib import crc32

import pytest
from cli.conftest import Ran, make_terminal
from isolation import isolate
from random_tests import register_profiles

from planner.cli import main

if signal.getsignal(signal.SIGINT) == signal.SIG_IGN:  # as in the background of a shell; programs would inherit it
    signal.signal(signal.SIGINT, signal.default_int_handler)
isolate()
register_profiles()


def pytest_xdist_auto_num_workers(config: pytest.Config) -> int:
    """One more than there are processors: many tests wait for other processes."""
    return len(os.sched_getaffinity(0)) + 1 if hasattr(os, "sched_getaffinity") else (os.cpu_count() or 1) + 1


HERE = Path(__file__).parent
WORKER = os.environ.get("PYTEST_XDIST_WORKER", "")
QUICK = frozenset(
    (
        *("apply", "architecture", "config", "datalog", "differential", "documents", "evaluation", "explain", "graph"),
        *("language", "operations", "plan", "render", "rules", "support", "syntax", "values", "vocabulary", "walk"),
    )
)
"""directories whose tests start few processes and no servers"""
ONE_IN = 16


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report(collector: pytest.Collector) -> Iterator[Any]:
    """Workers begin with different directories, so that each finds files that others have compiled."""
    report = yield
    if WORKER and collector.path == HERE:
        at = len(report.result) * int(WORKER.removeprefix("gw")) // int(os.environ["PYTEST_XDIST_WORKER_COUNT"])
        report.result = report.result[at:] + report.result[:at]
    return report


@pytest.hookimpl(tryfirst=True)  # before -m is looked at
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Marks as quick all tests of some directories and a sample of the others, the same each time."""
    if WORKER:  # which have to agree on the order
        items.sort(key=_top)
    for item in items:
        is_chosen = _top(item) in QUICK or crc32(item.nodeid.encode()) % ONE_IN == 0
        if is_chosen and item.get_closest_marker("slow") is None:
            item.add_marker(pytest.mark.quick)


def _top(item: pytest.Item) -> str:
    """The directory or file below `tests` that a test is in."""
    return item.nodeid.partition("::")[0].split("/")[1]


def pytest_collection_finish() -> None:
    """All tests live until the end: nothing looks for garbage among them, and less often among the rest."""
    gc.freeze()
    gc.set_threshold(20_000, 20, 50)


@pytest.hookimpl(trylast=True)
def pytest_runtest_teardown() -> None:
    """No test leaves a handler: later tests would be interrupted by signals of their own processes."""
    assert signal.getsignal(signal.SIGTERM) is signal.SIG_DFL


@pytest.fixture
def planner() -> Callable[..., Ran]:
    """Runs a command line in this process: words in; exit code and texts out."""

    def run(*words: str, stdin: str = "", terminal: bool = False) -> Ran:
        screen: Any = make_terminal(terminal, stdin)
        code = screen.close(main.dispatch(list(words), screen))
        return Ran(code, screen.stdout.getvalue(), screen.stderr.getvalue())

    return run
