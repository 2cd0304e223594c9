"""Every recorded case through the command line, every check: validate, plan, graphs, events, order, state, result."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

HERE = Path(__file__).parent
CASES = sorted(folder.name for folder in (HERE / "cases").iterdir() if (folder / "case.json").exists())


@pytest.mark.parametrize("case", CASES)
def test_case(case: str) -> None:
    command = [sys.executable, str(HERE / "run_cases.py"), "--cases", str(HERE / "cases" / case), "-v", "-j", "1"]
    command += ["--graph-json", "--binary", f"{sys.executable} -m planner"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
