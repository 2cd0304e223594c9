"""The table of what a batch does at the moment: on a terminal, drawn in place, gone in the end."""

from __future__ import annotations

import fcntl
import os
import pty
import re
import struct
import subprocess
import sys
import termios
from collections.abc import Callable
from pathlib import Path

import pytest
from batch.fleets import unit, write

from planner.cli.batch_view import cells, elapsed, fitting


class Screen:
    """What a terminal shows that knows no more than the table needs: new lines, the way up, and clearing."""

    def __init__(self, columns: int, rows: int = 24) -> None:
        self.columns, self.rows = columns, rows
        self.lines: list[str] = [""]
        self.row = self.column = 0
        self.rest = ""
        self.shown: list[str] = []
        """the last lines whenever something was written"""

    def write(self, text: str) -> None:
        text = self.rest + text
        cut = re.search(r"\x1b(\[[\d;]*)?$", text)
        self.rest = cut.group() if cut else ""
        for part in re.findall(r"\x1b\[[\d;]*[A-Za-z]|[\s\S]", text[: len(text) - len(self.rest)]):
            self._part(part)
        self.shown.append("\n".join(self.lines[-self.rows :]))

    def _part(self, part: str) -> None:
        if part == "\n":
            self._down()
        elif part == "\r":
            self.column = 0
        elif part[0] != "\x1b":
            if self.column == self.columns:
                self._down()
                self.column = 0
            line = self.lines[self.row].ljust(self.column)
            self.lines[self.row] = line[: self.column] + part + line[self.column + 1 :]
            self.column += 1
        elif part[-1] == "A":
            top = max(0, len(self.lines) - self.rows)
            assert self.row - int(part[2:-1]) >= top, "it goes up further than the terminal"
            self.row -= int(part[2:-1])
        elif part == "\x1b[J":
            assert self.column == 0
            self.lines[self.row :] = [""]
        else:
            assert part[-1] == "m", f"the table steers with {part!r}"

    def _down(self) -> None:
        self.row += 1
        if self.row == len(self.lines):
            self.lines.append("")


def fleet(root: Path, count: int, name: str = "unit", wait: str = "0.6") -> None:
    blocks = []
    for number in range(count):
        write(root, {f"{name}{number}/main.tf": unit()})
        hook = f'hook "wait" {{\n    when = "before"\n    run  = ["sleep", "{wait}"]\n  }}'
        blocks.append(f'unit "{name}{number}" {{\n  {hook}\n}}\n')
    write(root, {"planner.batch.hcl": "".join(blocks)})


def run(
    root: Path,
    *words: str,
    columns: int = 80,
    rows: int = 24,
    meanwhile: Callable[[Screen, int, int], None] = lambda screen, terminal, process: None,
    **environment: str,
) -> tuple[int, Screen]:
    """Exit code, and the screen of a terminal. `meanwhile` is called whenever something has been written."""
    ours, theirs = pty.openpty()
    resize(theirs, columns, rows)
    clean = {name: value for name, value in os.environ.items() if name not in ("CI", "NO_COLOR", "TERM")}
    process = subprocess.Popen(
        [sys.executable, "-m", "planner", "batch", *words],
        cwd=root, env={**clean, "TERM": "xterm", **environment}, stdin=theirs, stdout=theirs, stderr=theirs,
        start_new_session=True,
    )  # fmt: skip
    os.close(theirs)
    screen = Screen(columns, rows)
    while True:
        try:
            data = os.read(ours, 4096)
        except OSError:  # the other end is closed
            break
        if not data:
            break
        screen.write(data.decode())
        meanwhile(screen, ours, process.pid)
    code = process.wait(30)
    os.close(ours)
    return code, screen


def resize(terminal: int, columns: int, rows: int) -> None:
    fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))


HEAD = re.compile(r"^\d+ running, \d+ waiting, \d+ done", re.MULTILINE)


def test_it_is_drawn_in_place_and_gone_in_the_end(tmp_path: Path) -> None:
    fleet(tmp_path, 4)
    code, screen = run(tmp_path, "plan", "-workers=2")
    assert code == 0
    assert all(len(HEAD.findall(shown)) <= 1 for shown in screen.shown)
    begun = r"^2 running, 2 waiting, 0 done\n  unit0  \ds\n  unit1  \ds\n"
    later = r"^unit[01]: changes, .*\n2 running, 0 waiting, 2 done: 2 changes\n  unit2  \ds\n  unit3  \ds"
    for wanted in (begun, later):
        assert any(re.search(wanted, shown, re.MULTILINE) for shown in screen.shown), screen.shown
    text = "\n".join(screen.lines)
    assert "running" not in text and "Batch plan: 4 units change." in text
    ended = [line.split(":")[0] for line in screen.lines if re.match(r"unit\d: changes", line)]
    assert sorted(ended) == [f"unit{number}" for number in range(4)]


