"""Makes the tests' provider plugin (plugin_server.py) available to a test, as a program on the disk."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

import planner

SOURCE = "example.com/test/test"
SERVER = Path(__file__).with_name("plugin_server.py")
ROOT = Path(planner.__file__).parents[1]


def write_plugin(folder: Path, protocol: int = 6) -> Path:
    """A program that runs the plugin: a script, as its Python and its path are only known here."""
    folder.mkdir(parents=True, exist_ok=True)
    program = folder / "terraform-provider-test"
    program.write_text(f'#!/bin/sh\nPYTHONPATH="{ROOT}" exec "{sys.executable}" "{SERVER}" {protocol}\n')
    program.chmod(0o755)
    return program


def override(monkeypatch: pytest.MonkeyPatch, folder: Path, protocol: int = 6) -> Path:
    """Makes the plugin the override of its source address; gives the directory of its objects."""
    program = write_plugin(folder / "bin", protocol)
    settings = folder / "settings.tfrc"
    settings.write_text(
        f'provider_installation {{\n  dev_overrides {{\n    "{SOURCE}" = "{program.parent}"\n  }}\n}}\n'
    )
    monkeypatch.setenv("TF_CLI_CONFIG_FILE", str(settings))
    world = folder / "world"
    world.mkdir(exist_ok=True)
    monkeypatch.setenv("TEST_PROVIDER_WORLD", str(world))
    unset = ["TF_LOG", "TF_LOG_PROVIDER", "PLANNER_PROVIDER_TIMEOUT"]
    for name in [*(f"TEST_PROVIDER_{word}" for word in ("START", "KILL", "BIG")), *unset]:
        monkeypatch.delenv(name, raising=False)
    return world


def pids(world: Path) -> list[int]:
    """The processes that were ever started for a world."""
    return [int(line) for line in (world / "started").read_text().split()]


def is_alive(pid: int) -> bool:
    """Whether a process runs (one that only waits for its parent to take note does not)."""
    try:
        os.kill(pid, 0)
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except (ProcessLookupError, FileNotFoundError):
        return False
