"""Every recorded case through the command line, every check: validate, plan, graphs, events, order, state, result."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
import run_cases
from conformance.forked import Forker
from thinned import thinned

HERE = Path(__file__).parent
CASES = sorted(folder.name for folder in (HERE / "cases").iterdir() if (folder / "case.json").exists())
BINARY = f"{sys.executable} -m planner"


@pytest.mark.parametrize("case", thinned(CASES, 12))
def test_case(case: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    words = ["--cases", str(HERE / "cases" / case), "-v", "-j", "1", "--graph-json", "--binary", BINARY]
    monkeypatch.setattr(sys, "argv", ["run_cases.py", *words])
    monkeypatch.setattr(run_cases, "execute", Forker(len(BINARY.split())).execute)
    code = run_cases.main()
    assert code == 0, capsys.readouterr().out


def test_one_case_in_processes_of_its_own(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    words = ["--cases", str(HERE / "cases" / CASES[0]), "-v", "-j", "1", "--graph-json", "--binary", BINARY]
    monkeypatch.setattr(sys, "argv", ["run_cases.py", *words])
    code = run_cases.main()
    assert code == 0, capsys.readouterr().out
