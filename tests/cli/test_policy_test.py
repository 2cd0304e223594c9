"""`policy test` as people use it: cases, coverage, mistakes, and watching files."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

import pytest

from cli.conftest import make_terminal
from planner.cli import main

RULES = """
deny("size", A, "is too large") :- planned(A, "input.size", N), N > 10, not exempt(A).

/// exempt(addr): may be large. Example: exempt("a")
.decl exempt(addr: instance)
exempt(A) :- planned(A, "input.exempt", true).
"""
GOOD = """
.case "too large"
planned("a", "input.size", 11). planned("b", "input.size", 10).
planned("e", "input.size", 20). planned("e", "input.exempt", true).
planned("f", "input.size", 20). planned("f", "input.exempt", false). planned("a", "other", 99).
.want deny("size", "a", "is too large"), deny("size", "f", "is too large").

.case "nothing"
planned("b", "input.other", 10).
.want none deny.
"""
POOR = """
.case "too large"
planned("a", "input.size", 20).
.want deny("size", "a", "is too large").

.case "nothing"
planned("b", "input.size", 5).
.want none deny.
"""


def run(*words: str) -> tuple[int, str, str]:
    screen: Any = make_terminal()
    code = main.dispatch(["policy", "test", *words], screen)
    return code, screen.stdout.getvalue(), screen.stderr.getvalue()


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    own = tmp_path / ".planner" / "policies"
    own.mkdir(parents=True)
    (own / "house.dl").write_text(RULES)
    (own / "house.case").write_text(GOOD)
    return own


def test_cases(folder: Path) -> None:
    code, out, problems = run()
    assert (code, problems) == (0, "") and "2 cases: 2 passed, 0 failed." in out
    (folder / "house.case").write_text(GOOD.replace('"a", "is too large"', '"b", "is too large"'))
    code, out, _ = run("-coverage")
    assert code == 1 and "missing" in out and "Outcomes of literals" not in out


def test_what_cases_exercise(folder: Path) -> None:
    code, out, _ = run("-coverage")
    assert code == 0 and "Rules that derive something in a case: 2 of 2. Outcomes of literals: 6 of 6 (100%)." in out
    (folder / "house.case").write_text(POOR)
    code, out, _ = run("-coverage")
    assert code == 0
    assert "never fails       not exempt(A)" in out and 'never holds       planned(A, "input.exempt", true)' in out
    assert "Rules that derive something in a case: 1 of 2. Outcomes of literals: 4 of 6 (66%)." in out


def test_plans_that_cases_give_are_exercise(folder: Path) -> None:
    large = 'resource "terraform_data" "a" {\n  input = { size = 11 }\n}\n'
    (folder / "plan").mkdir()
    (folder / "plan" / "main.tf").write_text(large + large.replace("11", "1").replace('"a"', '"b"'))
    wanted = '.want deny("size", "terraform_data.a", "is too large").'
    (folder / "house.case").write_text(f'.case "x"\n.given "plan"\n{wanted}\n.case "none"\n.want none deny.\n')
    code, out, problems = run("-coverage")
    assert code == 0, problems
    assert "Rules that derive something in a case: 1 of 2. Outcomes of literals: 4 of 6 (66%)." in out


@pytest.mark.slow
def test_mistakes_that_no_case_notices(folder: Path) -> None:
    code, out, _ = run("-mutants")
    assert code == 0 and "no case detects" not in out and "Mistakes detected: 8 of 8 (100%)." in out
    (folder / "house.case").write_text(POOR)
    code, out, _ = run("-mutants", "-json")
    document = json.loads(out)
    survivors = [one["mistake"] for one in document["mutants"] if one["noticed_by"] is None]
    assert code == 0 and "N > 11 instead of N > 10" in survivors and "without not exempt(A)" in survivors
    assert document["passed"] and len(document["coverage"]) == 2


def test_options_that_contradict_each_other(folder: Path) -> None:
    code, _, problems = run("-watch", "-json")
    assert code == 1 and "Conflicting options" in problems


@pytest.mark.slow
def test_watching(folder: Path) -> None:
    """Cases run at once, again when a file changes, also while it is broken, and an interrupt ends it well."""
    command = [sys.executable, "-m", "planner", "policy", "test", "-watch"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, bufsize=1) as process:
        assert process.stdout is not None
        watch = threading.Timer(60, process.kill)  # so that what it has said is seen
        watch.start()
        lines: list[str] = []

        def wait_for(part: str) -> None:
            while part not in "".join(lines):
                line = process.stdout.readline()  # type: ignore[union-attr]
                assert line, "".join(lines)
                lines.append(line)
            lines.clear()

        wait_for("press Ctrl-C to stop")
        (folder / "house.case").write_text(GOOD + '\n.case "more"\nplanned("b", "x", 1).\n.want none deny.\n')
        wait_for("3 cases: 3 passed")
        wait_for("press Ctrl-C to stop")
        (folder / "house.dl").write_text("deny(")
        wait_for("press Ctrl-C to stop")
        (folder / "house.dl").write_text(RULES)
        wait_for("3 cases: 3 passed")
        wait_for("press Ctrl-C to stop")
        time.sleep(0.05)
        os.kill(process.pid, signal.SIGINT)
        assert process.wait(70) == 0
        watch.cancel()
