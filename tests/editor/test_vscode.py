"""The extension for Visual Studio Code: its build and highlighting, and its use in the real editor (code-server)."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

REPOSITORY = Path(__file__).resolve().parents[2]
EXTENSION = REPOSITORY / "docs" / "editors" / "vscode"
SECONDS = 600

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not (shutil.which("node") and shutil.which("npm")), reason="needs Node.js and npm"),
]


@pytest.fixture(scope="module")
def extension(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the extension with its packages, in place of the repository's."""
    folder = tmp_path_factory.mktemp("extension") / "vscode"
    shutil.copytree(EXTENSION, folder, ignore=shutil.ignore_patterns("node_modules", "out", "package-lock.json"))
    command = ["npm", "install", "--no-audit", "--no-fund", "--ignore-scripts"]
    if subprocess.run(command, cwd=folder, capture_output=True, timeout=SECONDS, check=False).returncode:
        pytest.skip("The packages of the extension cannot be installed.")
    return folder


def _run(folder: Path, *command: str, **environment: str) -> None:
    result = subprocess.run(
        command, cwd=folder, capture_output=True, text=True, timeout=SECONDS, check=False, env=os.environ | environment
    )
    assert result.returncode == 0, result.stdout + result.stderr


@pytest.mark.parametrize("files", ["examples", "rules"])
def test_types_build_and_highlighting(extension: Path, files: str) -> None:
    _run(extension, "npm", "test", PLANNER_FILES=str(REPOSITORY / files))


def test_in_the_editor(extension: Path) -> None:
    """Needs code-server, in PATH or named by CODE_SERVER, and Chromium."""
    editor, browser = os.environ.get("CODE_SERVER") or shutil.which("code-server"), shutil.which("chromium")
    if editor is None or browser is None:
        pytest.skip("needs code-server and chromium")
    _run(extension, "npm", "run", "build")
    planner = Path(sys.executable).with_name("planner")
    _run(extension, "node", "test/editor/run.mjs", str(planner), editor, browser)
