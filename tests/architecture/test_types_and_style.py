"""Strict types in the product, one style everywhere."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize(
    "command",
    [["mypy", "planner", "examples/13_python"], ["ruff", "check", "."], ["ruff", "format", "--check", "."]],
    ids=["types", "lint", "format"],
)
def test_clean(command: list[str]) -> None:
    done = subprocess.run([sys.executable, "-m", *command], cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
