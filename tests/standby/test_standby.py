"""Commands that a process which stands by does: the same as others, in every respect that a user can see."""

from __future__ import annotations

import fcntl
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from batch.fleets import BACKEND, batch, chain, unit, write

from planner.standby import begin, client, socket_path, stamp, stay

pytestmark = pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="processes are found through /proc")
COMMAND = [sys.executable, "-m", "planner", "batch"]
LOADED = [sys.executable, "-X", "importtime", "-m", "planner", "batch"]
SERVE = "from planner.standby.server import serve; serve()"


class Standby:
    """A process that stands by, with a cache of its own."""

    def __init__(self, cache: str, seconds: str = "60") -> None:
        self.environment = {**os.environ, "XDG_CACHE_HOME": cache, "PLANNER_STANDBY": seconds, "NO_COLOR": "1"}
        self.environment.pop("CI", None)
        self.process = subprocess.Popen(
            [sys.executable, "-c", SERVE], env=self.environment, start_new_session=True, stdin=subprocess.DEVNULL
        )
        self.until(lambda: any(Path(cache, "planner").glob("standby-????????")))
        (self.path,) = Path(cache, "planner").glob("standby-????????")

    def until(self, condition: Callable[[], object]) -> None:
        deadline = time.monotonic() + 60
        while not condition():
            assert time.monotonic() < deadline, "it never came so far"
            time.sleep(0.02)

    def run(
        self, root: Path, *words: str, command: list[str] = COMMAND, **more: str
    ) -> subprocess.CompletedProcess[str]:
        environment = {**self.environment, **more}
        return subprocess.run([*command, *words], cwd=root, env=environment, capture_output=True, text=True, timeout=60)

    def alone(self, root: Path, *words: str, **more: str) -> subprocess.CompletedProcess[str]:
        return self.run(root, *words, PLANNER_STANDBY="0", **more)

    def children(self) -> list[int]:
        """Those at work and the one that is ready."""
        text = Path(f"/proc/{self.process.pid}/task/{self.process.pid}/children").read_text()
        return [int(number) for number in text.split()]

    def end(self) -> None:
        self.process.terminate()
        self.process.wait(30)


@pytest.fixture
def cache() -> Iterator[str]:
    """A short path: those of sockets must be."""
    folder = tempfile.mkdtemp(prefix="sb", dir="/tmp")
    yield folder
    shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture
def standby(cache: str) -> Iterator[Standby]:
    found = Standby(cache)
    yield found
    found.end()
    assert not found.path.exists()


def plain(text: str) -> str:
    """Without what differs from run to run."""
    return re.sub(r"\(\d+\.\d+s\)", "", re.sub(r"Record: .*", "", text))


def modules(ran: subprocess.CompletedProcess[str]) -> set[str]:
    """What the process that was called has imported."""
    return {line.rsplit("|", 1)[1].strip() for line in ran.stderr.splitlines() if line.startswith("import time:")}


