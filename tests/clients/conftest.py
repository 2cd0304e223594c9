"""What the tests with real clients share: a program called `terraform`, and a root module to work on."""

from __future__ import annotations

import os
import shutil
import stat
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.clients.contract import KEPT

HERE = Path(__file__).parent
REPOSITORY = HERE.parent.parent
DRIVE = HERE / "drive"

Run = Callable[..., "subprocess.CompletedProcess[str]"]


def program(path: Path, script: str = "") -> Path:
    """A `terraform` that is planner; `script` is shell text that runs first."""
    start = f'exec "{sys.executable}" -m planner "$@"'
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"#!/bin/sh\nPYTHONPATH='{REPOSITORY}'\nexport PYTHONPATH\n{script}\n{start}\n")
    path.chmod(path.stat().st_mode | stat.S_IXUSR | stat.S_IXGRP | stat.S_IXOTH)
    return path


@pytest.fixture
def terraform(tmp_path: Path) -> Path:
    return program(tmp_path / "programs" / "terraform")


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A copy of the root module."""
    folder = tmp_path / "root"
    shutil.copytree(HERE / "root", folder)
    return folder


@pytest.fixture
def run(terraform: Path, root: Path) -> Run:
    """Runs a command in the root module, with the program first on PATH. The code of planner is not importable from
    there except by the program itself."""

    def start(*command: Any, code: int | None = 0, **more: str) -> subprocess.CompletedProcess[str]:
        plain = {name: os.environ[name] for name in KEPT if name in os.environ and name != "PYTHONPATH"}
        plain["PATH"] = f"{terraform.parent}{os.pathsep}{plain['PATH']}"
        settings = root.parent / "settings"
        settings.touch()
        result = subprocess.run(
            [str(word) for word in command],
            cwd=root,
            env={**plain, "TF_CLI_CONFIG_FILE": str(settings), **more},
            capture_output=True,
            text=True,
            timeout=300,
        )
        assert code is None or result.returncode == code, result.stdout + result.stderr
        return result

    return start
