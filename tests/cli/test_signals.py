"""Interrupts of real processes: once, twice, by SIGTERM; while planning, applying, asking and waiting."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from planner.world.state.backends.local import StateStore
from planner.world.state.lock import info_path

PLANNER = [sys.executable, "-m", "planner"]
SLOW = """
resource "terraform_data" "first" {}
resource "terraform_data" "slow" {
  input = terraform_data.first.id
  provisioner "local-exec" {
    command = "echo $$ > started; exec sleep 60"
  }
}
resource "terraform_data" "after" {
  input = terraform_data.slow.id
}
"""


class Process:
    """A command line in a process of its own, which is a group of its own."""

    def __init__(self, directory: Path, *words: str, stdin: int = subprocess.DEVNULL) -> None:
        self.directory = directory
        self.process = subprocess.Popen(
            [*PLANNER, *words], cwd=directory, env={**os.environ, "NO_COLOR": "1"}, start_new_session=True,
            stdin=stdin, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
        )  # fmt: skip

    def wait_for(self, happened: Callable[[], object]) -> None:
        deadline = time.monotonic() + 60
        while not happened():
            assert self.process.poll() is None, self.process.communicate()[0]
            assert time.monotonic() < deadline
            time.sleep(0.01)

    def read_until(self, text: str) -> str:
        assert self.process.stdout is not None
        found = ""
        while text not in found:
            letter = self.process.stdout.read(1)
            assert letter, found  # it has ended
            found += letter
        return found

    def interrupt(self, number: int = signal.SIGINT) -> None:
        self.process.send_signal(number)

    def end(self, seconds: float = 15) -> tuple[int, str]:
        try:
            out, _ = self.process.communicate(timeout=seconds)
        except subprocess.TimeoutExpired:
            self.process.kill()
            raise AssertionError(f"it does not end: {self.process.communicate()[0]}") from None
        return self.process.returncode, out


def started(directory: Path) -> Callable[[], object]:
    path = directory / "started"
    return lambda: path.exists() and path.read_text().strip()


def is_gone(process: int) -> bool:
    """Whether a process ends within seconds."""
    for _ in range(300):
        try:
            os.kill(process, 0)
            if subprocess.run(["ps", "-o", "stat=", "-p", str(process)], capture_output=True).stdout[:1] in (b"Z", b""):
                return True
        except ProcessLookupError:
            return True
        time.sleep(0.02)
    return False


def names(directory: Path) -> list[str]:
    return [r["name"] for r in json.loads((directory / "terraform.tfstate").read_text())["resources"]]


def is_locked(directory: Path) -> bool:
    return Path(info_path(str(directory / "terraform.tfstate"))).exists()


def run(directory: Path, *words: str) -> str:
    code, out = Process(directory, *words).end(60)
    assert code == 0, out
    return out


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_the_first_interrupt_of_an_apply_saves_the_state(tmp_path: Path, number: int) -> None:
    (tmp_path / "main.tf").write_text(SLOW)
    process = Process(tmp_path, "apply", "-auto-approve")
    process.wait_for(started(tmp_path))
    process.interrupt(number)
    code, out = process.end()
    assert code == 1
    assert "Interrupt received." in out
    assert "Execution halted" in out
    assert "Traceback" not in out
    assert names(tmp_path) == ["first", "slow"]
    assert '"tainted"' in (tmp_path / "terraform.tfstate").read_text()
    assert not is_locked(tmp_path)
    assert not list(tmp_path.glob("*.journal"))
    assert is_gone(int((tmp_path / "started").read_text()))


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_the_second_interrupt_ends_at_once_and_the_journal_knows(tmp_path: Path, number: int) -> None:
    text = SLOW.replace("exec sleep 60", "trap '' TERM; while true; do sleep 0.1; done")  # does not want to end
    (tmp_path / "main.tf").write_text(text)
    process = Process(tmp_path, "apply", "-auto-approve")
    process.wait_for(started(tmp_path))
    process.interrupt(number)
    process.read_until("Interrupt received.")
    process.interrupt(number)
    began = time.monotonic()
    code, out = process.end()
    assert code == 1
    assert time.monotonic() - began < 5
    assert "Interrupted." in out
    assert "Traceback" not in out
    assert not is_locked(tmp_path)
    assert list(tmp_path.glob("*.journal"))
    assert is_gone(int((tmp_path / "started").read_text()))
    (tmp_path / "main.tf").write_text('resource "terraform_data" "first" {}')
    out = run(tmp_path, "apply", "-auto-approve")
    assert "terraform_data.slow began" in " ".join(out.split())
    assert names(tmp_path) == ["first"]


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_an_interrupt_at_the_prompt_is_a_no(tmp_path: Path, number: int) -> None:
    (tmp_path / "main.tf").write_text('resource "terraform_data" "a" {}')
    process = Process(tmp_path, "apply", stdin=subprocess.PIPE)
    process.read_until("Enter a value:")
    assert is_locked(tmp_path)
    process.interrupt(number)
    code, out = process.end()
    assert code == 1
    assert "Interrupted." in out
    assert "Traceback" not in out
    assert not is_locked(tmp_path)
    assert not (tmp_path / "terraform.tfstate").exists()


@pytest.mark.slow
@pytest.mark.parametrize("command", [("plan",), ("apply", "-auto-approve"), ("state", "rm", "terraform_data.first")])
def test_an_interrupt_ends_the_wait_for_the_lock(tmp_path: Path, command: tuple[str, ...]) -> None:
    (tmp_path / "main.tf").write_text('resource "terraform_data" "first" {}')
    run(tmp_path, "apply", "-auto-approve")
    before = (tmp_path / "terraform.tfstate").read_text()
    store = StateStore(str(tmp_path / "terraform.tfstate"))
    assert store.lock("OperationTypeTest") == []
    try:
        process = Process(tmp_path, *command[:2], "-lock-timeout=60s", *command[2:])
        if command[0] != "state":
            process.read_until("Acquiring state lock, held by ")
            assert "OperationTypeTest" in process.read_until("\n")
        else:
            time.sleep(2)
        process.interrupt()
        code, out = process.end(5)
    finally:
        store.unlock()
    assert code == 1
    assert "interrupted" in out.lower()
    assert "Traceback" not in out
    assert (tmp_path / "terraform.tfstate").read_text() == before


@pytest.mark.slow
@pytest.mark.parametrize(
    "words", [("plan",), ("apply", "-auto-approve"), ("init",), ("validate",), ("show",), ("state", "list"), ("graph",)]
)
def test_an_interrupt_at_any_moment(tmp_path: Path, words: tuple[str, ...]) -> None:
    """From the first moment that the program itself runs: an end with 0 or 1, and never a traceback."""
    (tmp_path / "main.tf").write_text("""
        resource "terraform_data" "n" {
          count = 300
          input = count.index
        }
    """)
    driver = tmp_path / "driver.py"
    driver.write_text(
        "import os, signal, sys, threading\n"
        "delay = float(sys.argv.pop(1))\n"
        "def send():\n"
        "    os.kill(os.getpid(), signal.SIGTERM if '7' in str(delay) else signal.SIGINT)\n"
        "timer = threading.Timer(delay, send)\n"
        "timer.daemon = True\n"
        "from planner.__main__ import main\n"
        "signal.signal(signal.SIGTERM, signal.default_int_handler)\n"
        "try:\n"
        "    timer.start()\n"
        "    code = main()\n"
        "except KeyboardInterrupt as problem:\n"  # in `main` already, or still in this program?
        "    place = problem.__traceback__.tb_next\n"
        "    code = 99 if place and 'planner' in place.tb_frame.f_code.co_filename else 1\n"
        "sys.exit(code)\n"
    )
    for delay in (0.001, 0.07, 0.16, 0.27):
        done = subprocess.run(
            [sys.executable, str(driver), str(delay), *words], cwd=tmp_path, capture_output=True, text=True,
            timeout=60, check=False,
        )  # fmt: skip
        assert done.returncode in (0, 1), (delay, done.stderr)
        assert "Traceback" not in done.stderr, delay
        assert "Internal error" not in done.stderr, delay
        assert not is_locked(tmp_path)


def test_the_handler_takes_no_lock() -> None:
    """A signal in the middle of anything, even of what the listeners need, is heard as soon as that is over."""
    script = """
