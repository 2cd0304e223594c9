"""Virtual environments with packages from PyPI, kept outside the checkout and made when first needed."""

from __future__ import annotations

import fcntl
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from isolation import KEPT

PINS = {
    "tftest": ("tftest==1.8.8",),
    "python-terraform": ("python-terraform==0.10.1",),
    "pytest-terraform": ("pytest-terraform==0.7.0",),
    "checkov": ("checkov==3.3.30",),
    "terraform-compliance": ("terraform-compliance==1.16.0",),
}
MINUTES = 10


def client(name: str) -> Path:
    """The `bin` directory of the environment with a client. Skips the test when it cannot be installed."""
    return environment(*PINS[name])


def environment(*pins: str) -> Path:
    """The `bin` directory of the environment with these packages. Skips the test when they cannot be installed."""
    version = ".".join(map(str, sys.version_info[:2]))
    key = "+".join(pins).replace("==", "-")
    root = Path(os.environ[KEPT])
    root.mkdir(parents=True, exist_ok=True)
    folder = root / f"{key}-py{version}"
    with open(root / f"{folder.name}.lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # the workers of pytest-xdist come here at the same time
        if not (folder / "ready").exists():
            _make(folder, pins)
    return folder / "bin"


def _make(folder: Path, pins: tuple[str, ...]) -> None:
    shutil.rmtree(folder, ignore_errors=True)
    try:
        _run([sys.executable, "-m", "venv", str(folder)])
        _run([str(folder / "bin" / "pip"), "install", "--quiet", "--disable-pip-version-check", *pins])
    except (OSError, subprocess.SubprocessError) as problem:
        shutil.rmtree(folder, ignore_errors=True)
        said = (getattr(problem, "stderr", None) or str(problem)).strip().splitlines()
        pytest.skip(f"{' '.join(pins)} cannot be installed here: {said[-1] if said else 'no reason given'}")
    (folder / "ready").touch()


def _run(command: list[str]) -> None:
    plain = {name: value for name, value in os.environ.items() if name not in ("PYTHONPATH", "VIRTUAL_ENV")}
    subprocess.run(command, env=plain, check=True, capture_output=True, text=True, timeout=60 * MINUTES)
