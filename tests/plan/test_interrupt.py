"""A plan that is interrupted is no plan to rely on: it says so."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

DRIVER = """
import os, signal, sys
from planner.engine.plan import managed
real = managed.propose
def interrupted(*arguments):
    os.kill(os.getpid(), signal.SIGINT)
    return real(*arguments)
managed.propose = interrupted
from planner.engine.plan import resources
for name, value in list(vars(resources).items()):
    if value is real:
        setattr(resources, name, interrupted)
from planner.__main__ import main
sys.exit(main())
"""


def test_it_ends_with_an_error(tmp_path: Path) -> None:
    (tmp_path / "main.tf").write_text("""
        resource "terraform_data" "a" {}
        resource "terraform_data" "b" {
          input = terraform_data.a.id
        }
    """)
    words = [sys.executable, "-c", DRIVER, "plan", "-no-color"]
    done = subprocess.run(words, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 1, done.stdout
    assert "Execution halted" in done.stderr
    assert "Traceback" not in done.stderr
    assert "Interrupt received." in done.stdout
    assert not list(tmp_path.glob(".*.lock.info"))
    assert os.listdir(tmp_path) == ["main.tf"]
