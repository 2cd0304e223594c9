"""The lock on a state file, between processes."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from planner.foundation.support.signals import StopSignal
from planner.world.state.backends.local import StateStore
from planner.world.state.lock import held_by, info_path, read_lock_info, remove_info, user_at_host
from planner.world.state.model import State

HOLDER = """
import sys
from planner.world.state.backends.local import StateStore
from planner.world.state.model import State
store = StateStore(sys.argv[1])
assert store.lock("OperationTypeApply") == []
print("locked", flush=True)
sys.stdin.readline()
store.write(State())
print("written", flush=True)
sys.stdin.readline()
store.unlock()
"""


class Holder:
    """Another process that holds the lock and does the next thing when told."""

    def __init__(self, path: Path) -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-c", HOLDER, str(path)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        self.expect("locked")

    def expect(self, word: str) -> None:
        assert self.process.stdout is not None
        assert self.process.stdout.readline().strip() == word

    def go(self) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write("\n")
        self.process.stdin.flush()


@contextmanager
def holding(path: Path) -> Iterator[Holder]:
    holder = Holder(path)
    try:
        yield holder
    finally:
        holder.process.kill()
        holder.process.communicate()


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "terraform.tfstate"


def test_info_names_the_holder(path: Path) -> None:
    store = StateStore(str(path))
    assert store.lock("OperationTypePlan") == []
    info = json.loads((path.parent / ".terraform.tfstate.lock.info").read_text())
    assert list(info) == ["ID", "Operation", "Info", "Who", "Version", "Created", "Path"]
    assert info["Operation"] == "OperationTypePlan"
    assert "@" in info["Who"]
    assert info["Created"].endswith("Z")
    assert store.unlock() == []
    assert list(path.parent.iterdir()) == []  # nothing was written, so nothing stays


def test_second_process_is_refused_and_told_who(path: Path) -> None:
    with holding(path):
        store = StateStore(str(path))
        problems = store.lock("OperationTypePlan")
        assert [d.code for d in problems] == ["state.locked"]
        holder = read_lock_info(str(path))
        assert holder is not None
        assert holder.id in problems[0].detail
        assert "OperationTypeApply" in problems[0].detail
        assert not store.lock_file.held


@pytest.mark.slow
def test_waiting_gets_the_lock_on_the_replaced_file(path: Path) -> None:
    StateStore(str(path)).write(State(terraform_version="x"))
    with holding(path) as holder:
        told = threading.Event()
        store = StateStore(str(path))
        timer = threading.Timer(0.6, holder.go)
        timer.start()

        def release() -> None:
            holder.expect("written")
            time.sleep(0.2)
            assert not store.lock_file.held  # the lock stays across the write
            holder.go()

        releaser = threading.Thread(target=release)
        releaser.start()
        assert store.lock("OperationTypePlan", timeout=20, on_wait=told.set) == []
        releaser.join()
        assert told.is_set()
        state, diagnostics = store.read()
        assert diagnostics == []
        assert state is not None
        assert store.unlock() == []


def test_stop_ends_the_wait(path: Path) -> None:
    with holding(path):
        stop = StopSignal()
        threading.Timer(0.1, stop.request).start()
        began = time.monotonic()
        (problem,) = StateStore(str(path)).lock("x", timeout=60, stop=stop)
        assert problem.code == "state.lock_interrupted"
        assert time.monotonic() - began < 10


def test_a_dead_holder_holds_nothing(path: Path) -> None:
    with holding(path):
        pass
    assert Path(info_path(str(path))).exists()
    store = StateStore(str(path))
    assert store.lock("x") == []
    assert store.unlock() == []


def test_force_unlock(path: Path) -> None:
    assert [d.code for d in held_by(str(path), "x")[1]] == ["state.not_locked"]
    with holding(path):
        holder = read_lock_info(str(path))
        assert holder is not None
        assert [d.code for d in held_by(str(path), holder.id)[1]] == ["state.lock_alive"]
    holder = read_lock_info(str(path))
    assert holder is not None
    assert [d.code for d in held_by(str(path), "x")[1]] == ["state.lock_id"]
    assert held_by(str(path), holder.id) == (holder, [])
    assert remove_info(str(path)) == []
    assert not Path(info_path(str(path))).exists()


def test_reading_and_writing_keep_the_lock(path: Path) -> None:
    store = StateStore(str(path))
    assert store.lock("x") == []
    for n in range(3):
        store.write(State(terraform_version=str(n), check_results=None))
        store.read()
        code = (
            "import sys; from planner.world.state.backends.local import StateStore as S; "
            "sys.exit(bool(S(sys.argv[1]).lock('y')))"
        )
        assert subprocess.run([sys.executable, "-c", code, str(path)], check=False).returncode == 1
    assert store.unlock() == []


@pytest.mark.skipif(os.getuid() != 0, reason="only root can be somebody else")
def test_a_user_without_a_name_is_a_number(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("LOGNAME", "USER", "LNAME", "USERNAME"):
        monkeypatch.delenv(name, raising=False)
    reading, writing = os.pipe()
    child = os.fork()
    if not child:
        os.setuid(54321)
        os.write(writing, user_at_host().encode())
        os._exit(0)
    os.waitpid(child, 0)
    assert os.read(reading, 1000).decode() == f"54321@{os.uname().nodename}"
