"""local-exec: commands, their output, their environment, their end."""

from __future__ import annotations

import sys
import threading
import time
from pathlib import Path
from typing import Any

import pytest

from planner.engine.apply.provisioners import run_provisioner, unsupported, validate_provisioner
from planner.foundation.values.types import BOOL, STRING, ListType, MapType
from planner.foundation.values.value import List, Map, Null, Unknown


def config(command: Any, **more: Any) -> dict[str, Any]:
    empty = {
        "environment": Null(MapType(STRING)),
        "interpreter": Null(ListType(STRING)),
        "quiet": Null(BOOL),
        "working_dir": Null(STRING),
    }
    return {"command": command, **empty, **more}


def run(command: Any, stop: Any = None, **more: Any) -> tuple[list[str], list[str]]:
    lines: list[str] = []
    problems = run_provisioner("local-exec", config(command, **more), None, lines.append, stop)
    return lines, [p.detail for p in problems]


def test_lines_of_both_streams() -> None:
    lines, problems = run("echo one; echo two >&2; printf three")
    assert problems == []
    assert lines == ['Executing: ["/bin/sh" "-c" "echo one; echo two >&2; printf three"]', "one", "two", "three"]


def test_arguments(tmp_path: Path) -> None:
    lines, problems = run(
        "import os; print(os.environ['A'], os.getcwd())",
        interpreter=List(STRING, (sys.executable, Null(STRING), "-c")),
        environment=Map(STRING, {"A": "x y", "B": Null(STRING)}),
        working_dir=str(tmp_path),
        quiet=True,
    )
    assert problems == []
    assert lines == ["local-exec: Executing: Suppressed by quiet=true", f"x y {tmp_path}"]


def test_no_input_is_waited_for() -> None:
    assert run("cat; echo end")[0][1:] == ["end"]


def test_failure_quotes_the_last_output() -> None:
    lines, problems = run("seq 100000; exit 3")
    assert len(lines) == 100001
    assert "exit status 3" in problems[0]
    assert problems[0].endswith("99999\n100000\n")
    assert len(problems[0]) < 9000


def test_unfinished_lines_show_while_waiting() -> None:
    lines, _ = run("printf a; sleep 0.5; echo b")
    assert lines[1:] == ["a", "b"]


def test_killed_by_a_signal() -> None:
    assert "SIGKILL" in run("kill -9 $$")[1][0]


@pytest.mark.parametrize("command", ["sleep 60", "trap '' TERM; sleep 60; sleep 60"])
def test_stop_ends_the_command_and_its_children(command: str) -> None:
    stop = threading.Event()
    threading.Timer(0.3, stop.set).start()
    began = time.monotonic()
    _, problems = run(command, stop)
    assert "stopped" in problems[0]
    assert time.monotonic() - began < 20


def test_what_cannot_start() -> None:
    assert "/no/such/program" in run("x", interpreter=List(STRING, ("/no/such/program",)))[1][0]
    assert "/no/such/folder" in run("x", working_dir="/no/such/folder")[1][0]
    assert len(run("a\0b")[1]) == 1


def test_validation() -> None:
    assert validate_provisioner("local-exec", config("x")) == []
    assert validate_provisioner("local-exec", config(Unknown(STRING))) == []
    for command in ("", Null(STRING)):
        assert [p.path for p in validate_provisioner("local-exec", config(command))] == [()]
        assert len(run(command)[1]) == 1
    problem = unsupported("chef")
    assert problem is not None
    assert "chef" in problem.detail
    assert unsupported("local-exec") is None