import os, signal, threading, time
from planner.foundation.support import signals
from planner.engine.evaluation.configure import ConfiguredProviders
providers = ConfiguredProviders(None)
heard = []
signals.STOP.listen(providers.stop)
signals.STOP.listen(lambda: heard.append(threading.current_thread()))
signals.install()
with providers._lock, signals.STOP._lock, threading._active_limbo_lock:
    os.kill(os.getpid(), signal.SIGINT)
    time.sleep(0.2)
    assert signals.STOP.requested and not heard
while not heard:
    time.sleep(0.01)
assert heard[0] is not threading.main_thread()
assert signals.STOP.wait(0)
try:
    os.kill(os.getpid(), signal.SIGINT)
    time.sleep(5)
except KeyboardInterrupt:
    print("twice")
"""
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=30, check=False)
    assert (done.returncode, done.stdout) == (0, "twice\n"), done.stderr


def test_listeners_are_told_once(monkeypatch: pytest.MonkeyPatch) -> None:
    from planner.foundation.support.signals import StopSignal

    stop, told = StopSignal(), []
    stop.listen(lambda: told.append("early"))
    for thread in [threading.Thread(target=stop.request) for _ in range(4)]:
        thread.start()
    assert stop.wait(10)
    stop.listen(lambda: told.append("late"))
    assert sorted(told) == ["early", "late"]


def test_an_interrupt_that_python_drops_ends_the_wait_for_the_lock(tmp_path: Path) -> None:
    """What is raised in a callback of Python's import system is printed and forgotten."""
    (tmp_path / "main.tf").write_text('resource "terraform_data" "first" {}')
    run(tmp_path, "apply", "-auto-approve")
    store = StateStore(str(tmp_path / "terraform.tfstate"))
    assert store.lock("OperationTypeTest") == []
    driver = (
        "import os, signal, sys, weakref\n"
        "from planner.operations import state_edit\n"
        "from planner.__main__ import main\n"
        "real = state_edit.locked\n"
        "class Thing: pass\n"
        "def locked(*arguments, **more):\n"
        "    thing = Thing()\n"
        "    watcher = weakref.ref(thing, lambda ref: os.kill(os.getpid(), signal.SIGINT) or sum(range(100000)))\n"
        "    del thing\n"
        "    return real(*arguments, **more)\n"
        "state_edit.locked = locked\n"
        "sys.exit(main())\n"
    )
    words = [sys.executable, "-c", driver, "state", "rm", "-lock-timeout=50s", "terraform_data.first"]
    try:
        done = subprocess.run(words, cwd=tmp_path, capture_output=True, text=True, timeout=30, check=False)
    finally:
        store.unlock()
    assert "Exception ignored" in done.stderr
    assert done.returncode == 1


IN_A_CALLBACK = """
import os, signal, sys, time, weakref
from planner.foundation.support.signals import STOP, install

class Thing:
    pass

def callback():
    os.kill(os.getpid(), signal.SIGINT)
    os.kill(os.getpid(), signal.SIGINT)
    for _ in range(1000):
        pass

install()
try:
    thing = Thing()
    reference = weakref.ref(thing, lambda gone: callback())
    del thing
    for _ in range(500):
        time.sleep(0.01)
    print("nobody came")
except KeyboardInterrupt:
    print("interrupted", STOP.requested)
"""


def test_an_interrupt_that_a_callback_of_python_drops_comes_again() -> None:
    done = subprocess.run([sys.executable, "-c", IN_A_CALLBACK], capture_output=True, text=True, timeout=60)
    assert (done.stdout, done.stderr) == ("interrupted True\n", "")