class TestTheSame:
    @pytest.mark.parametrize(
        "words",
        [
            ("plan",),
            ("plan", "-detailed-exitcode"),
            ("plan", "-show", "b"),
            ("plan", "nothing-of-this-name"),
            ("plan", "-nonsense"),
            ("validate",),
            ("why", "b", "a"),
            ("query", "edge(X, Y)"),
            ("graph",),
        ],
        ids=" ".join,
    )
    def test_output_and_exit_code(self, standby: Standby, tmp_path: Path, words: tuple[str, ...]) -> None:
        for name in ("one", "two"):
            chain(tmp_path / name, "a", "b")
        for _ in range(2):  # anew, and with what is known from before
            served = standby.run(tmp_path / "one", *words)
            alone = standby.alone(tmp_path / "two", *words)
            assert served.returncode == alone.returncode
            assert plain(served.stdout) == plain(alone.stdout)
            assert plain(served.stderr) == plain(alone.stderr)

    def test_it_is_done_elsewhere(self, standby: Standby, tmp_path: Path) -> None:
        chain(tmp_path, "a")
        assert "planner.cli.main" not in modules(standby.run(tmp_path, "plan", command=LOADED))
        assert "planner.cli.main" in modules(standby.run(tmp_path, "plan", command=LOADED, PLANNER_STANDBY="0"))
        assert "planner.cli.main" in modules(standby.run(tmp_path, "plan", command=LOADED, PLANNER_STANDBY="", CI="1"))

    def test_many_new_units(self, standby: Standby, tmp_path: Path) -> None:
        names = [f"u{i:02}" for i in range(30)]  # enough for processes of its own
        write(tmp_path, {f"{name}/main.tf": unit() for name in names})
        assert "30 changes" in standby.run(tmp_path, "plan").stdout
        assert "30 changes (30 from before)" in standby.run(tmp_path, "plan").stdout
        standby.until(lambda: len(standby.children()) == 1)

    def test_environment_folder_and_permissions(self, standby: Standby, tmp_path: Path) -> None:
        main = BACKEND + 'variable "v" {}\nresource "terraform_data" "r" {\n  input = [var.v, timestamp()]\n}\n'
        write(tmp_path, {"sub/a/main.tf": main})
        served = standby.run(tmp_path / "sub", "plan", "-json", "-show", TF_VAR_v="caf\u00e9")
        assert json.loads(served.stdout)["outcomes"] == {"changes": 1}
        found = standby.run(tmp_path / "sub", "query", "-json", 'planned(U, A, P, "caf\u00e9")', TF_VAR_v="caf\u00e9")
        assert json.loads(found.stdout)["rows"]
        mask = os.umask(0o077)
        try:
            write(tmp_path, {"other/a/main.tf": unit()})
            assert standby.run(tmp_path / "other", "plan").returncode == 0
        finally:
            os.umask(mask)
        modes = {path.stat().st_mode & 0o077 for path in (tmp_path / "other/.planner").rglob("*")}
        assert modes == {0}

    def test_nothing_remains_from_one_command_to_the_next(self, standby: Standby, tmp_path: Path) -> None:
        write(tmp_path, {"a/main.tf": BACKEND + 'variable "v" {}\n'})
        assert standby.run(tmp_path, "plan", TF_VAR_v="1").returncode == 0
        again = standby.run(tmp_path, "plan")
        assert again.returncode == 1 and "No value for required variable" in again.stderr + again.stdout


class TestEnds:
    @pytest.fixture
    def waiting(self, standby: Standby, tmp_path: Path) -> Iterator[subprocess.Popen[str]]:
        """A command that waits for a state that is locked."""
        write(tmp_path, {"a/main.tf": unit(), "a/terraform.tfstate": ""})
        with (tmp_path / "a/terraform.tfstate").open("r+b") as state:
            fcntl.lockf(state, fcntl.LOCK_EX)
            process = subprocess.Popen(
                [*COMMAND, "plan", "-lock-timeout=50s"], cwd=tmp_path, env=standby.environment, text=True,
                stdout=subprocess.PIPE, stderr=subprocess.PIPE,
            )  # fmt: skip
            standby.until(lambda: list(tmp_path.glob(".planner/batch/[0-9]*/events.jsonl")))
            yield process
            process.kill()

    def test_an_interrupt_reaches_it(self, standby: Standby, waiting: subprocess.Popen[str]) -> None:
        waiting.send_signal(signal.SIGINT)
        out, _ = waiting.communicate(timeout=30)
        assert waiting.returncode == 1
        assert "To go on: planner batch resume" in out or "Interrupted" in out
        standby.until(lambda: len(standby.children()) == 1)

    def test_it_ends_with_the_one_that_asked(self, standby: Standby, waiting: subprocess.Popen[str]) -> None:
        standby.until(lambda: len(standby.children()) == 2)
        waiting.kill()
        standby.until(lambda: len(standby.children()) == 1)

    def test_who_asked_is_told_of_its_end(self, standby: Standby, waiting: subprocess.Popen[str]) -> None:
        standby.until(lambda: len(standby.children()) == 2)
        os.kill(min(standby.children()), signal.SIGKILL)
        _, errors = waiting.communicate(timeout=30)
        assert (waiting.returncode, "was ended from outside" in errors) == (1, True)

    def test_after_a_while(self, cache: str, tmp_path: Path) -> None:
        standby = Standby(cache, "1")
        chain(tmp_path, "a")
        assert standby.run(tmp_path, "plan").returncode == 0
        assert standby.process.wait(30) == 0
        assert not standby.path.exists()

    def test_with_its_code(self, standby: Standby, tmp_path: Path) -> None:
        """A command of another version is not done by it, and the next one finds none any more."""
        chain(tmp_path, "a")
        words = "import planner.standby.client as c; c.stamp = lambda: 'other'; print(c.ask(['batch', 'plan']))"
        refused = standby.run(tmp_path, command=[sys.executable, "-c", words])
        assert refused.stdout == "None\n"
        assert standby.process.wait(30) == 0
        assert standby.run(tmp_path, "plan").returncode == 0

    def test_what_is_no_request_is_passed_over(self, standby: Standby, tmp_path: Path) -> None:
        import socket

        for message in (b"", b"x" * 16, b"%16d" % 5 + b"abc"):
            with socket.socket(socket.AF_UNIX) as connection:
                connection.connect(str(standby.path))
                connection.sendall(message)
        chain(tmp_path, "a")
        assert "planner.cli.main" not in modules(standby.run(tmp_path, "plan", command=LOADED))

    def test_nobody_stays_behind_it(self, cache: str) -> None:
        standby = Standby(cache)
        standby.until(standby.children)
        (ready,) = standby.children()
        standby.process.kill()
        standby.process.wait(30)
        standby.until(lambda: not Path(f"/proc/{ready}").exists())

    def test_one_that_was_killed_is_in_nobodys_way(self, cache: str, tmp_path: Path) -> None:
        standby = Standby(cache)
        chain(tmp_path, "a")
        os.killpg(standby.process.pid, signal.SIGKILL)
        standby.process.wait(30)
        assert standby.path.exists()
        assert standby.run(tmp_path, "plan").returncode == 0
        other = Standby(cache)
        other.until(lambda: "planner.cli.main" not in modules(other.run(tmp_path, "plan", command=LOADED)))
        other.end()


