"""Limits that really end: time, also in C; memory; and nothing is left running."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from planner.foundation.vocabulary.diagnostic import Failure, error
from planner.foundation.vocabulary.span import Source, Span
from planner.logic.datalog.ask import limit
from planner.logic.datalog.ask.limit import run_limited


def no_child_is_left() -> bool:
    """Whether this thread has no children, save those it had before (a server of processes, for example)."""
    return _children() <= BEFORE


def _children() -> set[int]:
    path = f"/proc/self/task/{threading.get_native_id()}/children"
    return set(map(int, Path(path).read_text().split())) if os.path.exists(path) else set()


BEFORE: set[int] = set()


@pytest.fixture(autouse=True)
def _before() -> None:
    BEFORE.clear()
    BEFORE.update(_children())


def test_results_and_failures_come_back() -> None:
    assert run_limited(lambda: {"a": [1, (2.5, True)]}, 20) == {"a": [1, (2.5, True)]}
    source = Source("<query>", "some text")

    def fails() -> None:
        raise Failure(error("a.b", "Summary", "Detail", Span(source, 5, 9)))

    with pytest.raises(Failure) as failure:
        run_limited(fails, 20)
    (problem,) = failure.value.diagnostics
    assert problem.subject is not None and problem.subject.text == "text"

    def breaks() -> None:
        raise ZeroDivisionError("by zero")

    with pytest.raises(RuntimeError, match="ZeroDivisionError: by zero"):
        run_limited(breaks, 20)
    assert no_child_is_left()


def test_a_secret_source_stays_secret() -> None:
    source = Source("secret.tfvars", "some text", is_secret=True)

    def fails() -> None:
        raise Failure(error("a.b", "Summary", "Detail", Span(source, 5, 9)))

    with pytest.raises(Failure) as failure:
        run_limited(fails, 20)
    (problem,) = failure.value.diagnostics
    assert problem.subject is not None and problem.subject.source.is_secret


def test_what_hangs_in_c_is_ended() -> None:
    begin = time.monotonic()
    with pytest.raises(Failure) as failure:
        run_limited(lambda: sum(range(10**15)), 0.3)
    assert time.monotonic() - begin < 5
    (problem,) = failure.value.diagnostics
    assert (problem.code, problem.detail[:41]) == ("query.time", "There was no answer within 0.3 seconds. N")
    assert no_child_is_left()


def test_what_grows_without_end_is_ended(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limit, "MAX_MEMORY", 64 << 20)

    def grows() -> int:
        rows = []
        while True:
            rows.append(bytes(1 << 20))

    with pytest.raises(Failure) as failure:
        run_limited(grows, 30)
    assert failure.value.diagnostics[0].code == "query.memory"
    assert no_child_is_left()


@pytest.mark.skipif(sys.platform != "linux", reason="the kernel's word about a parent that is gone")
def test_nothing_outlives_a_process_that_was_killed() -> None:
    code = (
        "from planner.logic.datalog.ask.limit import run_limited; print(flush=True); "
        "run_limited(lambda: sum(range(10**15)), 60)"
    )
    process = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, start_new_session=True)
    assert process.stdout is not None
    process.stdout.readline()
    time.sleep(0.5)
    process.kill()
    process.wait()
    process.stdout.close()
    deadline = time.monotonic() + 5
    while is_running(process.pid) and time.monotonic() < deadline:
        time.sleep(0.02)
    assert not is_running(process.pid)


def is_running(group: int) -> bool:
    """Whether a process of a group runs; one that has ended and that nobody waited for does not."""
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            state, _parent, number, *_rest = stat.read_text().rpartition(")")[2].split()
        except OSError:
            continue
        if int(number) == group and state != "Z":
            return True
    return False