@pytest.mark.slow
def test_failures_are_named(tmp_path: Path) -> None:
    fleet(tmp_path, 3)
    write(tmp_path, {"unit0/more.tf": "locals {\n  x = nothing.here\n}\n"})
    code, screen = run(tmp_path, "plan", "-workers=1")
    assert code == 1
    assert any("1 done: 1 failed\n  unit1  0s\nnot done: unit0\n" in shown for shown in screen.shown), screen.shown[-5:]
    assert "running" not in "\n".join(screen.lines)


@pytest.mark.slow
@pytest.mark.parametrize(("columns", "rows"), [(24, 24), (9, 24), (80, 6), (80, 4)])
def test_small_terminals(tmp_path: Path, columns: int, rows: int) -> None:
    fleet(tmp_path, 6, "a-unit-whose-name-is-long-")
    code, screen = run(tmp_path, "plan", "-workers=3", columns=columns, rows=rows)
    assert code == 0
    heads = [shown for shown in screen.shown if "runni" in shown or "3 run" in shown]
    assert heads and all(len(line) <= columns for shown in heads for line in shown.split("\n"))
    assert "runni" not in "\n".join(screen.lines)


@pytest.mark.slow
def test_a_terminal_that_gets_narrower(tmp_path: Path) -> None:
    """Lines that stand there already are broken by it; the whole table goes nevertheless."""
    fleet(tmp_path, 4, "name-", wait="1")
    done = []

    def narrower(screen: Screen, terminal: int, _: int) -> None:
        if not done and "running" in screen.shown[-1]:
            done.append(True)
            resize(terminal, 12, 24)
            screen.columns = 12
            broken = [line[at : at + 12] for line in screen.lines for at in range(0, max(1, len(line)), 12)]
            screen.lines, screen.row = broken, len(broken) - 1

    code, screen = run(tmp_path, "plan", "-workers=2", meanwhile=narrower)
    assert code == 0 and done
    assert "running" not in "".join(screen.lines)


@pytest.mark.parametrize(
    ("words", "environment"),
    [(["-no-color"], {}), ([], {"TERM": "dumb"}), ([], {"CI": "true"}), (["-json"], {})],
)
def test_where_nothing_may_be_drawn(tmp_path: Path, words: list[str], environment: dict[str, str]) -> None:
    fleet(tmp_path, 4, wait="0.1")
    code, screen = run(tmp_path, "plan", *words, **environment)
    assert code == 0 and not any(HEAD.search(shown) for shown in screen.shown)
    assert ("unit0: started" in "\n".join(screen.lines)) == (words != ["-json"])


@pytest.mark.slow
def test_without_colours_it_is_drawn(tmp_path: Path) -> None:
    fleet(tmp_path, 4)
    code, screen = run(tmp_path, "plan", NO_COLOR="1")
    assert code == 0 and any(HEAD.search(shown) for shown in screen.shown)


def test_a_pipe_gets_lines(tmp_path: Path) -> None:
    fleet(tmp_path, 2, wait="0.1")
    clean = {name: value for name, value in os.environ.items() if name != "CI"}
    done = subprocess.run(
        [sys.executable, "-m", "planner", "batch", "plan"], cwd=tmp_path, env={**clean, "TERM": "xterm"},
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert "\x1b" not in done.stdout + done.stderr and "unit0: started" in done.stdout


def test_an_interrupt_is_told_above(tmp_path: Path) -> None:
    fleet(tmp_path, 4, wait="1")
    told = []

    def interrupt(screen: Screen, terminal: int, process: int) -> None:
        if not told and "running" in screen.shown[-1]:
            told.append(True)
            os.kill(process, 2)

    code, screen = run(tmp_path, "plan", "-workers=2", meanwhile=interrupt)
    text = "\n".join(screen.lines)
    assert code == 1 and "Interrupted: no more units are started." in text and "running" not in text


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(0.9, "0s"), (59, "59s"), (60, "1m 0s"), (3599, "59m 59s"), (3600, "1h 0m"), (90061, "25h 1m")],
)
def test_times(seconds: float, text: str) -> None:
    assert elapsed(seconds) == text


@pytest.mark.parametrize(
    ("text", "columns", "wanted"),
    [("abc", 3, "abc"), ("abcdef", 5, "abc.."), ("網路單元", 8, "網路單元"), ("網路單元", 7, "網路.."),
     ("abc", 1, "."), ("abc", 0, ""), ("e\u0301tage", 5, "e\u0301tage")],
)  # fmt: skip
def test_what_fits(text: str, columns: int, wanted: str) -> None:
    assert fitting(text, columns) == wanted
    assert cells(wanted) <= columns