class TestBegins:
    def test_with_many_plans(self, cache: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(begin, "MANY", 2)
        for name, value in {"XDG_CACHE_HOME": cache, "PLANNER_STANDBY": "60"}.items():
            monkeypatch.setenv(name, value)
        write(tmp_path, {f"{name}/main.tf": unit() for name in "abc"})
        ran = batch(tmp_path, "plan", "-executor=inline")
        assert "A process stands by" in ran.out
        path = Path(socket_path() or "")
        deadline = time.monotonic() + 60
        while not path.exists():
            assert time.monotonic() < deadline
            time.sleep(0.02)
        assert not begin.begin()
        write(tmp_path, {f"{name}/main.tf": unit(None, '"y"') for name in "abc"})
        assert "A process stands by" not in batch(tmp_path, "plan", "-executor=inline").out
        process = int(Path(f"{path}.lock").read_text())
        environment = Path(f"/proc/{process}/environ").read_bytes().split(b"\0")
        assert not any(variable.startswith((b"TF_", b"PYTEST")) for variable in environment)
        os.kill(process, signal.SIGTERM)
        while path.exists():
            assert time.monotonic() < deadline
            time.sleep(0.02)

    @pytest.mark.parametrize(
        ("switch", "ci", "seconds"),
        [
            (None, None, 300.0),
            (None, "true", 0.0),
            ("", "", 300.0),
            ("0", None, 0.0),
            ("20", "true", 20.0),
            ("x", "", 0),
        ],
    )
    def test_only_where_it_is_wanted(
        self, switch: str | None, ci: str | None, seconds: float, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        for name, value in {"PLANNER_STANDBY": switch, "CI": ci}.items():
            monkeypatch.delenv(name, raising=False)
            if value is not None:
                monkeypatch.setenv(name, value)
        assert stay() == seconds

    @pytest.mark.parametrize(
        "words", [[], ["plan"], ["batch"], ["batch", "apply"], ["batch", "destroy"], ["batch", "resume"]]
    )
    def test_other_commands_run_by_themselves(self, words: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("PLANNER_STANDBY", "60")
        monkeypatch.setattr(client, "socket_path", None)  # nobody looks for it
        assert client.ask(words) is None

    def test_the_stamp_knows_the_code(self) -> None:
        names = {line.split()[0] for line in stamp().splitlines()}
        assert {"server.py", "managed.py", "targets.dl", "config.lark"} <= names
