"""Every command in the README prints what the README says.

To refresh the outputs: REFRESH=1 pytest tests/test_readme.py
"""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest
from conformance import forked

ROOT = Path(__file__).parents[1]
README = ROOT / "README.md"
BLOCK = re.compile(r"```console\n\$ (planner[^\n]*)\n(.*?)```", re.S)
COMMANDS = [match[1] for match in BLOCK.finditer(README.read_text(encoding="utf-8"))]


def run(command: str) -> str:
    words = shlex.split(command)[1:]
    environment = {k: v for k, v in os.environ.items() if not k.startswith(("TF_", "PLANNER_"))}
    done = forked.run(words, ROOT, environment)
    text = done.stdout + done.stderr
    return "".join(line.rstrip() + "\n" for line in text.strip("\n").split("\n"))


PYTHON = re.compile(r"```python\n(.*?)```\n\n```text\n(.*?)```", re.S)


def test_the_python_example() -> None:
    text = README.read_text(encoding="utf-8")
    ((program, wanted),) = PYTHON.findall(text)
    done = subprocess.run([sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True, check=True)
    found = "".join(f"{line.rstrip()}\n" for line in done.stdout.splitlines())
    if os.environ.get("REFRESH"):
        README.write_text(text.replace(f"```text\n{wanted}```", f"```text\n{found}```"), encoding="utf-8")
    else:
        assert found == wanted


def test_there_is_something_to_try() -> None:
    assert len(COMMANDS) >= 3


@pytest.mark.parametrize("command", COMMANDS)
def test_command_prints_what_the_readme_says(command: str) -> None:
    text = README.read_text(encoding="utf-8")
    (wanted,) = [match[2] for match in BLOCK.finditer(text) if match[1] == command]
    found = run(command)
    if os.environ.get("REFRESH"):
        README.write_text(text.replace(f"$ {command}\n{wanted}```", f"$ {command}\n{found}```"), encoding="utf-8")
    else:
        assert found == wanted
